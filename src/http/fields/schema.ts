// Models as the API's description shows them. Never checks anything: what comes in is read by body.ts,
// against
// the same schemas.

import Type, { type TObject, type TSchema } from "typebox";
import { limits } from "../../core/limits.ts";
import { nullable } from "./field.ts";
import { limitBounds, offsetBounds } from "../pages/page.ts";

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
  /** Only a type. */
  body?: Schema;
}

export function reply<Schema extends TSchema>(description: string, schema: Schema): Reply<Schema> {
  return { description, content: { "application/json": { schema: plainSchema(schema) } } };
}

/** What most deletions answer. */
export const gone = { 204: { description: "It is gone." } } as const;

/** A type: an interface would not pass for a JsonSchema. */
type QuerySchema = {
  type?: "string" | "integer" | "boolean";
  format?: string;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  default?: number;
  anyOf?: QuerySchema[];
};

/** One of an operation's `parameters` that may be left out: a text unless told. */
export function queryParameter(name: string, description: string, schema: QuerySchema = { type: "string" }) {
  return { name, in: "query", required: false, description, schema };
}

/** One that readMoment reads: a moment, a day, or how long ago. */
export function momentParameter(name: string, description: string) {
  return queryParameter(name, description, {
    anyOf: [{ type: "string", format: "date-time" }, { type: "string" }],
  });
}

export function flagParameter(name: string, description: string) {
  return queryParameter(name, description, { type: "boolean" });
}

/** The id of another thing, as it counts. */
export function referenceParameter(name: string, description: string) {
  return queryParameter(name, description, { type: "integer", minimum: 0, maximum: 2_147_483_647 });
}

/** `limit`; `unasked`: how many rows are listed without it. */
export function limitParameter(rows: string, unasked: number = limits.pageDefault) {
  const schema: QuerySchema = { type: "integer", ...limitBounds, default: unasked };
  return queryParameter("limit", `${rows} on the page.`, schema);
}

/** `limit` and `offset`, as readPage reads them. */
export function pageParameters(rows: string, unasked?: number) {
  const schema: QuerySchema = { type: "integer", ...offsetBounds, default: 0 };
  return [limitParameter(rows, unasked), queryParameter("offset", `${rows} before it.`, schema)];
}

/** Every name: what TypeBox says of a record, and `additionalProperties` says to generators of clients. */
const anyName = "^.*$";

/**
 * A schema as plain JSON, free of the markers a validator would look for. Where what is checked is not all there is
 * to say (others check it later), `x-shown` says the rest.
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
 * An operation's `requestBody`: the schema its body is checked against. Fields with a default may be left
 * out,
 * and all of them where the request only changes a thing (`partial`).
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
