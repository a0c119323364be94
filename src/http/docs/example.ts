// Makes an example value that a schema accepts.

export interface JsonSchema {
  $ref?: string;
  title?: string;
  description?: string;
  type?: string | string[];
  format?: string;
  example?: unknown;
  examples?: unknown[];
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  minItems?: number;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  [keyword: string]: unknown;
}

/** The author's example, or the simplest value that fits. @param models the models that references name. */
export function makeExample(schema: JsonSchema, models: Record<string, JsonSchema> = {}): unknown {
  if (schema.example !== undefined) return schema.example;
  if (schema.examples?.length) return schema.examples[0];
  for (const value of [schema.const, schema.default, schema.enum?.[0]]) if (value !== undefined) return value;
  const inner = (schema: JsonSchema) => makeExample(schema, models);
  if (schema.$ref !== undefined) return inner(models[schema.$ref.split("/").at(-1) ?? ""] ?? {});
  const options = schema.anyOf ?? schema.oneOf;
  if (options?.length) return inner(options.find((option) => option.type !== "null") ?? options[0]!);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(inner)) as unknown;
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  return examplesByType[type ?? ""]?.(schema, inner) ?? null;
}

const examplesByType: Record<
  string,
  (schema: JsonSchema, inner: (schema: JsonSchema) => unknown) => unknown
> = {
  object: ({ properties = {} }, inner) =>
    Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, inner(property)])),
  array: ({ items, minItems }, inner) => (items ? Array(minItems ?? 1).fill(inner(items)) : []),
  string: exampleString,
  integer: exampleNumber,
  number: exampleNumber,
  boolean: () => true,
};

function exampleNumber({ minimum, exclusiveMinimum, maximum }: JsonSchema): number {
  const least = minimum ?? (exclusiveMinimum === undefined ? 1 : exclusiveMinimum + 1);
  return Math.min(Math.max(1, least), maximum ?? Number.MAX_SAFE_INTEGER);
}

function exampleString({ format, minLength = 0, maxLength }: JsonSchema): string {
  return formats[format ?? ""] ?? "text".padEnd(minLength, "t").slice(0, maxLength);
}

const formats: Record<string, string> = {
  "date-time": "2026-01-31T12:00:00Z",
  date: "2026-01-31",
  email: "someone@example.com",
  uri: "https://example.com/",
  uuid: "01890a5d-ac96-774b-bcce-b302099a8057",
};
