// Names of a project's events and properties, as its definitions list them.

import type { Owner } from "../filters/conditions.ts";
import type { ListReply } from "./api.ts";
import { useAllowed } from "./session.ts";
import { useRead } from "./use_loaded.ts";

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
export const noNames: ProjectNames = { events: [], properties: {}, groupTypes: [] };

/** Empty until they are loaded, and for keys that may not see them. */
export function useProjectNames(): ProjectNames {
  const seesEvents = useAllowed("event_definition:read");
  const seesProperties = useAllowed("property_definition:read");
  const seesSessions = useAllowed("query:read");
  const seesGroups = useAllowed("group:read");
  const loaded = useRead(async (api, signal): Promise<ProjectNames> => {
    const read = async <Reply>(isAllowed: boolean, path: string, query: object, none: Reply) =>
      isAllowed ? await api.get<Reply>(path, { ...query }, signal) : none;
    const list = async <Row>(isAllowed: boolean, path: string, query = {}) =>
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
    const ofGroups = Object.entries(groups).map(([index, rows]) => [`group:${index}`, rows] as const);
    const owners = { event, person, session, ...Object.fromEntries(ofGroups) };
    const named = Object.entries(owners).map(([owner, rows]) => [owner, rows.map(({ name }) => name)]);
    return { events, properties: Object.fromEntries(named), groupTypes };
  }, []);
  return loaded.value ?? noNames;
}
