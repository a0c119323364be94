// Trends, asked of ClickHouse: one series over time, as numbers by bucket and breakdown value. Never shapes a
// reply.

import { type PropertyFilter, propertyText } from "../../storage/events/property_filter.ts";
import type { Series } from "../checked.ts";
import { later, type DateSpan } from "../date_range.ts";
import type { EventsNode, Interval, Math } from "../model.ts";
import {
  type QueryAsk,
  bucketIndex,
  type Draft,
  draftOf,
  filtering,
  matching,
  propertyNumber,
  source,
  within,
} from "../store.ts";

/** One line, or one line for every value of a property. */
export interface TrendQuestion {
  project_id: number;
  now: number;
  timezone: string;
  series: Series;
  filters: PropertyFilter[];
  span: DateSpan;
  /** undefined: one number for the whole span. */
  buckets: { interval: Interval; first: Temporal.ZonedDateTime; count: number } | undefined;
  breakdown: { property: string; values: readonly (string | null)[]; other: boolean } | undefined;
}

/** Value `place` of the breakdown; its length stands for all others. */
export interface TrendRow {
  bucket: number;
  place: number;
  value: number | null;
}

const quantiles: Partial<Record<Math, number>> = { median: 0.5, p75: 0.75, p90: 0.9, p95: 0.95, p99: 0.99 };
const personal: ReadonlySet<Math> = new Set<Math>([
  "dau",
  "weekly_active",
  "monthly_active",
  "first_time_for_user",
  "first_matching_event_for_user",
]);

export async function trendRows(ask: QueryAsk, asked: TrendQuestion): Promise<TrendRow[]> {
  const { series, buckets } = asked;
  const { math } = series;
  if ((math === "weekly_active" || math === "monthly_active") && buckets) {
    return await activeRows(ask, asked, buckets, math === "weekly_active" ? 7 : 30);
  }
  const draft = draftOf(asked.project_id, asked.now, asked.timezone);
  const from = rowsOf(draft, asked, math);
  const bucket = buckets ? bucketIndex(draft, buckets.interval, buckets.first) : "0";
  const { place, only } = breakdownPlace(draft, asked);
  return await ask<TrendRow>(
    `SELECT toInt32(${bucket}) AS bucket, toInt32(${place}) AS place,
       toFloat64(${aggregate(draft, math, series.node)}) AS value
     FROM ${from}${only} GROUP BY bucket, place`,
    draft.params,
  );
}

/** The values of a breakdown that have the most events, and whether there are others. */
export async function breakdownValues(
  ask: QueryAsk,
  asked: Omit<TrendQuestion, "breakdown">,
  property: string,
  limit: number,
): Promise<{ values: (string | null)[]; more: boolean }> {
  const draft = draftOf(asked.project_id, asked.now, asked.timezone);
  const from = rowsOf(draft, asked, asked.series.math);
  draft.params["breakdown"] = property;
  draft.params["limit"] = limit + 1;
  const rows = await ask<{ value: string | null }>(
    `SELECT ${propertyText("{breakdown:String}")} AS value
     FROM ${from} GROUP BY value ORDER BY count() DESC, value LIMIT {limit:UInt32}`,
    draft.params,
  );
  return { values: rows.slice(0, limit).map(({ value }) => value), more: rows.length > limit };
}

/** What follows FROM: the events a series is about, or each person's first one. */
function rowsOf(
  draft: Draft,
  { series, filters, span }: Pick<TrendQuestion, "series" | "filters" | "span">,
  math: Math,
): string {
  const span_condition = within(draft, span);
  const all = { ...series, filters: [...filters, ...series.filters] };
  if (math !== "first_time_for_user" && math !== "first_matching_event_for_user") {
    const withPersons = personal.has(math) || (math === "unique" && !series.node.math_property);
    return `${source(all.filters, withPersons)} WHERE ${span_condition} AND ${matching(draft, all)}`;
  }
  const matched = math === "first_matching_event_for_user";
  const which = matching(draft, matched ? all : { event: series.event, filters: [] });
  const kept = matched ? "1" : filtering(draft, all.filters);
  // Since ever: whoever did it before the span did not do it for the first time in it.
  return `(
       SELECT project_id, person_id, first_event.1 AS timestamp, first_event.2 AS properties FROM (
         SELECT project_id, person_id, argMin((timestamp, properties), (timestamp, uuid)) AS first_event
         FROM events
         WHERE project_id = {project_id:UInt32} AND timestamp < toDateTime64({to:String}, 6, 'UTC') AND ${which}
         GROUP BY project_id, person_id)
     ) WHERE ${span_condition} AND ${kept}`;
}

