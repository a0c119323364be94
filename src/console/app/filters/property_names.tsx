// The names of the project that the fields of a form offer while typing: events with their number, properties by owner.

import { type ComponentChildren, createContext } from "preact";
import { useContext, useId } from "preact/hooks";
import type { ListReply } from "../session/api.ts";
import { useAllowed } from "../session/session.ts";
import { useRead } from "../session/use_loaded.ts";
import { numberText } from "../ui/format.ts";
import type { Owner } from "./conditions.ts";

export interface ProjectNames {
  /** The most recently seen first, with how many there were in 30 days. */
  events: readonly { name: string; volume_30_day: number }[];
  properties: Readonly<Record<Owner, readonly string[]>>;
  groupTypes: readonly GroupType[];
}

export interface GroupType {
  group_type: string;
  group_type_index: number;
}

/** Names of one kind that are offered. */
const namesMax = 1000;
const noNames: ProjectNames = { events: [], properties: {}, groupTypes: [] };

/** Empty until they are loaded, and for keys that may not see them. */
export function useProjectNames(): ProjectNames {
  const seesEvents = useAllowed("event_definition:read");
  const seesProperties = useAllowed("property_definition:read");
  const seesSessions = useAllowed("query:read");
  const seesGroups = useAllowed("group:read");
  const loaded = useRead(async (api, signal): Promise<ProjectNames> => {
    const read = async <Reply,>(isAllowed: boolean, path: string, query: object, none: Reply) =>
      isAllowed ? await api.get<Reply>(path, { ...query }, signal) : none;
    const list = async <Row,>(isAllowed: boolean, path: string, query = {}) =>
      (await read<Pick<ListReply<Row>, "results">>(isAllowed, path, query, { results: [] })).results;
    const properties = async (type: string) =>
      await list<{ name: string }>(seesProperties, "property_definitions/", { limit: namesMax, type });
    const [events, event, person, session, groupTypes, groups] = await Promise.all([
      list<ProjectNames["events"][number]>(seesEvents, "event_definitions/", { limit: namesMax }),
      properties("event"),
      properties("person"),
      list<{ name: string }>(seesSessions, "sessions/property_definitions/"),
      read<GroupType[]>(seesGroups, "groups_types/", {}, []),
      read<Record<string, { name: string }[]>>(seesGroups, "groups/property_definitions/", {}, {}),
    ]);
    const owned = Object.entries(groups).map(([index, rows]) => [`group:${index}`, rows] as const);
    const lists = [...Object.entries({ event, person, session }), ...owned];
    const named = lists.map(([owner, rows]) => [owner, rows.map(({ name }) => name)]);
    return { events, properties: Object.fromEntries(named), groupTypes };
  }, []);
  return loaded.value ?? noNames;
}

const OfferedContext = createContext({ names: noNames, lists: "" });

/** @param children whose fields offer the names. */
export function WithNames({ children }: { children: ComponentChildren }) {
  const offered = { names: useProjectNames(), lists: useId() };
  const { events, properties } = offered.names;
  return (
    <OfferedContext.Provider value={offered}>
      <datalist id={`${offered.lists}-events`}>
        {events.map(({ name, volume_30_day }) => (
          <option key={name} value={name} label={`${numberText(volume_30_day)} in 30 days`} />
        ))}
      </datalist>
      {Object.entries(properties).map(([owner, names]) => (
        <datalist key={owner} id={`${offered.lists}-${owner}`}>
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      ))}
      {children}
    </OfferedContext.Provider>
  );
}

/** The names, and the id of the list of events, or of an owner's properties. */
export function useOffered() {
  const { names, lists } = useContext(OfferedContext);
  return { names, nameList: (of: Owner | "events") => `${lists}-${of}` };
}
