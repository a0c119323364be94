// Breakdowns of the lines of a trend and the persons of a funnel: up to three properties of events, persons, groups and
// sessions, or expressions of SQL.

import { requireScopes } from "../../access/scope.ts";
import { refuseInput } from "../../core/fault.ts";
import { ownEventKeys } from "../../storage/events/property_check.ts";
import { findRefusal, sessionExpressions } from "../../storage/events/session_property.ts";
import { queryLimits } from "../limits.ts";
import { noValue, otherValues, type TrendLine } from "../result.ts";
import type { QueryContext } from "../store.ts";
import { isGiven } from "./figure.ts";
import type { BreakdownFilter } from "./model.ts";

interface BreakdownPart {
  /** Its name; of type hogql the expression. */
  property: string;
  type: "event" | "person" | "group" | "session" | "hogql";
  /** The name of `property` in a fault. */
  attr: string;
  /** A group's index of its type. */
  typeIndex: number;
  /** Whether addresses are one value whatever stands at their end: a slash, ? or #. */
  isNormalized: boolean;
  /** Into how many equal ranges its numbers are divided; 0: by value. */
  bins: number;
  /** The starts of the ranges, and what they are called. */
  ranges?: { starts: number[]; names: string[] };
}

export interface Breakdown {
  parts: BreakdownPart[];
  /** Values that get a line of their own. */
  limit: number;
  /** Whether all others get one together. */
  other: boolean;
  /** Whether values are shown as lists: those of `breakdowns`, also of one. */
  isList: boolean;
}

/** @throws Fault for what is no breakdown. */
export function readBreakdown(
  { breakdownFilter: filter }: { breakdownFilter?: BreakdownFilter },
  attr: string,
  limit: number = queryLimits.breakdownValuesDefault,
): Breakdown | undefined {
  if (!filter) return undefined;
  const { breakdown, breakdowns, breakdown_type, breakdown_group_type_index } = filter;
  const { breakdown_histogram_bin_count: histogram_bin_count, breakdown_normalize_url: normalize_url } =
    filter;
  const field = `${attr}__breakdownFilter__${isGiven(breakdowns) ? "breakdowns" : "breakdown"}`;
  const group_type_index = breakdown_group_type_index;
  const older = { type: breakdown_type, group_type_index, histogram_bin_count, normalize_url };
  const named: unknown[] = Array.isArray(breakdown) ? breakdown : isGiven(breakdown) ? [breakdown] : [];
  const list = isGiven(breakdowns) ? breakdowns! : named.map((property) => ({ property, ...older }));
  if (list.length === 0) return undefined;
  if (list.length > queryLimits.breakdownPartsMax)
    refuseInput(`A query is broken down by ${queryLimits.breakdownPartsMax} properties at most.`, field);
  const parts = list.map(({ property, type, group_type_index: typeIndex, ...part }, i): BreakdownPart => {
    const at = isGiven(breakdowns) ? `${field}__${i}__property` : field;
    if (typeof property !== "string" || property.includes("\0"))
      return refuseInput("Not a valid property name.", field);
    if (type === "session" && !Object.hasOwn(sessionExpressions, property)) {
      const known = Object.keys(sessionExpressions).join(", ");
      refuseInput(`"${property.slice(0, 100)}" is not supported of a session; ${known} are.`, at);
    }
    if (type === "event_metadata" && !ownEventKeys.includes(property))
      refuseInput(`An event itself has ${ownEventKeys.join(", ")} only.`, at);
    const refusal = !type || type === "event" || type === "person" ? findRefusal(property) : undefined;
    if (refusal) refuseInput(refusal, at);
    if (property.length > queryLimits.expressionCharsMax)
      refuseInput(
        `Ensure this field has no more than ${queryLimits.expressionCharsMax} characters.`,
        at,
        "max_length",
      );
    if (type === "group" && typeof typeIndex !== "number")
      refuseInput("A breakdown by a group's property needs a group type.", field, "required");
    return {
      property,
      // A column of events is an expression.
      type: type === "event_metadata" ? "hogql" : (type ?? "event"),
      attr: at,
      typeIndex: typeIndex ?? 0,
      isNormalized: part.normalize_url === true,
      bins: part.histogram_bin_count ?? 0,
    };
  });
  return {
    parts,
    limit: Math.min(filter.breakdown_limit ?? limit, Math.max(limit, queryLimits.breakdownValuesMax)),
    other: filter.breakdown_hide_other_aggregation !== true,
    isList: isGiven(breakdowns) || list.length > 1,
  };
}

/** So many equal ranges from the smallest number to the largest, which is in the last one: PostHog's names. */
export function divideRange(low: number, high: number, bins: number): BreakdownPart["ranges"] {
  const start = (i: number) => low + ((high - low) / bins) * i;
  const starts = Array.from({ length: bins }, (_, i) => start(i));
  const end = (i: number) => (i === bins - 1 ? high + 0.01 : start(i + 1));
  return { starts, names: starts.map((from, i) => `[${from},${end(i)}]`) };
}

/** @throws Fault for a key that may not read whose properties these are, as SQL does. */
export function requireBreakdownScopes({ scopes }: QueryContext, { parts }: Breakdown): void {
  const required = parts.flatMap(({ type }) =>
    type === "person" || type === "group" ? [`${type}:read` as const] : [],
  );
  requireScopes(scopes, required);
}

/** Returns what valuesShown() made a value of; undefined for all others, and for another number of values. */
export function toStoredValue({ parts }: Breakdown, texts: readonly string[]): string | null | undefined {
  if (texts.length !== parts.length || texts.includes(otherValues)) return undefined;
  const values = texts.map((item) => (item === noValue ? null : item));
  return parts.length === 1 ? values[0] : JSON.stringify(values);
}

/** The value of each line as the reply shows it; the last line is all others. @param values as breakdownRows(). */
export function valuesShown(
  { parts, other, isList }: Breakdown,
  { values, more }: { values: readonly (string | null)[]; more: boolean },
): (string | string[])[] {
  const lines = values.map((value) => {
    if (parts.length === 1) return isList ? [value ?? noValue] : (value ?? noValue);
    return (JSON.parse(value ?? "[]") as (string | null)[]).map((item) => item ?? noValue);
  });
  return more && other ? [...lines, isList ? parts.map(() => otherValues) : otherValues] : lines;
}

type ValueLine = Pick<TrendLine, "breakdown_value" | "aggregated_value" | "count">;

/** As at PostHog the largest is first, those without a value after those of values, that of all others the last. */
export function compareLines(a: ValueLine, b: ValueLine): number {
  const place = (line: ValueLine) =>
    Math.max(...[line.breakdown_value].flat().map((item) => [noValue, otherValues].indexOf(item ?? "") + 1));
  const size = (line: ValueLine) => line.aggregated_value ?? line.count;
  const name = (line: ValueLine) => String(line.breakdown_value);
  return place(a) - place(b) || size(b) - size(a) || (name(a) < name(b) ? -1 : Number(name(a) > name(b)));
}

export function shownBreakdown(value: string | string[]): string {
  if (Array.isArray(value)) return value.map(shownBreakdown).join("::");
  return value === noValue ? "None" : value === otherValues ? "Other" : value;
}