function breakdownPlace(draft: Draft, { breakdown }: TrendQuestion): { place: string; only: string } {
  if (!breakdown) return { place: "0", only: "" };
  const { property, values, other } = breakdown;
  draft.params["breakdown"] = property;
  draft.params["values"] = values.filter((value) => value !== null);
  const value = propertyText("{breakdown:String}");
  // Absent and null values have a place of their own, or are among the others.
  const none = values.indexOf(null);
  const others = values.length;
  const found = `indexOf({values:Array(String)}, assumeNotNull(${value}))`;
  // Those behind the place of no value moved up by one when it was taken out of the list.
  const shifted = none === -1 ? `${found} - 1` : `${found} - if(${found} <= ${none}, 1, 0)`;
  const place = `multiIf(${value} IS NULL, ${none === -1 ? others : none}, ${found} = 0, ${others}, ${shifted})`;
  return { place, only: other ? "" : ` AND ${place} < ${others}` };
}

function aggregate(
  draft: Draft,
  math: Math,
  { math_property: property, math_group_type_index: place }: EventsNode,
): string {
  const quantile = quantiles[math];
  if (quantile !== undefined) {
    return `quantileExactInclusive(${quantile})(${propertyNumber(draft, property ?? "")})`;
  }
  switch (math) {
    case "dau":
    case "weekly_active":
    case "monthly_active":
      return "uniqExact(person_id)";
    case "unique_session":
      return `uniqExact(nullIf(${propertyText("'$session_id'")}, ''))`;
    case "unique_group":
      draft.params["group_place"] = place ?? 0;
      return `uniqExact(nullIf(group_keys[indexOf(group_types, (
        SELECT any(group_type) FROM group_types
        WHERE project_id = {project_id:UInt32} AND place = {group_place:UInt8}))], ''))`;
    case "unique":
      if (!property) return "uniqExact(person_id)";
      draft.params["math_property"] = property;
      return `uniqExact(${propertyText("{math_property:String}")})`;
    case "sum":
    case "avg":
    case "min":
    case "max":
      return `${math}(${propertyNumber(draft, property ?? "")})`;
    default:
      return "count()";
  }
}

/** Persons active on a day or in the days before it. */
async function activeRows(
  ask: QueryAsk,
  { project_id, now, timezone, series, filters, span }: TrendQuestion,
  buckets: NonNullable<TrendQuestion["buckets"]>,
  days: number,
): Promise<TrendRow[]> {
  const draft = draftOf(project_id, now, timezone);
  const reach = { from: later("day", buckets.first, 1 - days), to: span.to };
  const day = bucketIndex(draft, "day", buckets.first);
  const all = { ...series, filters: [...filters, ...series.filters] };
  const where = `${within(draft, reach)} AND ${matching(draft, all)}`;
  draft.params["days"] = days;
  draft.params["count"] = buckets.count;
  return await ask<TrendRow>(
    `SELECT bucket, 0 AS place, toFloat64(uniqExact(person_id)) AS value FROM (
       SELECT person_id, arrayJoin(range(greatest(day, 0), least(day + {days:Int32}, {count:Int32}))) AS bucket
       FROM (SELECT DISTINCT person_id, toInt32(${day}) AS day FROM events WHERE ${where})
     ) GROUP BY bucket`,
    draft.params,
  );
}
