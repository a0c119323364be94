// Models of the API's description, each said once: a schema with a title is a component, and wherever it stands is a
// reference to it.

import type { JsonSchema } from "./sample.ts";

export type Models = Record<string, JsonSchema>;

/** Where a schema holds others, by how. */
const single = ["items", "additionalProperties"] as const;
const listed = ["anyOf", "oneOf", "allOf"] as const;
const named = ["properties", "patternProperties"] as const;

/** What is said of a place, not of the model that stands there. */
const ofPlace = ["readOnly", "default"] as const;

/** A reference to the model of this name, which some route shows whole. */
export function modelNamed(name: string): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * The schema with a reference in the place of every model that has a title; those come into `models`.
 * @throws Error where two that differ have one title: one of them is to be renamed.
 */
export function hoisted(schema: JsonSchema, models: Models): JsonSchema {
  const { title, ...said } = schema;
  if (title === undefined) return withInner(schema, models);
  const place: JsonSchema = modelNamed(title);
  for (const keyword of ofPlace) {
    if (keyword in said) place[keyword] = said[keyword];
    delete said[keyword];
  }
  const model = withInner(said, models);
  const known = models[title];
  if (known && !Bun.deepEquals(known, model)) throw new Error(`two models are called ${title}`);
  models[title] = model;
  return place;
}

function withInner(schema: JsonSchema, models: Models): JsonSchema {
  const inner: JsonSchema = { ...schema };
  const one = (schema: JsonSchema) => hoisted(schema, models);
  for (const keyword of single) {
    const held = schema[keyword];
    if (isSchema(held)) inner[keyword] = one(held);
  }
  for (const keyword of listed) if (schema[keyword]) inner[keyword] = schema[keyword].map(one);
  for (const keyword of named) {
    const held = schema[keyword];
    if (!isSchema(held)) continue;
    const entries = Object.entries(held as Record<string, JsonSchema>);
    inner[keyword] = Object.fromEntries(entries.map(([name, schema]) => [name, one(schema)]));
  }
  return inner;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null;
}
