// The person of a recording.

import { isUuid } from "../core/id.ts";
import { isoOfStored } from "../http/fields/field_time.ts";
import { ownPersonId } from "../persons/identity.ts";
import type { Person } from "../persons/reading/store.ts";
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
    id: numberOf(uuid),
    name: nameOf(properties, [...distinct_ids, distinct_id]),
    distinct_ids: (distinct_ids.length > 0 ? distinct_ids : [distinct_id]).join(","),
    properties,
    created_at: known ? isoOfStored(known.created_at) : seen_at,
    uuid,
  };
}

const distinctIdsShownMax = 10;

/** The first 48 bits of the uuid: a numeric id that fits a double. */
function numberOf(uuid: string): number {
  return Number.parseInt(uuid.replaceAll("-", "").slice(0, 12), 16);
}

function nameOf(properties: Record<string, unknown>, distinct_ids: readonly string[]): string {
  for (const name of ["email", "name", "username"]) {
    const value = properties[name];
    if (typeof value === "string" && value.trim() !== "") return value;
  }
  return distinct_ids.find((id) => !isUuid(id)) ?? distinct_ids[0] ?? "";
}
