// A person as replies show it.

import Type from "typebox";
import { isUuid } from "../core/id.ts";
import { model } from "../http/fields/field.ts";
import { isoOfStored } from "../http/fields/field_time.ts";
import { personLimits } from "./limits.ts";
import type { Person } from "./reading/fold.ts";

export const distinctIdModel = Type.String({ title: "DistinctId" });

export const personModel = model("Person", {
  id: Type.String({ format: "uuid" }),
  uuid: Type.String({ format: "uuid" }),
  name: Type.String({ description: "An e-mail address, a name, or else a distinct id." }),
  distinct_ids: Type.Array(Type.String(), {
    description:
      `The main one first, then the others in order, ${personLimits.distinctIdsShownMax} at most: ` +
      "`…/persons/:uuid/distinct_ids/` lists all.",
  }),
  distinct_ids_count: Type.Integer({ description: "All of them." }),
  properties: Type.Record(Type.String(), Type.Unknown(), { description: "The latest changed first." }),
  created_at: Type.String({ format: "date-time" }),
  is_identified: Type.Boolean({ description: "True when ids were merged into it." }),
});

/** A person as JSON, with the texts of its properties as they were sent. */
export function personText(person: Person): string {
  const { uuid, distinct_ids, distinct_ids_count, properties, created_at, is_identified } = person;
  const name = nameOf(JSON.parse(properties) as Record<string, unknown>, distinct_ids);
  const head = JSON.stringify({ id: uuid, uuid, name, distinct_ids, distinct_ids_count });
  const tail = JSON.stringify({ created_at: isoOfStored(created_at), is_identified });
  return `${head.slice(0, -1)},"properties":${properties},${tail.slice(1)}`;
}

export function personReply(person: Person): Response {
  return new Response(personText(person), { headers: { "content-type": "application/json" } });
}

/** An e-mail address or a name; else a distinct id, one that is no UUID where there is one. */
export function nameOf(properties: Record<string, unknown>, distinct_ids: readonly string[]): string {
  for (const key of ["email", "name", "username"]) {
    const value = properties[key];
    if (typeof value === "string" && value.trim() !== "") return value;
  }
  return distinct_ids.find((id) => !isUuid(id)) ?? distinct_ids[0] ?? "";
}
