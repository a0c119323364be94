// Models as the API's description shows them. Never checks anything: what comes in is read by body.ts,
// against
// the same schemas.

import Type, { type TObject, type TSchema } from "typebox";
import { limits } from "../../core/limits.ts";
import { limitBounds, offsetBounds } from "../pages/page.ts";

/** The envelope of every list. */
export function listSchema(result: TSchema) {
  return Type.Object({
    count: Type.Integer(),
    next: Type.Union([Type.String({ format: "uri" }), Type.Null()]),
    previous: Type.Union([Type.String({ format: "uri" }), Type.Null()]),
    results: Type.Array(result),
  });
}

/** One entry of an operation's `responses`. */
export function reply(description: string, schema: TSchema) {
  return { description, content: { "application/json": { schema: plainSchema(schema) } } };
}

/** A type: an interface would not pass for a JsonSchema. */
type QuerySchema = {
  type: "string" | "integer";
  minimum?: number;
  maximum?: number;
  default?: number;
};

/** One of an operation's `parameters` that may be left out: a text unless told. */
export function queryParameter(name: string, description: string, schema: QuerySchema = { type: "string" }) {
  return { name, in: "query", required: false, description, schema };
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

/** A schema as plain JSON, free of the markers a validator would look for. */
function plainSchema(schema: TSchema): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;
}

/**
 * An operation's `requestBody`: the schema its body is checked against. Fields with a default may be left
 * out,
 * and all of them where the request only changes a thing (`partial`).
 */
export function requestBody(schema: TObject, { partial = false }: { partial?: boolean } = {}) {
  const plain = plainSchema(schema);
  const required = Object.entries(schema.properties)
    .filter(([name, field]) => !partial && schema.required.includes(name) && !("default" in field))
    .map(([name]) => name);
  if (required.length > 0) plain["required"] = required;
  else delete plain["required"];
  return { required: required.length > 0, content: { "application/json": { schema: plain } } };
}
