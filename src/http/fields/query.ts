// The parameters of an operation's query: each has its description and the function that reads it. A parameter that is
// not declared, is given twice or cannot be read is refused: an ignored filter would return what it should exclude.

import type { Clock } from "../../core/clock.ts";
import {
  asStored,
  clickhouseTime,
  type DateSide,
  endOfDay,
  parseDate,
  type Today,
} from "../../core/dates.ts";
import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { wordsIn } from "../../core/words.ts";
import { readStoredZone } from "../../storage/clickhouse/zones.ts";
import { httpLimits } from "../limits.ts";
import { excerpt, fieldFault } from "./field_fault.ts";
import { checkChoice, checkFlag, checkUuid, refuseUnstorable } from "./field_rule.ts";
import { harmlessParameters } from "./harmless.ts";
import { checkInteger } from "./number_rule.ts";

/** A type: an interface would not be assignable to a JsonSchema. */
type QuerySchema = {
  type?: "string" | "integer" | "boolean";
  format?: string;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  default?: number;
  anyOf?: QuerySchema[];
};

export interface Parameter<Value> {
  description: string;
  schema: QuerySchema;
  repeats?: boolean;
  /** Why it is refused; it is not in the API's description. */
  refused?: string;
  /** It works, but is not in the API's description. */
  hidden?: boolean;
  optional?: true;
  /** @throws Fault with `name` as its attr, where a wrong value is refused. */
  read(query: URLSearchParams, name: string, project?: Zoned): Value;
}

/** Parameters by name, in the order in which they are read. */
export type Query = Readonly<Record<string, Parameter<unknown>>>;

export type QueryValues<Parameters extends Query> = {
  [Name in keyof Parameters]: ReturnType<Parameters[Name]["read"]>;
};

/**
 * @param project whose days dates mean.
 * @throws Fault for a parameter that is not declared or given twice; then the first wrong parameter's.
 */
export function readQuery<Parameters extends Query>(
  parameters: Parameters,
  query: URLSearchParams,
  project?: Zoned,
) {
  for (const name of new Set(query.keys())) checkName(parameters, query, name);
  const entries = Object.entries(parameters).map(([name, { read, optional }]) => [
    name,
    optional && !query.has(name) ? undefined : read(query, name, project),
  ]);
  return Object.fromEntries(entries) as QueryValues<Parameters>;
}

function checkName(parameters: Query, query: URLSearchParams, name: string): void {
  const declared = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
  const harmless = declared ? undefined : harmlessParameters.get(name);
  if (declared?.refused !== undefined || !(declared ?? harmless)) {
    const names = acceptedParameters(parameters).map(([accepted]) => accepted);
    const list = names.length > 0 ? `There are: ${names.join(", ")}.` : "It has none.";
    const why = declared?.refused ?? `"${excerpt(name)}" is not a parameter of this operation.`;
    throw fieldFault("invalid_input", `${why} ${list}`, [excerpt(name)]);
  }
  const values = query.getAll(name);
  if (values.length > 1 && declared?.repeats !== true) {
    throw fieldFault("invalid_input", "This parameter can only be given once.", [name]);
  }
  const only = harmless?.only;
  if (only !== undefined && values[0] !== only) checkChoice([only], values[0], [name]);
}

function acceptedParameters(parameters: Query): [name: string, Parameter<unknown>][] {
  return Object.entries(parameters).filter(([, { refused }]) => refused === undefined);
}

export function describedQuery(parameters: Query) {
  return acceptedParameters(parameters).flatMap(([name, { hidden, description, schema }]) =>
    hidden ? [] : [{ name, in: "query", required: false, description, schema }],
  );
}

/** A text that is compared with names. An empty one is refused: no name is empty. */
export function textParameter(description: string, schema: QuerySchema = { type: "string" }) {
  return checkedParameter(description, schema, (text, path) => {
    if (text === "") throw fieldFault("blank", "This field may not be blank.", path);
    refuseUnstorable(text, path);
    return text;
  });
}

/** A text that is checked where it is given. */
function checkedParameter<Value>(
  description: string,
  schema: QuerySchema,
  check: (text: string, path: string[]) => Value,
): Parameter<Value | undefined> {
  return { description, schema, optional: true, read: (query, name) => check(query.get(name)!, [name]) };
}

export function uuidParameter(description: string): Parameter<string | undefined> {
  return checkedParameter(description, { type: "string", format: "uuid" }, checkUuid);
}

/** A text to search for, trimmed; an empty one is in all texts. */
export function searchParameter(description: string, charsMax = Infinity): Parameter<string | undefined> {
  return checkedParameter(description, { type: "string" }, (text, path) => {
    refuseUnstorable(text, path);
    if (text.length > charsMax)
      throw fieldFault("invalid_input", `Search query must be ${charsMax} characters or fewer.`, path);
    return text.trim() || undefined;
  });
}

export function choiceParameter<const Choice extends string>(
  description: string,
  choices: readonly Choice[],
): Parameter<Choice | undefined> {
  const check = (text: string, path: string[]) => checkChoice(choices, text, path) as Choice;
  // Clients made from the document name an enumeration's members in capitals.
  const shown = new Map(choices.toReversed().map((choice) => [choice.toUpperCase(), choice]));
  return checkedParameter(description, { type: "string", enum: [...shown.values()].toReversed() }, check);
}

