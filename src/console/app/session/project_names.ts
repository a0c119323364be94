// Names of a project's events and properties, as its definitions list them.

import type { ListReply } from "./api.ts";
import { useAllowed, useSession } from "./session.ts";
import { useLoaded } from "./use_loaded.ts";

export interface ProjectNames {
  /** Those of the latest day first, with how many there were in 30 days. */
  events: readonly { name: string; volume_30_day: number }[];
  /** Of properties. */
  event: readonly string[];
  person: readonly string[];
}

/** Names of one kind that are offered. */
const namesMax = 1000;
const noNames: ProjectNames = { events: [], event: [], person: [] };

/** Empty until they are there, and for keys that may not see them. */
export function useProjectNames(): ProjectNames {
  const { api, home } = useSession();
  const seesEvents = useAllowed("event_definition:read");
  const seesProperties = useAllowed("property_definition:read");
  const asked = useLoaded(
    async (signal): Promise<ProjectNames> => {
      const list = async <Row>(path: string, isAllowed: boolean, query = {}) => {
        if (!isAllowed) return [];
        return (await api.get<ListReply<Row>>(`${home}/${path}`, { limit: namesMax, ...query }, signal))
          .results;
      };
      const properties = async (type: string) =>
        (await list<{ name: string }>("property_definitions/", seesProperties, { type })).map(
          ({ name }) => name,
        );
      const [events, event, person] = await Promise.all([
        list<ProjectNames["events"][number]>("event_definitions/", seesEvents),
        properties("event"),
        properties("person"),
      ]);
      return { events, event, person };
    },
    [home],
  );
  return asked.value ?? noNames;
}
