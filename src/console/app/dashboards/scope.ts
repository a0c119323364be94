// A range and filters that a dashboard's page sets for all of its tiles, and what becomes of each tile's query.

import {
  type Condition,
  conditionAddress,
  readAddressConditions,
  toProperties,
} from "../filters/conditions.ts";
import { unwrapQuery } from "../values.ts";

export interface Scope {
  /** The range in the API's form; "" leaves each insight its own. */
  range: string;
  /** The last day of a range that begins with a day; "" for today. */
  to: string;
  conditions: Condition[];
  withoutOwn: boolean;
}

export function readScope(query: URLSearchParams): Scope {
  const conditions = readAddressConditions(query.getAll("where"));
  const withoutOwn = query.get("tests") === "false";
  return { range: query.get("range") ?? "", to: query.get("to") ?? "", conditions, withoutOwn };
}

export function scopeAddress({ range, to, conditions, withoutOwn }: Scope): string {
  const query = new URLSearchParams();
  if (range !== "") query.set("range", range);
  if (to !== "") query.set("to", to);
  for (const item of conditions) query.append("where", conditionAddress(item));
  if (withoutOwn) query.set("tests", "false");
  return query.toString();
}

/** Kinds of queries with a range; and those whose range has an end, from which intervals are counted back. */
const ranged = new Set(
  "TrendsQuery FunnelsQuery LifecycleQuery StickinessQuery PathsQuery WebOverviewQuery WebStatsTableQuery".split(
    " ",
  ),
);

/**
 * The query that is sent, undefined where it stays as it was saved; and in words, which part of the scope is left out.
 * @param saved the query of an insight, with the nodes around it.
 */
export function scopedQuery(saved: unknown, { range, to, conditions, withoutOwn }: Scope) {
  const query = unwrapQuery(saved);
  const properties = toProperties(conditions);
  const isRetention = query["kind"] === "RetentionQuery";
  const isRanged = ranged.has(String(query["kind"]));
  const takesRange = range !== "" && isRanged;
  const isFiltered = isRanged || isRetention;
  const takesFilters = properties.length > 0 && isFiltered;
  const without = [
    range !== "" && !isRanged && "the range",
    properties.length > 0 && !takesFilters && "the filters",
    withoutOwn && !isFiltered && "leaving out own visits",
  ].filter((item) => item !== false);
  if (!takesRange && !takesFilters && !(withoutOwn && isFiltered))
    return { query: undefined, without: without.join(" and ") };
  const scoped = {
    ...query,
    ...(takesRange && { dateRange: { date_from: range, ...(to !== "" && { date_to: to }) } }),
    ...(takesFilters && { properties: joined(query["properties"], properties) }),
    ...(withoutOwn && { filterTestAccounts: true }),
  };
  return { query: scoped, without: without.join(" and ") };
}

/** The filters of a query, a list or groups, and those of the page: all must hold. */
function joined(filters: unknown, added: readonly object[]): unknown {
  const isList = filters === undefined || filters === null || Array.isArray(filters);
  if (isList) return [...((filters as unknown[] | null | undefined) ?? []), ...added];
  return { type: "AND", values: [filters, { type: "AND", values: added }] };
}
