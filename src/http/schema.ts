// Models as the API's description shows them. Never checks anything: what comes in is read by the rooms
// themselves.

import Type, { type TSchema } from "typebox";

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

/** A schema as plain JSON, free of the markers a validator would look for. */
function plainSchema(schema: TSchema): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;
}
