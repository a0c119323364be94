// The part of a statement that reads the values of its breakdown.

import { groupKeyAt, groupTypeAt } from "../../storage/events/event_columns.ts";
import { eventPropertyText, propertyText, sessionOfEvent } from "../../storage/events/property_filter.ts";
import { sessionExpressions } from "../../storage/events/session_property.ts";
import { queryLimits } from "../limits.ts";
import { type Draft, finiteNumber } from "../store.ts";
import type { Breakdown } from "./breakdown.ts";

export function needsPersons({ parts }: Breakdown): boolean {
  return parts.some(({ type }) => type === "person");
}

/**
 * The rows with what the breakdown reads, and the text of its value: null where one property is missing or empty, of
 * several a JSON list of texts and nulls.
 * @param rows the text after FROM, with its WHERE.
 * @returns from: the same; conditions follow it with AND.
 */
export function breakdownRows(draft: Draft, rows: string, { parts }: Breakdown) {
  const keys: string[] = [];
  const joins: string[] = [];
  const values = parts.map(({ property, type, typeIndex }, i) => {
    if (type === "hogql") return draft.expressions!.value(property);
    const joined = (key: string, owner: string, of: string, owners: string): string => {
      joins.push(`LEFT ANY JOIN (
        SELECT ${owner} AS owner_${i}, ${of} AS value_${i} FROM ${owners}
      ) AS b${i} ON e.${key} = b${i}.owner_${i}`);
      return `b${i}.value_${i}`;
    };
    const ofProject = "WHERE project_id = {project_id:UInt32}";
    if (type === "session") {
      keys.push(`, ${sessionOfEvent} AS key_${i}`);
      // A moment as text is one of the project's zone.
      const text = sessionExpressions[property]!.replace(/\((\w+_time)\)/, "(toTimeZone($1, {tz:String}))");
      const value = `nullIf(${text}, '')`;
      return joined(`key_${i}`, "session_id", value, `sessions ${ofProject}`);
    }
    draft.params[`breakdown_${i}`] = property;
    const key = `{breakdown_${i}:String}`;
    if (type === "event") return eventPropertyText(property, key);
    const text = propertyText(key);
    if (type === "person") return joined("person_id", "person_id", text, `persons ${ofProject}`);
    draft.params[`place_${i}`] = typeIndex;
    const at = `{place_${i}:UInt8}`;
    keys.push(`, ${groupKeyAt(at)} AS key_${i}`);
    const groups = `groups ${ofProject} AND group_type = ${groupTypeAt(at)}`;
    return joined(`key_${i}`, "group_key", text, groups);
  });
  // An empty text counts as none, as in PostHog.
  const named = values.map((name, i) => {
    const value = `nullIf(${name}, '')`;
    // An address without a slash, ? or # at its end; the root is a slash.
    const address = `if(match(${value}, '^[/?#]+$'), '/', replaceRegexpOne(${value}, '[/?#]+$', ''))`;
    return rangeText(draft, i, parts[i]!, parts[i]!.isNormalized ? address : value);
  });
  const value = named.length === 1 ? named[0]! : `toJSONString([${named.join(", ")}])`;
  if (joins.length === 0) return { from: rows, value };
  return { from: `(SELECT *${keys.join("")} FROM ${rows}) AS e ${joins.join(" ")} WHERE 1`, value };
}

/** Whether a value of breakdownRows() is none; of several properties, whether any is. */
export function isNone(value: string, { parts }: Breakdown): string {
  if (parts.length === 1) return `${value} IS NULL`;
  return `arrayExists(item -> item IS NULL, JSONExtract(${value}, 'Array(Nullable(String))'))`;
}

/** The name of the range that a number is in, where there are some; null for what is no number. */
function rangeText(draft: Draft, i: number, { bins, ranges }: Breakdown["parts"][number], value: string) {
  // As at PostHog, only so much of a text tells it from others.
  if (bins === 0) return `leftUTF8(${value}, ${queryLimits.breakdownValueCharsMax})`;
  Object.assign(draft.params, {
    [`starts_${i}`]: ranges?.starts ?? [],
    [`ranges_${i}`]: ranges?.names ?? [],
  });
  const index = `arrayCount(start -> start <= assumeNotNull(${finiteNumber(value)}), {starts_${i}:Array(Float64)})`;
  return `if(${finiteNumber(value)} IS NULL, NULL, {ranges_${i}:Array(String)}[${index}])`;
}

/** The smallest and the largest number of a breakdown's only value; null without one. */
export async function readNumberRange(draft: Draft, rows: string, breakdown: Breakdown) {
  const { from, value } = breakdownRows(draft, rows, breakdown);
  const [range] = await draft.run<{ low: number | null; high: number | null }>(`
    SELECT minOrNull(number) AS low, maxOrNull(number) AS high
    FROM (SELECT ${finiteNumber(value)} AS number FROM ${from})`);
  return range!;
}

/** The values that get a line of their own, by breakdownRows(). */
export interface BreakdownLines extends Breakdown {
  values: readonly (string | null)[];
}

export type AnyBreakdown = Breakdown | BreakdownLines;

/** The index of a row's line; the number of values means all others. @param value an expression. */
export function breakdownLine(draft: Draft, value: string, { values }: BreakdownLines): string {
  draft.params["values"] = values.filter((item) => item !== null);
  // Missing and null values have a line of their own when they are in the list; else they are among the others.
  const nullIndex = values.indexOf(null);
  const last = values.length;
  const index = `indexOf({values:Array(String)}, assumeNotNull(${value}))`;
  // Null is not in the array: the values after it are one index lower there.
  const shifted = nullIndex === -1 ? `${index} - 1` : `${index} - if(${index} <= ${nullIndex}, 1, 0)`;
  return `multiIf(${value} IS NULL, ${nullIndex === -1 ? last : nullIndex}, ${index} = 0, ${last}, ${shifted})`;
}
