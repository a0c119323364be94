// Models of the API's description: a schema with a title becomes a component, and every use of it a reference.

import type { JsonSchema } from "./example.ts";

export type Models = Record<string, JsonSchema>;

/** Keywords whose values are a client's data, which may look like a schema. */
const ofClients: ReadonlySet<string> = new Set(["const", "default", "enum", "example", "examples"]);

/** Keywords that belong to the use of a model, not to the model. */
const siblingKeywords = ["readOnly", "default"] as const;

/** A reference to the model of this name, which some route must define. */
export function modelNamed(name: string): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * The schema with every titled model replaced by a reference; the models are added to `models`.
 * @throws Error when two different models have the same title.
 */
export function hoisted(schema: JsonSchema, models: Models): JsonSchema {
  const { title, ...fields } = schema;
  // A property may have this name; its value is then a schema.
  if (typeof title !== "string") return withInner(schema, models);
  const reference: JsonSchema = modelNamed(title);
  for (const keyword of siblingKeywords) {
    if (keyword in fields) reference[keyword] = fields[keyword];
    delete fields[keyword];
  }
  const model = withInner(fields, models);
  const titled = models[title];
  if (titled && !Bun.deepEquals(titled, model)) throw new Error(`two different models are titled ${title}`);
  models[title] = model;
  return reference;
}

function withInner(schema: JsonSchema, models: Models): JsonSchema {
  const inner = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inner);
    return typeof value === "object" && value !== null ? hoisted(value as JsonSchema, models) : value;
  };
  const entries = Object.entries(schema);
  return plainNullable(
    Object.fromEntries(entries.map(([name, value]) => [name, ofClients.has(name) ? value : inner(value)])),
  );
}

/**
 * A schema or null as a list of types, or as a oneOf where it is a reference. A union with null alone stops some
 * generators of clients, and a reference in one becomes a type of its own in others.
 */
export function plainNullable(schema: JsonSchema): JsonSchema {
  const { anyOf = [], ...rest } = schema;
  const [item, nullItem, ...more] = anyOf;
  if (!item || more.length > 0 || nullItem?.type !== "null") return schema;
  if (item.$ref !== undefined) return { ...rest, oneOf: [item, { type: "null" }] };
  // Anything: null too.
  if (typeof item.type !== "string") return { ...item, ...rest };
  const nullableSchema = { ...item, ...rest, type: [item.type, "null"] };
  return item.enum ? { ...nullableSchema, enum: [...item.enum, null] } : nullableSchema;
}
