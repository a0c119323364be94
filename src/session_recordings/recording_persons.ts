// The persons of recordings, as replies show them beside each.

import { Fault } from "../core/fault.ts";
import { formatStored } from "../http/fields/field_time.ts";
import { ownPersonId } from "../persons/identity.ts";
import { choosePersonName } from "../persons/model.ts";
import type { Person } from "../persons/reading/fold.ts";
import { findPagePersons } from "../persons/reading/store.ts";
import type { ProjectReads } from "../storage/clickhouse/query_options.ts";
import { sessionRecordingLimits } from "./limits.ts";
import type { RecordingPerson } from "./model.ts";
import type { RecordingRow } from "./store.ts";

/** Reads persons before it is certain which are needed. */
export function prefetchPersons(reads: ProjectReads) {
  let requested = new Set<string>();
  let found = Promise.resolve(new Map<string, Person>());
  return {
    request: (distinct_ids: readonly string[]) => {
      requested = new Set(distinct_ids);
      found = findPagePersons(reads, distinct_ids);
      // A rejection reaches the caller of `of`. Without a caller it must not count as unhandled.
      found.catch(() => {});
    },
    of: async (distinct_ids: readonly string[]) => {
      const otherIds = distinct_ids.filter((id) => !requested.has(id));
      const [ahead, behind] = await Promise.all([found, findPagePersons(reads, otherIds)]);
      return new Map([...ahead, ...behind]);
    },
  };
}

/** @throws Fault max_value: every recording carries all properties of its person, often the same person's. */
export function refuseLarge(rows: readonly RecordingRow[], persons: ReadonlyMap<string, Person>): void {
  let chars = 0;
  for (const [i, { distinct_id }] of rows.entries()) {
    chars += persons.get(distinct_id)?.properties.length ?? 0;
    if (chars <= sessionRecordingLimits.recordingsPageCharsMax || i === 0) continue;
    const detail = `The page is too large with the properties of its persons. Ask for at most limit=${i}.`;
    throw new Fault("max_value", detail, { attr: "limit" });
  }
}

/**
 * @param seen_at start of the recording, ISO 8601: the creation time of a person without events.
 * @param known the person of the distinct id; undefined when no event has it.
 */
export function toPerson(
  project_id: number,
  distinct_id: string,
  seen_at: string,
  known?: Person,
): RecordingPerson {
  const uuid = known?.uuid ?? ownPersonId(project_id, distinct_id);
  const distinct_ids = (known?.distinct_ids ?? []).slice(0, distinctIdsShownMax);
  const properties = JSON.parse(known?.properties ?? "{}") as Record<string, unknown>;
  return {
    // The first 48 bits of the uuid: a numeric id that fits a double.
    id: Number.parseInt(uuid.replaceAll("-", "").slice(0, 12), 16),
    name: choosePersonName(properties, [...distinct_ids, distinct_id]),
    distinct_ids: (distinct_ids.length > 0 ? distinct_ids : [distinct_id]).join(","),
    properties,
    created_at: known ? formatStored(known.created_at) : seen_at,
    uuid,
  };
}

const distinctIdsShownMax = 10;
