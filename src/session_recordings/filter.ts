// The recordings that a query selects.

import { Fault } from "../core/fault.ts";
import { isUuid } from "../core/id.ts";
import { jsonIn } from "../core/json/dictionary.ts";
import { refuseUnstorable } from "../http/fields/field_rule.ts";
import { findMainId, findMainIds } from "../persons/reading/main_id_store.ts";
import type { ProjectReads } from "../storage/clickhouse/query_options.ts";
import { sessionRecordingLimits } from "./limits.ts";
import type { RecordingFilter } from "./listing/filter_store.ts";
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
  if (ids.length > sessionRecordingLimits.recordingIdsMax) {
    const detail = `Ensure this field has no more than ${sessionRecordingLimits.recordingIdsMax} elements.`;
    throw new Fault("max_length", detail, { attr: name });
  }
  for (const id of ids) refuseUnstorable(id, [name]);
  return ids;
}

/** The ids that a request must name. @throws Fault required, or max_length past propertiesOfSessionsMax. */
export function readRequiredIds(query: URLSearchParams, name: string): string[] {
  const ids = readIds(query, name);
  if (!ids) throw new Fault("required", "This query parameter is required.", { attr: name });
  const { propertiesOfSessionsMax: propertiesAskedMax } = sessionRecordingLimits;
  if (ids.length <= propertiesAskedMax) return ids;
  const detail = `Ensure this field has no more than ${propertiesAskedMax} elements.`;
  throw new Fault("max_length", detail, { attr: name });
}

function listIn(text: string): string[] | undefined {
  const list = jsonIn(text);
  return Array.isArray(list) && list.every((id) => typeof id === "string") ? list : undefined;
}

/**
 * The distinct ids or the person of a query; empty when it names neither. `person_id` is PostHog's other name of
 * `person_uuid`.
 * @throws Fault invalid_input for a person that is not a UUID, or for two different persons.
 */
export async function readPersonFilter(
  reads: ProjectReads,
  {
    distinct_id,
    distinct_ids,
    person_uuid,
    person_id,
  }: Partial<Record<"distinct_id" | "person_uuid" | "person_id", string | undefined>> & {
    distinct_ids?: string[] | undefined;
  },
): Promise<Pick<RecordingFilter, "distinct_ids" | "person_main_id">> {
  const item = distinct_id === undefined ? undefined : [distinct_id];
  const requested =
    item && distinct_ids ? item.filter((id) => distinct_ids.includes(id)) : (item ?? distinct_ids);
  const person = person_uuid ?? person_id;
  if (person === undefined) return { distinct_ids: requested };
  for (const [attr, uuid] of Object.entries({ person_uuid, person_id })) {
    if (uuid === undefined) continue;
    if (!isUuid(uuid)) throw new Fault("invalid_input", `“${uuid}” is not a valid UUID.`, { attr });
    if (uuid.toLowerCase() === person.toLowerCase()) continue;
    throw new Fault("invalid_input", "person_id and person_uuid name different persons.", { attr });
  }
  const person_main_id = await findMainId(reads, person);
  // Filtering by main id happens in ClickHouse: a person may have hundreds of thousands of distinct ids.
  if (person_main_id !== undefined) return { distinct_ids: requested, person_main_id };
  const ids = await findWithoutEvents(reads, person.toLowerCase());
  return { distinct_ids: requested ? ids.filter((id) => requested.includes(id)) : ids };
}

/** Recorded distinct ids whose own person this is, unless merged into another: for a person without events. */
async function findWithoutEvents(reads: ProjectReads, person: string): Promise<string[]> {
  const distinctIds = await findDistinctIds(reads, person);
  if (distinctIds.length === 0) return [];
  const mains = await findMainIds(reads, distinctIds);
  return distinctIds.filter((id) => mains.get(id) === id);
}
