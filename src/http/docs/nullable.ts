// Values that may be null, in the spelling that generators of clients read. A union with null alone stops some of them,
// and a reference in one becomes a type of its own in others.

import type { JsonSchema } from "./example.ts";

/** A schema or null as a list of types, or as a oneOf where it is a reference. Other schemas stay as they are. */
export function plainNullable(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema;
  const one = orNull(anyOf);
  if (!one) return schema;
  if (one.$ref !== undefined) return { ...rest, oneOf: [one, { type: "null" }] };
  // Anything: null too.
  if (typeof one.type !== "string") return { ...one, ...rest };
  const both = { ...one, ...rest, type: [one.type, "null"] };
  return one.enum ? { ...both, enum: [...one.enum, null] } : both;
}

/** What may be null, in a union of it and null. */
function orNull(anyOf: JsonSchema[] | undefined): JsonSchema | undefined {
  const [one, other, ...more] = anyOf ?? [];
  return more.length === 0 && other?.type === "null" ? one : undefined;
}
