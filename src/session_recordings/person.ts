// The person of a recording.

import { isoOfStored } from "../http/fields/field_time.ts";
import { ownPersonId } from "../persons/identity.ts";
import { nameOf } from "../persons/model.ts";
import type { Person } from "../persons/reading/fold.ts";
import type { RecordingPerson } from "./model.ts";

/**
 * @param seen_at start of the recording, ISO 8601: the creation time of a person without events.
 * @param known the person of the distinct id; undefined when no event has it.
 */
export function personOf(
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
    name: nameOf(properties, [...distinct_ids, distinct_id]),
    distinct_ids: (distinct_ids.length > 0 ? distinct_ids : [distinct_id]).join(","),
    properties,
    created_at: known ? isoOfStored(known.created_at) : seen_at,
    uuid,
  };
}

const distinctIdsShownMax = 10;
