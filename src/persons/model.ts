// What a person looks like in a reply. Never how it rests.

import Type from "typebox";
import { isUuid } from "../core/id.ts";
import type { Person } from "./reading/store.ts";

export const personModel = Type.Object({
  id: Type.String({ format: "uuid" }),
  uuid: Type.String({ format: "uuid" }),
  name: Type.String({ description: "An e-mail address, a name, or else a distinct id." }),
  distinct_ids: Type.Array(Type.String(), { description: "All of them, the main one first." }),
  properties: Type.Record(Type.String(), Type.Unknown(), { description: "The latest changed first." }),
  created_at: Type.String({ format: "date-time" }),
  is_identified: Type.Boolean({ description: "True when ids were merged into it." }),
});

/** A person as JSON. Its properties go out as they came in. */
export function personText({ uuid, distinct_ids, properties, created_at, is_identified }: Person): string {
  const head = JSON.stringify({ id: uuid, uuid, name: nameOf(distinct_ids, properties), distinct_ids });
  const tail = JSON.stringify({ created_at: isoOf(created_at), is_identified });
  return `${head.slice(0, -1)},"properties":${properties},${tail.slice(1)}`;
}

function nameOf(distinct_ids: readonly string[], properties: string): string {
  const read = JSON.parse(properties) as Record<string, unknown>;
  for (const key of ["email", "name", "username"]) {
    const value = read[key];
    if (typeof value === "string" && value !== "") return value;
  }
  return distinct_ids.find((id) => !isUuid(id)) ?? distinct_ids[0] ?? "";
}

/** `2024-01-02 03:04:05.600000` as `2024-01-02T03:04:05.600000Z`. */
function isoOf(moment: string): string {
  return `${moment.replace(" ", "T").replace(/\.0+$/, "")}Z`;
}
