// Models as the API's description shows them. Requests are checked by body.ts against the same schemas.

import Type, { type TObject, type TSchema } from "typebox";
import { nullable } from "./field.ts";

/** The envelope of every list; of things called Thing, a PaginatedThingList. */
export function listSchema<Result extends TSchema>(result: Result) {
  return Type.Object(
    {
      count: Type.Integer(),
      next: nullable(Type.String({ format: "uri" })),
      previous: nullable(Type.String({ format: "uri" })),
      results: Type.Array(result),
    },
    listTitle(result),
  );
}

/** The envelope of a list without a count, which is followed by its links. */
export function linkedListSchema<Result extends TSchema>(result: Result) {
  const { next, previous } = listSchema(result).properties;
  return Type.Object({ next, previous, results: Type.Array(result) }, listTitle(result));
}

/** What the envelope of a list of these is called. */
export function listTitle(result: TSchema): { title?: string } {
  const { title } = result as { title?: string };
  return title === undefined ? {} : { title: `Paginated${title}List` };
}

/** One entry of an operation's `responses`, of a known type. */
export interface Reply<Schema extends TSchema> {
  description: string;
  content: { "application/json": { schema: Record<string, unknown> } };
  /** Exists in the type only. */
  body?: Schema;
}

export function reply<Schema extends TSchema>(description: string, schema: Schema): Reply<Schema> {
  return { description, content: { "application/json": { schema: plainSchema(schema) } } };
}

/** What most deletions answer. */
export const gone = { 204: { description: "It is gone." } } as const;

/** A pattern for every name: TypeBox writes a record with it, client generators expect `additionalProperties`. */
const anyName = "^.*$";

/**
 * A schema as plain JSON, without the markers of validators. The members of `x-shown` are added: they describe what is
 * checked elsewhere.
 */
function plainSchema(schema: TSchema): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema), (_, value: unknown) => {
    if (typeof value !== "object" || value === null) return value;
    const { "x-shown": shown, patternProperties, ...rest } = value as Record<string, object | undefined>;
    const names = Object.entries(patternProperties ?? {});
    if (names.length === 1 && names[0]![0] === anyName) {
      return { ...rest, additionalProperties: names[0]![1] as unknown };
    }
    return shown === undefined ? value : { ...rest, ...shown };
  }) as Record<string, unknown>;
}

/**
 * An operation's `requestBody`: the schema against which its body is checked. Fields with a default may be left out;
 * with `partial`, for a request that changes a thing, any field may.
 */
export function requestBody(schema: TObject, { partial = false }: { partial?: boolean } = {}) {
  const plain = plainSchema(schema);
  const required = Object.entries(schema.properties)
    .filter(([name, field]) => !partial && (schema.required ?? []).includes(name) && !("default" in field))
    .map(([name]) => name);
  if (required.length > 0) plain["required"] = required;
  else delete plain["required"];
  return { required: required.length > 0, content: { "application/json": { schema: plain } } };
}
