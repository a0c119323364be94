// The fields of a resource as schemas: requests are checked against them, and the API's description shows them.

import Type, {
  type Static,
  type TNull,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnion,
} from "typebox";
import { harmlessFields } from "./harmless.ts";

/** Options of any field. One with a `default` may be left out when a thing is created. */
type FieldOptions = {
  description?: string;
  examples?: unknown[];
  default?: unknown;
};

/** Text, trimmed; not blank unless it says so. `maxLength` counts characters, not UTF-16 units. */
export function text(options: FieldOptions & { maxLength?: number; blank?: boolean } = {}) {
  const { blank = false, ...rest } = options;
  return Type.String(blank ? rest : { minLength: 1, ...rest });
}

/** Text on one line, as a name that becomes the header of an e-mail or of a file: breaks become blanks. */
export function line(options: Parameters<typeof text>[0] = {}) {
  return { ...text(options), "x-line": true };
}

/** Text that is compared byte by byte, as a distinct id or the key of a property: not trimmed, not empty. */
export function exactText(options: FieldOptions & { maxLength?: number } = {}) {
  return Type.String({ minLength: 1, "x-exact": true, ...options });
}

export function flag(options: FieldOptions = {}) {
  return Type.Boolean(options);
}

/** A whole number that Postgres can hold, or within tighter bounds. */
export function integer(options: FieldOptions & { minimum?: number; maximum?: number } = {}) {
  return Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647, ...options });
}

/** A moment; checked ones are ISO 8601 in UTC. */
export function moment(options: FieldOptions = {}) {
  return Type.String({ format: "date-time", ...options });
}

export function uuid(options: FieldOptions = {}) {
  return Type.String({ format: "uuid", ...options });
}

/** A name or alias of the IANA time zone database, like Europe/Paris. */
export function timezone(options: FieldOptions = {}) {
  return Type.String({ format: "iana-timezone", ...options });
}

export function choice<const Choice extends string>(choices: readonly Choice[], options: FieldOptions = {}) {
  return Type.Enum<Choice[]>([...choices], { type: "string", ...options });
}

/** An object with a name in the API's description: defined once, and referred to from everywhere. */
export function model<Properties extends TProperties>(title: string, properties: Properties) {
  return Type.Object(properties, { title });
}

/**
 * An object without any other fields: a name that it does not have is refused.
 * @param replyModel replies have it: its other fields and its harmless ones may be sent, and change nothing.
 */
export function strictModel<Properties extends TProperties>(
  title: string,
  properties: Properties,
  replyModel?: TObject,
) {
  return Type.Object(properties, { title, ...strictness(replyModel) });
}

function strictness(replyModel: TObject | undefined) {
  const { title = "", properties = {} } = (replyModel ?? {}) as { title?: string; properties?: TProperties };
  const harmless = Object.values(harmlessFields).flatMap((names) => names[title] ?? []);
  return { additionalProperties: false, "x-dropped": [...Object.keys(properties), ...harmless] };
}

/**
 * One of several models, each with a field `property` of one value that the others do not have. Generated clients read
 * and write it by that field.
 */
export function variants<Models extends TObject[]>(
  title: string,
  property: string,
  models: [...Models],
  options: FieldOptions = {},
): TUnion<Models> {
  return Type.Union(models, { title, discriminator: { propertyName: property }, ...options });
}

/** The id of another thing. Only its form is checked: its existence is checked by the room, with `missingReference`. */
export function reference(options: FieldOptions = {}) {
  return Type.Integer({ minimum: 1, maximum: 2_147_483_647, "x-reference": true, ...options });
}

/**
 * A field of PostHog's without a meaning here: an object that must be empty, since it would be ignored.
 * @param refusal the error for a value that is not empty.
 */
export function emptyObject(refusal: string) {
  return Type.Record(Type.String(), Type.Unknown(), {
    default: {},
    maxProperties: 0,
    description: "Always empty.",
    "x-empty": refusal,
  });
}

/**
 * A field of requests that PostHog has and that has no meaning here: left out or empty, since it would be ignored.
 * @param refusal the error for any other value.
 * @param also values that are accepted too, because they mean the same as none.
 */
export function unsupported(refusal: string, also: readonly (string | number | boolean)[] = []) {
  const accepted = also.map((value) => `; \`${JSON.stringify(value)}\` has the same effect`).join("");
  return Type.Optional(
    Type.Unknown({
      description: `Not supported: leave it out${accepted}.`,
      "x-empty": refusal,
      ...(also.length > 0 && { "x-also": also }),
    }),
  );
}

/** A field of PostHog's that may have any value, since it changes no answer: the description has the reason. */
export function unread(description: string) {
  return Type.Optional(Type.Unknown({ description }));
}

export function nullable<Schema extends TSchema>(
  schema: Schema,
  options: FieldOptions = {},
): TUnion<[Schema, TNull]> {
  return Type.Union([schema, Type.Null()], options);
}

/** Marks a field that replies show and requests cannot set. */
interface ReadOnly {
  readOnly: true;
}

export function readOnly<Schema extends TSchema>(schema: Schema): Schema & ReadOnly {
  return { ...schema, readOnly: true };
}

type Writable<Properties extends TProperties> = {
  [Name in keyof Properties as Properties[Name] extends ReadOnly ? never : Name]: Properties[Name];
};

/**
 * The body of a request: the model without its read-only fields, in its order. A model Thing becomes a ThingRequest.
 */
export function writable<Properties extends TProperties>(model: TObject<Properties>) {
  const fields = Object.entries(model.properties).filter(([, schema]) => !("readOnly" in schema));
  const { title } = model as { title?: string };
  const titled = title === undefined ? {} : { title: `${title}Request` };
  return Type.Object(Object.fromEntries(fields), titled) as unknown as TObject<Writable<Properties>>;
}

/** A body of writable() that refuses other fields, as strictModel() does. */
export function strictWritable<Properties extends TProperties>(
  model: TObject<Properties>,
): TObject<Writable<Properties>> {
  return { ...writable(model), ...strictness(model) };
}

/** A checked request that creates a thing: every field without a default is set, the others are filled in. */
export type CreateInput<Schema extends TObject> = Static<Schema>;
/** A checked request that changes a thing: only the fields that were sent. */
export type UpdateInput<Schema extends TObject> = Partial<Static<Schema>>;
