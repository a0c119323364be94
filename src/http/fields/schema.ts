// Models as the API's description shows them. field_check.ts checks requests against the same schemas.

import Type, { type TObject, type TSchema } from "typebox";
import { modelNamed } from "../docs/models.ts";
import { model, nullable } from "./field.ts";
import { requiredTextParameter, searchParameter } from "./query.ts";

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

/** The envelope of a list whose pages PostHog counts from 1. */
export function numberedListSchema<Result extends TSchema>(result: Result, title: string) {
  const total_count = Type.Integer({ description: "The same as `count`, as PostHog calls it." });
  return Type.Object({ ...listSchema(result).properties, total_count }, { title });
}

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

/** A reply that may be without a body: its content is then an empty text. */
export function orEmpty<Schema extends TSchema>({ description, content }: Reply<Schema>): Reply<Schema> {
  const contents = { ...content, "text/plain": { schema: { type: "string", maxLength: 0 } } };
  return { description, content: contents };
}

export function emptyReply(): Response {
  return new Response(null, { headers: { "content-type": "text/plain" } });
}

export const gone = { 204: { description: "It is deleted." } } as const;

/** A pattern for every name: TypeBox writes a record with it, client generators expect `additionalProperties`. */
const anyName = "^.*$";

/**
 * A schema as plain JSON, without the markers of validators. The members of `x-shown` are added: they describe what is
 * checked elsewhere. Variants become a oneOf with the name of each variant's model, which generators of clients follow.
 * That a model has no other members is left out: some generators would add a type null.
 */
function plainSchema(schema: TSchema): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema), (_, value: unknown) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    if ("anyOf" in value && "discriminator" in value) return variantsSchema(value as Variants);
    const described = value as Record<string, unknown>;
    const { patternProperties, "x-shown": shownSchema } = described;
    for (const name of checkedOnly) delete described[name];
    if (described["additionalProperties"] === false) delete described["additionalProperties"];
    const names = Object.entries(patternProperties ?? {});
    if (names.length !== 1 || names[0]![0] !== anyName)
      return { ...described, ...(shownSchema as object | undefined) };
    delete described["patternProperties"];
    return { ...described, additionalProperties: names[0]![1] as unknown };
  }) as Record<string, unknown>;
}

const checkedOnly = ["x-list", "x-shown", "x-empty", "x-dropped", "x-also"] as const;

interface Variants {
  anyOf: { title: string; properties: Record<string, { enum: string[] }> }[];
  discriminator: { propertyName: string };
}

function variantsSchema({ anyOf, discriminator: { propertyName }, ...rest }: Variants) {
  const named = anyOf.map(({ title, properties }) => [
    properties[propertyName]!.enum[0],
    modelNamed(title).$ref,
  ]);
  return {
    ...rest,
    oneOf: anyOf,
    discriminator: { propertyName, mapping: Object.fromEntries(named) as object },
  };
}

/**
 * An operation's `requestBody`: the schema against which its body is checked. Fields with a default may be left out;
 * with `partial`, for a request that changes a thing, any field may.
 */
export function requestBody(schema: TObject, partial: boolean) {
  const plain = plainSchema(schema);
  const required = (schema.required ?? []).filter(
    (name) => !partial && !("default" in schema.properties[name]!),
  );
  plain["required"] = required.length > 0 ? required : undefined;
  return { required: required.length > 0, content: { "application/json": { schema: plain } } };
}

export const valuesQuery = {
  key: requiredTextParameter("the property's name."),
  value: searchParameter("Only values that contain this text, in any case."),
};

/** @param thing the name of the model of one value, without `Value`. @param count what is counted. */
export function propertyValuesModel(thing: string, count: string) {
  return model(`${thing}Values`, {
    results: Type.Array(
      model(`${thing}Value`, {
        name: Type.String({ description: "A text as it is, anything else as JSON." }),
        count: Type.Integer({ description: count }),
      }),
    ),
    refreshing: Type.Boolean({ description: "Always false: they are read now." }),
  });
}
