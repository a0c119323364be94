// Which recordings a query asks for.

import { Fault } from "../core/fault.ts";
import { sessionRecordingLimits } from "./limits.ts";
import { isUuid } from "../core/id.ts";
import { findMainId, findMainIds } from "../persons/reading/store.ts";
import type { RecordingReaderOptions, WantedRecordings } from "./recording_reader.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import { findDistinctIds } from "./store.ts";

/**
 * A list of ids in the query key `name`: JSON, or with commas between; undefined when there is none.
 * @throws Fault with `name` as its attr.
 */
export function readIds(query: URLSearchParams, name: string): string[] | undefined {
  const text = query.get(name)?.trim();
  if (!text) return undefined;
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
 * What `distinct_id` and `person_uuid` ask for; nothing when neither is there.
 * @throws Fault invalid_input for a person that is no UUID.
 */
export async function readPersonFilter(
  { clickhouse }: RecordingReaderOptions,
  project_id: number,
  {
    distinct_id,
    person_uuid: person,
  }: { distinct_id?: string | undefined; person_uuid?: string | undefined },
): Promise<Pick<WantedRecordings, "distinct_ids" | "person_main_id">> {
  const asked = distinct_id === undefined ? undefined : [distinct_id];
  if (person === undefined) return { distinct_ids: asked };
  if (!isUuid(person)) {
    throw new Fault("invalid_input", `“${person}” is not a valid UUID.`, { attr: "person_uuid" });
  }
  const person_main_id = await findMainId(clickhouse, project_id, person);
  // It may have hundreds of thousands of ids, which the engine knows.
  if (person_main_id !== undefined) return { distinct_ids: asked, person_main_id };
  const theirs = await findUntold(clickhouse, project_id, person.toLowerCase());
  return { distinct_ids: asked ? theirs.filter((id) => id === distinct_id) : theirs };
}

/** Of a person that no event told of, the recorded ids whose own person it is, unless merged. */
async function findUntold(clickhouse: ClickHouse, project_id: number, person: string): Promise<string[]> {
  const own = await findDistinctIds(clickhouse, project_id, person);
  if (own.length === 0) return [];
  const mains = await findMainIds(clickhouse, project_id, own);
  return own.filter((id) => mains.get(id) === id);
}
