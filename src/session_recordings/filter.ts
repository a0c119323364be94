// Which recordings a query asks for.

import { Fault } from "../core/fault.ts";
import { sessionRecordingLimits } from "./limits.ts";
import { isUuid } from "../core/id.ts";
import { findMainId, findMainIds } from "../persons/reading/main_id_store.ts";
import type { ProjectReads } from "../storage/clickhouse/query_options.ts";
import type { RecordingFilter } from "./listing/store.ts";
import { findDistinctIds } from "./store.ts";

/**
 * The ids in the query key `name`, as a JSON list or separated by commas; undefined when it is absent.
 * @throws Fault with `name` as its attr.
 */
export function readIds(query: URLSearchParams, name: string): string[] | undefined {
  const text = query.get(name)?.trim();
  if (text === undefined) return undefined;
  if (text === "") throw new Fault("blank", "This field may not be blank.", { attr: name });
  const ids = text.startsWith("[") ? listIn(text) : text.split(",").map((id) => id.trim());
  if (!ids) throw new Fault("not_a_list", "Expected a JSON list of ids.", { attr: name });
  if (ids.length > sessionRecordingLimits.recordingIdsAskedMax) {
    const detail = `Ensure this field has no more than ${sessionRecordingLimits.recordingIdsAskedMax} elements.`;
    throw new Fault("max_length", detail, { attr: name });
  }
  return ids;
}

function listIn(text: string): string[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((id) => typeof id === "string") ? list : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The distinct ids or the person that `distinct_id` and `person_uuid` ask for; empty when neither is given.
 * @throws Fault invalid_input for a person that is not a UUID.
 */
export async function readPersonFilter(
  reads: ProjectReads,
  {
    distinct_id,
    person_uuid: person,
  }: { distinct_id?: string | undefined; person_uuid?: string | undefined },
): Promise<Pick<RecordingFilter, "distinct_ids" | "person_main_id">> {
  const requested = distinct_id === undefined ? undefined : [distinct_id];
  if (person === undefined) return { distinct_ids: requested };
  if (!isUuid(person)) {
    throw new Fault("invalid_input", `“${person}” is not a valid UUID.`, { attr: "person_uuid" });
  }
  const person_main_id = await findMainId(reads, person);
  // Filtering by main id happens in ClickHouse: a person may have hundreds of thousands of distinct ids.
  if (person_main_id !== undefined) return { distinct_ids: requested, person_main_id };
  const ids = await findWithoutEvents(reads, person.toLowerCase());
  return { distinct_ids: requested ? ids.filter((id) => id === distinct_id) : ids };
}

/** Recorded distinct ids whose own person this is, unless merged into another: for a person without events. */
async function findWithoutEvents(reads: ProjectReads, person: string): Promise<string[]> {
  const own = await findDistinctIds(reads, person);
  if (own.length === 0) return [];
  const mains = await findMainIds(reads, own);
  return own.filter((id) => mains.get(id) === id);
}