/** A parameter of PostHog's that cannot be answered here. @param why a sentence. */
export function refusedParameter(why: string): Parameter<undefined> {
  return { description: why, schema: { type: "string" }, refused: why, read: () => undefined };
}

/** A parameter with its own reader, described as a text by default. */
export function parameter<Value>(
  description: string,
  read: Parameter<Value>["read"],
  schema: QuerySchema = { type: "string" },
): Parameter<Value> {
  return { description, schema, read };
}

type MomentSides = { start?: string; end?: string; side?: DateSide; moments?: DateSide };

/**
 * A moment, a day, or how long ago, as readMoment reads it.
 * @param start the parameter whose end this one is: where both name one day, they mean the whole day.
 * @param end the parameter whose start this one is, likewise.
 * @param side what days mean, also without the other one. @param moments what a time of day means.
 */
export function momentParameter(
  description: string,
  clock: Clock,
  { start, end, side = "exact", moments = "exact" }: MomentSides = {},
): Parameter<string | undefined> {
  const schema: QuerySchema = { anyOf: [{ type: "string", format: "date-time" }, { type: "string" }] };
  const read: Parameter<string | undefined>["read"] = (query, name, project = utc) => {
    const text = query.get(name);
    // Forms send the names of empty fields; PostHog's console says "all" where a list has no first day.
    if (text === "" || (text === "all" && start === undefined)) return undefined;
    const zone = { timezone: readStoredZone(project.timezone), weekStart: project.week_start };
    const today = { now: clock.now(), ...zone };
    const moment = readMoment(query, name, today, text?.includes(":") ? moments : side);
    const isDay = text?.trim().length === 10 && query.get(start ?? end ?? "") === text;
    // The bounds are exclusive.
    const bound = isDay ? (start ? endOfDay(moment!) : moment!.subtract({ microseconds: 1 })) : moment;
    return bound && clickhouseTime(asStored(bound));
  };
  return { description, schema, optional: true, read };
}

/** A project's time zone, as stored, and the day on which its weeks begin, from 0 for Sunday on. */
type Zoned = { timezone: string; week_start: number };

const utc: Zoned = { timezone: "UTC", week_start: 0 };

/** Whether results are computed: PostHog's modes as far as they differ here. */
export function refreshParameter(description: string): Parameter<boolean | undefined> {
  const check = (text: string, path: string[]) =>
    !storedModes.has(checkChoice(refreshModes, text.toLowerCase(), path));
  return checkedParameter(description, { type: "string", enum: refreshModes }, check);
}

const storedModes = new Set<unknown>(["false", "force_cache"]);
const refreshModes = wordsIn(
  "true false async async_except_on_cache_miss blocking force_async force_blocking force_cache lazy_async",
);

/** true or false, in any of the spellings that a body's field may have. */
export function flagParameter(description: string): Parameter<boolean | undefined> {
  const check = (text: string, path: string[]) => checkFlag(text, path, false) === true;
  return checkedParameter(description, { type: "boolean" }, check);
}

export function referenceParameter(description: string): Parameter<number | undefined> {
  return integerParameter(description, { minimum: 0, maximum: 2_147_483_647 });
}

export function integerParameter(description: string, bounds: { minimum?: number; maximum?: number }) {
  const check = (text: string, path: string[]) => checkInteger(bounds, text, path);
  return checkedParameter(description, { type: "integer", ...bounds }, check);
}

/** `limit`; `rowsDefault`: how many rows are listed without it. */
export function limitParameter(rows: string, rowsDefault: number = limits.pageDefault): Parameter<number> {
  const bounds = { minimum: 1, maximum: httpLimits.pageMax, default: rowsDefault };
  return numberParameter(`${rows} on the page.`, bounds);
}

export function pageParameters(rows: string, rowsDefault?: number) {
  const bounds = { minimum: 0, maximum: httpLimits.pageOffsetMax, default: 0 };
  return { limit: limitParameter(rows, rowsDefault), offset: numberParameter(`${rows} to skip.`, bounds) };
}

export function numberParameter(
  description: string,
  bounds: { minimum: number; maximum: number; default: number },
): Parameter<number> {
  const read = (query: URLSearchParams, name: string) => {
    const text = query.get(name);
    return text === null ? bounds.default : checkInteger(bounds, text, [name]);
  };
  return { description, schema: { type: "integer", ...bounds }, read };
}

export function requiredTextParameter(description: string): Parameter<string> {
  return parameter(`Required: ${description}`, readRequiredText);
}

/** @throws Fault required */
export function readRequiredText(query: URLSearchParams, name: string): string {
  const text = query.get(name);
  if (!text) throw fieldFault("required", "This query parameter is required.", [name]);
  refuseUnstorable(text, [name]);
  return text;
}

/**
 * The time in the query key `name`; undefined when it is absent. A time without a zone is of the project's.
 * @throws Fault invalid_input with `name` as its attr.
 */
function readMoment(query: URLSearchParams, name: string, today: Today, side: DateSide = "exact") {
  const text = query.get(name)?.trim();
  if (text === undefined) return undefined;
  const moment = parseDate(text, today, side);
  if (moment === undefined) throw new Fault("invalid_input", wrongMoment, { attr: name });
  return moment;
}

const wrongMoment =
  "Datetime has wrong format. Use one of these formats instead: " +
  "YYYY-MM-DD, YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z], " +
  "or relative like -7d, dStart, -1mEnd (units s, M for minutes, h, d, w, m, q, y).";
