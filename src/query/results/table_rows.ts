// The rows of an answer in SQL, as JSON shows them: numbers keep all their digits, and moments have the offset of their
// column's zone, as at PostHog. The engine writes whole numbers of any length as numbers, and moments in UTC.

import { Fault } from "../../core/fault.ts";
import { readReplyRows } from "../../storage/clickhouse/read.ts";
import { queryLimits } from "../limits.ts";

export interface SqlTableRows {
  /** ClickHouse's types of the columns. */
  types: string[];
  rows: unknown[][];
}

/** Settings with which the engine writes what is read here. */
export const tableRowSettings = {
  date_time_output_format: "iso",
  output_format_json_quote_64bit_integers: 0,
  output_format_json_named_tuples_as_objects: 0,
} as const;

/**
 * @param answer in JSONCompactEachRowWithNamesAndTypes.
 * @throws Fault for a row of more values than are read in one turn of the event loop.
 */
export async function readTableRows(answer: Uint8Array): Promise<SqlTableRows> {
  const bytes = Buffer.from(answer.buffer, answer.byteOffset, answer.length);
  const typesFrom = bytes.indexOf(newLine) + 1;
  const rowsFrom = bytes.indexOf(newLine, typesFrom) + 1;
  if (typesFrom === 0 || rowsFrom === 0) throw new Error("a table has no line of types");
  const types = JSON.parse(bytes.toString("utf8", typesFrom, rowsFrom)) as string[];
  const long = types.some((type) => type.includes("Decimal")) ? longDecimal : longInteger;
  let valuesLeft = 0;
  const spend = (): void => {
    if (--valuesLeft < 0) throw tooManyValues();
  };
  const converters = types.map((type) => shownAs(type, spend));
  const { sqlSliceBytes, sqlShownValuesMax } = queryLimits;
  const parse = (text: string): unknown[][] => {
    refuseManyValues(text);
    valuesLeft = sqlShownValuesMax;
    const some = (long.test(text) ? JSON.parse(text, withAllDigits(spend)) : JSON.parse(text)) as unknown[][];
    // A moment takes twice the time.
    valuesLeft = sqlShownValuesMax / 2;
    for (const row of some) for (const [i, show] of converters.entries()) if (show) row[i] = show(row[i]);
    return some;
  };
  return { types, rows: await readReplyRows(new Response(bytes.subarray(rowsFrom)), parse, sqlSliceBytes) };
}

/** Text beyond a slice's bytes belongs to its last row. */
function refuseManyValues(text: string): void {
  let count = 0;
  for (let at = queryLimits.sqlSliceBytes; (at = text.indexOf(",", at) + 1) > 0;)
    if (++count > queryLimits.sqlRowValuesMax) throw tooManyValues();
}

function tooManyValues(): Fault {
  const detail = "A row of the answer has too many values. Give each a row of its own, as arrayJoin() does.";
  return new Fault("invalid_input", detail, { attr: "query" });
}

const newLine = 0x0a;

/** Texts that may have a number with more digits than JavaScript keeps; others are parsed five times faster. */
const longInteger = /(?:^|[^.\d])\d{16}/;
const longDecimal = /\d[\d.]{15}/;

type Reviver = (key: string, value: unknown) => unknown;

/** A number that JavaScript would change becomes its original text, which JSON.stringify() writes again. */
function withAllDigits(spend: () => void): Reviver {
  const revive = (_key: string, value: unknown, { source }: { source?: string }): unknown => {
    spend();
    if (typeof value !== "number" || source === undefined || String(value) === source) return value;
    return (source.match(digit)?.length ?? 0) > 15 ? json.rawJSON(source) : value;
  };
  return revive as Reviver;
}

/** The value of a JSON text; numbers keep all their digits when they are written again. */
export function exactJson(text: string): unknown {
  const reviver = longDecimal.test(text) ? withAllDigits(() => {}) : undefined;
  return JSON.parse(text, reviver);
}

const digit = /\d/g;
// TypeScript's own types do not have it yet.
const json = JSON as typeof JSON & { rawJSON(text: string): object };

type Show = (value: unknown) => unknown;

/** How values of a type are shown; undefined where they stay as the engine wrote them. */
function shownAs(type: string, spend: () => void): Show | undefined {
  const open = type.indexOf("(");
  if (open < 0) return undefined;
  const name = type.slice(0, open);
  const parts = splitParts(type.slice(open + 1, -1));
  const inner = parts.map((part) => shownAs(name === "Tuple" ? part.replace(elementName, "") : part, spend));
  if (name === "DateTime" || name === "DateTime64") return momentShown(parts.at(-1)!, spend);
  if (name === "Nullable" || name === "LowCardinality") return inner[0];
  if (!["Array", "Map", "Tuple"].includes(name) || !inner.some(Boolean)) return undefined;
  const shown = (value: unknown, i: number): unknown => {
    const show = name === "Tuple" ? inner[i] : inner.at(-1);
    return show ? show(value) : value;
  };
  return (value) => {
    if (Array.isArray(value)) return value.map(shown);
    // A map.
    const members = Object.entries(value as object).map(([key, item], i) => [key, shown(item, i)]);
    return Object.fromEntries(members) as unknown;
  };
}

/** Matches an element of a tuple: `name Type`. */
const elementName = /^(?:`(?:[^`\\]|\\.)*`|\w+) /;

/** The arguments of a type, without the blanks between them. */
function splitParts(text: string): string[] {
  const parts = [""];
  let [depth, quote] = [0, ""];
  for (let at = 0; at < text.length; at++) {
    // An escaped letter ends no quote.
    const letter = text[at] === "\\" ? text.slice(at, ++at + 1) : text[at]!;
    if (quote === letter) quote = "";
    else if (quote === "" && (letter === "'" || letter === "`")) quote = letter;
    else if (quote === "") depth += letter === "(" ? 1 : letter === ")" ? -1 : 0;
    if (letter === "," && depth === 0 && quote === "") parts.push("");
    else parts.push(parts.pop()! + letter);
  }
  return parts.map((part) => part.trim());
}

/** Zones change their offset at quarters of an hour. */
const quarterMs = 900_000;

/** Moments of a zone with its offset. @param quoted the zone of a type; for a type without one, a number or nothing. */
function momentShown(quoted: string, spend: () => void): Show | undefined {
  const zone = quoted.startsWith("'") ? quoted.slice(1, -1) : "UTC";
  if (zone === "UTC") return undefined;
  const offsets = new Map<number, string>();
  const offsetAt = (ms: number): string => {
    const quarter = Math.floor(ms / quarterMs);
    const cached = offsets.get(quarter);
    if (cached !== undefined) return cached;
    const { offset } = Temporal.Instant.fromEpochMilliseconds(quarter * quarterMs).toZonedDateTimeISO(zone);
    offsets.set(quarter, offset);
    return offset;
  };
  try {
    offsetAt(0);
  } catch {
    // A zone that only the engine knows.
    return undefined;
  }
  return (text) => {
    if (typeof text !== "string") return text;
    spend();
    const ms = Date.parse(`${text.slice(0, 19)}Z`);
    const offset = offsetAt(ms);
    // Local mean time, before zones were whole minutes apart, has no offset in ISO 8601.
    if (offset.length > 6) return text;
    const ahead = (Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4))) * 60_000;
    const local = new Date(ms + (offset.startsWith("-") ? -ahead : ahead)).toISOString();
    return `${local.slice(0, 19)}${text.slice(19, -1)}${offset}`;
  };
}
