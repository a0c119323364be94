// What a row says of its person and groups, as plain values, and what the same event says to a naive reader.

import { changeKind } from "../../src/capture/fields/changes.ts";
import { rangeText } from "../../src/capture/fields/raw_value.ts";
import type { Row } from "../../src/capture/fields/row.ts";

export interface PersonColumns {
  person_mode: number;
  /** `<op> <key>` → raw value. */
  changes: Record<string, string>;
  groups: [type: string, key: string][];
}

const decoder = new TextDecoder();

export function columnsOf({ person_mode, changes, groups }: Row): PersonColumns {
  const read: Record<string, string> = {};
  for (let at = 0; at < changes.count; at++) {
    const key = decoder.decode(changes.keySource(at).subarray(changes.keyFrom[at], changes.keyTo[at]));
    const value = decoder.decode(changes.source.subarray(changes.valueFrom[at], changes.valueTo[at]));
    read[`${changes.ops[at]} ${key}`] = value;
  }
  const attached = groups.types.slice(0, groups.count).map((type, i): [string, string] => {
    return [rangeText(type), rangeText(groups.keys[i]!)];
  });
  return { person_mode, changes: read, groups: attached };
}

type Json = Record<string, unknown>;

/** Values are compared as JSON.stringify writes them: give it texts that were made by it. */
export function naiveColumns(event: Json): PersonColumns {
  const properties = objectIn(event["properties"]);
  const personless = properties["$process_person_profile"] === false;
  const changes: Record<string, string> = {};
  if (!personless) {
    const put = (what: number, members: Json) => {
      for (const [key, value] of Object.entries(members)) changes[`${what} ${key}`] = JSON.stringify(value);
    };
    put(changeKind.once, { ...objectIn(properties["$set_once"]), ...objectIn(event["$set_once"]) });
    put(changeKind.set, { ...objectIn(properties["$set"]), ...objectIn(event["$set"]) });
    for (const named of [properties["$unset"], event["$unset"]]) {
      const keys = Array.isArray(named)
        ? named.filter((key) => typeof key === "string")
        : Object.keys(objectIn(named));
      for (const key of keys) {
        delete changes[`${changeKind.set} ${key}`];
        changes[`${changeKind.unset} ${key}`] = "";
      }
    }
  }
  const groups = new Map<string, string>();
  for (const [type, key] of Object.entries(objectIn(properties["$groups"]))) {
    const text = typeof key === "string" ? key : typeof key === "number" ? JSON.stringify(key) : "";
    if (type !== "" && text !== "" && groups.size < 5) groups.set(type, text);
  }
  return { person_mode: personless ? 1 : 0, changes, groups: [...groups] };
}

function objectIn(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}
