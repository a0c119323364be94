// The parameters of an operation's query: each has its description and the function that reads it.

import { limits } from "../../core/limits.ts";
import type { Clock } from "../../core/clock.ts";
import { httpLimits } from "../limits.ts";
import { readMoment } from "../pages/moment.ts";
import { checkInteger } from "./field_rule.ts";

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

interface Parameter<Value> {
  description: string;
  schema: QuerySchema;
  /** @throws Fault with `name` as its attr, where a wrong value is refused. */
  read(query: URLSearchParams, name: string): Value;
}

/** Parameters by name, in the order in which they are read. */
export type Query = Readonly<Record<string, Parameter<unknown>>>;

export type QueryValues<Parameters extends Query> = {
  [Name in keyof Parameters]: ReturnType<Parameters[Name]["read"]>;
};

/** @throws Fault, the first wrong parameter's. */
export function readQuery<Parameters extends Query>(
  parameters: Parameters,
  query: URLSearchParams,
): QueryValues<Parameters> {
  const entries = Object.entries(parameters).map(([name, { read }]) => [name, read(query, name)]);
  return Object.fromEntries(entries) as QueryValues<Parameters>;
}

/** The parameters as the API's description lists them. */
export function describedQuery(parameters: Query) {
  return Object.entries(parameters).map(([name, { description, schema }]) => ({
    name,
    in: "query",
    required: false,
    description,
    schema,
  }));
}

/** A text; an empty one counts as absent. */
export function textParameter(
  description: string,
  schema: QuerySchema = { type: "string" },
): Parameter<string | undefined> {
  return { description, schema, read: (query, name) => query.get(name) || undefined };
}

/** What `read` makes of the query, described as a text unless told. */
export function parameter<Value>(
  description: string,
  read: Parameter<Value>["read"],
  schema: QuerySchema = { type: "string" },
): Parameter<Value> {
  return { description, schema, read };
}

/** A moment, a day, or how long ago, as readMoment reads it. */
export function momentParameter(description: string, clock: Clock): Parameter<string | undefined> {
  return {
    description,
    schema: { anyOf: [{ type: "string", format: "date-time" }, { type: "string" }] },
    read: (query, name) => readMoment(query, name, clock),
  };
}

/** true or false; any other text is neither. */
export function flagParameter(
  description: string,
  read: Parameter<boolean | undefined>["read"] = readFlag,
): Parameter<boolean | undefined> {
  return { description, schema: { type: "boolean" }, read };
}

function readFlag(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  return text === "true" ? true : text === "false" ? false : undefined;
}

export function referenceParameter(
  description: string,
  read: Parameter<number | undefined>["read"],
): Parameter<number | undefined> {
  return { description, schema: { type: "integer", minimum: 0, maximum: 2_147_483_647 }, read };
}

/** `limit`; `unasked`: how many rows are listed without it. */
export function limitParameter(rows: string, unasked: number = limits.pageDefault): Parameter<number> {
  return numberParameter(`${rows} on the page.`, {
    minimum: 1,
    maximum: httpLimits.pageMax,
    default: unasked,
  });
}

export function pageParameters(rows: string, unasked?: number) {
  const bounds = { minimum: 0, maximum: httpLimits.pageOffsetMax, default: 0 };
  return { limit: limitParameter(rows, unasked), offset: numberParameter(`${rows} before it.`, bounds) };
}

function numberParameter(
  description: string,
  bounds: { minimum: number; maximum: number; default: number },
): Parameter<number> {
  const read = (query: URLSearchParams, name: string) => {
    const text = query.get(name);
    return text === null ? bounds.default : checkInteger(bounds, text, [name]);
  };
  return { description, schema: { type: "integer", ...bounds }, read };
}
