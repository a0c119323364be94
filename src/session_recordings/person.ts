// The person of a recording. Never asks a store.

import { isUuid } from "../core/id.ts";
import type { RecordingPerson } from "./model.ts";

/** A person as the project knows it; none of it for one that is only a distinct id so far. */
export interface KnownPerson {
  uuid: string;
  distinct_ids: readonly string[];
  properties: Record<string, unknown>;
  /** ISO 8601. */
  created_at: string;
}

/** `seen_at`: when the recording began, ISO 8601; a person that nobody knows was first seen then. */
export function personOf(
  project_id: number,
  distinct_id: string,
  seen_at: string,
  known?: KnownPerson,
): RecordingPerson {
  const uuid = known?.uuid ?? personUuid(project_id, distinct_id);
  const distinct_ids = (known?.distinct_ids ?? []).slice(0, distinctIdsShownMax);
  return {
    id: numberOf(uuid),
    name: nameOf(known?.properties ?? {}, [distinct_id, ...distinct_ids]),
    distinct_ids: (distinct_ids.length > 0 ? distinct_ids : [distinct_id]).join(","),
    properties: known?.properties ?? {},
    created_at: known?.created_at ?? seen_at,
    uuid,
  };
}

const distinctIdsShownMax = 10;
const namespace = Buffer.from("5b1f0c1e7d0e4a539a3c6f2f5d0e8b77", "hex");

/** UUIDv5 of `<project>:<distinct id>`, as ClickHouse's view of events computes it. */
export function personUuid(project_id: number, distinct_id: string): string {
  const hash = new Bun.CryptoHasher("sha1").update(namespace).update(`${project_id}:${distinct_id}`).digest();
  hash[6] = (hash[6]! & 0x0f) | 0x50;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  const hex = hash.toString("hex", 0, 16);
  return [
    [0, 8],
    [8, 12],
    [12, 16],
    [16, 20],
    [20, 32],
  ]
    .map(([from, to]) => hex.slice(from, to))
    .join("-");
}

/** A number for those who need one: the uuid's first 48 bits, so that every program can hold it. */
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
