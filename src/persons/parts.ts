// The services of the operations of persons.

import { parseUuid, present } from "../http/fields/field_fault.ts";
import { toReads } from "../storage/clickhouse/query_options.ts";
import type { Uses } from "../storage/services.ts";
import type { CountCache } from "../work/count_cache.ts";
import { personText } from "./model.ts";
import { findMainId } from "./reading/main_id_store.ts";
import { readPersons } from "./reading/store.ts";

export interface PersonParts extends Uses<"sql" | "clickhouse" | "clock"> {
  /** Sends an event; resolves when it is on disk, to whether ClickHouse shows it after `waitMsMax` ms at most. */
  send(event: {
    project_id: number;
    event: string;
    distinct_id: string;
    properties: Record<string, unknown>;
    waitMsMax: number;
  }): Promise<boolean>;
}

export type CountedParts = PersonParts & { counts: CountCache };

export const nobody = "Person not found.";

/** A person in a reply. @throws Fault not_found. */
export async function readPerson({ clickhouse }: PersonParts, { id }: { id: number }, main_id: string) {
  const [person] = await readPersons(toReads(clickhouse, id), [main_id]);
  const headers = { "content-type": "application/json" };
  return new Response(personText(present(person, nobody)), { headers });
}

/** The main id of the person that a path names. @throws Fault not_found. */
export async function requireMainId({ clickhouse }: PersonParts, project: { id: number }, uuid: string) {
  return present(await findMainId(toReads(clickhouse, project.id), parseUuid(uuid, nobody)), nobody);
}
