// The statements of trends: one series over time, as numbers by bucket and breakdown value.

import { Fault } from "../../core/fault.ts";
import { quoteName } from "../../storage/clickhouse/statement.ts";
import { propertyColumns } from "../../storage/events/event_columns.ts";
import { sessionOfEvent } from "../../storage/events/property_filter.ts";
import { queryLimits } from "../limits.ts";
import { type Breakdown, divideRange } from "../parts/breakdown.ts";
import {
  breakdownLine,
  type BreakdownLines,
  breakdownRows,
  isNone,
  needsPersons,
  readNumberRange,
} from "../parts/breakdown_store.ts";
import type { PersonStatement, Series } from "../parts/figure.ts";
import type { Math } from "../parts/model.ts";
import { Draft } from "../store.ts";
import { countsGroups, countsSessions, furtherNumber, isOfPersons } from "./check.ts";
import { activeDays, type TrendScope, windowStart } from "./scope.ts";

/** `line`: the index of the breakdown's value; the number of values means all others. */
export interface TrendRow {
  bucket: number;
  line: number;
  value: number | null;
}

const quantiles: Partial<Record<Math, number>> = { median: 0.5, p75: 0.75, p90: 0.9, p95: 0.95, p99: 0.99 };

/** Whether the math is of persons, or of how many events each has. */
const countsPersons = ({ math, node }: Series): boolean =>
  /^dau$|_active$|^first_|_per_actor$/.test(math) || (math === "unique" && !node.math_property);

/** The numbers of one series, by bucket and line. @throws Fault when the query is too heavy. */
export async function trendRows(scope: TrendScope, breakdown: BreakdownLines | undefined) {
  const draft = new Draft(scope.context);
  return await draft.run<TrendRow>(selectNumbers(draft, scope, breakdown));
}

/** Selects `bucket`, `line` and `value`. @param breakdown without lines: `line` is the breakdown's value. */
function selectNumbers(draft: Draft, scope: TrendScope, breakdown: Breakdown | BreakdownLines | undefined) {
  const active = activeText(draft, scope, breakdown);
  if (active) {
    const { from, line, condition } = active;
    return `
      SELECT bucket, ${line} AS line, toFloat64(uniqExact(person_id)) AS value
      FROM ${from}${condition} GROUP BY bucket, line`;
  }
  const { from, line, condition } = rowsWithLines(draft, selectRows(draft, scope, breakdown), breakdown);
  if (scope.isCumulative) {
    const actor = actorText(draft, scope.series);
    return `
      SELECT bucket, line, toFloat64(count()) AS value FROM (
        SELECT toInt32(min(${selectBucket(draft, scope)})) AS bucket, ${line} AS line, ${actor} AS actor
        FROM ${from}${condition} GROUP BY actor, line HAVING actor IS NOT NULL)
      GROUP BY bucket, line`;
  }
  const [math, ofCounts] = scope.series.math.split("_count_per_");
  if (ofCounts) {
    return `
      SELECT bucket, line, toFloat64(${aggregateName(math!)}(events)) AS value FROM (
        SELECT toInt32(${selectBucket(draft, scope)}) AS bucket, ${line} AS line, count() AS events
        FROM ${from}${condition} GROUP BY bucket, line, person_id)
      GROUP BY bucket, line`;
  }
  return `
    SELECT toInt32(${selectBucket(draft, scope)}) AS bucket, ${line} AS line,
      toFloat64(${aggregate(draft, scope.series)}) AS value
    FROM ${from}${condition} GROUP BY bucket, line`;
}

/** The values of a breakdown that rank first, whether there are more, and the numbers of each. */
export interface BreakdownTrend {
  values: (string | null)[];
  more: boolean;
  rows: TrendRow[];
}

/** Properties are read once where they have few values; else first for the values that rank first. */
export async function trendByBreakdown(scope: TrendScope, breakdown: Breakdown): Promise<BreakdownTrend> {
  const { math } = scope.series;
  // Not every SQL aggregate has states, and finding persons' first events is as much work as the rest.
  const mayReadOnce =
    !/^hogql$|^first_|_per_actor$/.test(math) &&
    furtherNumber(scope.series.node) === undefined &&
    !scope.isCumulative &&
    activeDays[math] === undefined &&
    (await hasFewValues(scope, breakdown));
  const onePass = mayReadOnce ? await readOnce(scope, breakdown).catch(unlessHeavy) : undefined;
  if (onePass) return onePass;
  const top = await breakdownValues(scope, breakdown);
  return { ...top, rows: await trendRows(scope, { ...breakdown, values: top.values }) };
}

/** The breakdown with the ranges into which the numbers of these events are divided. */
export async function withRanges(scope: TrendScope, breakdown: Breakdown): Promise<Breakdown> {
  const parts = [...breakdown.parts];
  for (const [i, part] of parts.entries()) {
    if (part.bins === 0) continue;
    const draft = new Draft(scope.context);
    const only = { ...breakdown, parts: [{ ...part, bins: 0 }] };
    const { low, high } = await readNumberRange(draft, selectRows(draft, withoutPersons(scope), only), only);
    const ranges = low === null || high === null ? undefined : divideRange(low, high, part.bins);
    parts[i] = { ...part, ...(ranges && { ranges }) };
  }
  return { ...breakdown, parts };
}

/** Later events may have many more values: then there are two passes. */
function unlessHeavy(thrown: unknown): undefined {
  if (!(thrown instanceof Fault) || thrown.code !== "invalid_input") throw thrown;
}

/** Whether the first events that are read have few values: then few states are needed. */
async function hasFewValues(scope: TrendScope, breakdown: Breakdown): Promise<boolean> {
  const draft = new Draft(scope.context);
  const events = selectRows(draft, withoutPersons(scope), breakdown);
  const { from, value } = breakdownRows(draft, events, breakdown);
  const [{ few } = { few: 0 }] = await draft.run<{ few: number }>(`
    SELECT uniqExact(value) <= ${queryLimits.breakdownValuesHeldMax} AS few
    FROM (SELECT ${value} AS value FROM ${from} LIMIT ${queryLimits.breakdownEventsSeen})`);
  return Boolean(few);
}

async function readOnce(scope: TrendScope, breakdown: Breakdown): Promise<BreakdownTrend> {
  const { limit, other } = breakdown;
  const draft = new Draft(scope.context);
  const { from, value } = breakdownRows(draft, selectRows(draft, scope, breakdown), breakdown);
  const text = aggregate(draft, scope.series);
  const [, aggregateName, parameters = "", argument] = /^(\w+)(\([\d.]+\))?\((.*)\)$/s.exec(text)!;
  const rows = await draft.run<TrendRow & { name: string | null }>(`
    SELECT bucket, toInt32(least(place, ${limit + 1}) - 1) AS line, any(breakdown_value) AS name,
      toFloat64(${aggregateName}Merge${parameters}(state)) AS value
    FROM (
      SELECT bucket, breakdown_value, state,
        dense_rank() OVER (ORDER BY ${rankOrder(scope, breakdown, "breakdown_value", "total")}) AS place
      FROM (
        SELECT bucket, breakdown_value, state,
          sum(toFloat64(finalizeAggregation(state))) OVER (PARTITION BY breakdown_value) AS total
        FROM (
          SELECT toInt32(${selectBucket(draft, scope)}) AS bucket, ${value} AS breakdown_value,
            ${aggregateName}State${parameters}(${argument}) AS state
          FROM ${from} GROUP BY bucket, breakdown_value
        )
      )
    )
    ${other ? "" : `WHERE place <= ${limit}`} GROUP BY bucket, line`);
  const values: (string | null)[] = [];
  for (const { line, name } of rows) if (line < limit) values[line] = name;
  return { values, more: rows.some(({ line }) => line === limit), rows };
}

/**
 * The order of values as at PostHog: by what the numbers of their line add up to, the largest first; over time, those
 * without a value are after all others.
 */
function rankOrder({ buckets }: TrendScope, breakdown: Breakdown, value: string, total: string): string {
  const number = buckets ? `${isNone(value, breakdown)}, ifNull(${total}, 0)` : total;
  return `${number} DESC NULLS LAST, ${value} NULLS FIRST`;
}

/** The values of a breakdown that rank first, and whether there are more. */
export async function breakdownValues(scope: TrendScope, breakdown: Breakdown) {
  const { limit } = breakdown;
  const draft = new Draft(scope.context);
  draft.params["limit"] = limit + 1;
  // Events of all buckets add up: they are counted at once.
  const counted = scope.series.math === "total" ? { ...scope, buckets: undefined } : scope;
  const rows = await draft.run<{ name: string | null }>(`
    SELECT line AS name FROM (${selectNumbers(draft, counted, breakdown)})
    GROUP BY line ORDER BY ${rankOrder(scope, breakdown, "line", "sum(value)")} LIMIT {limit:UInt32}`);
  return { values: rows.slice(0, limit).map(({ name }) => name), more: rows.length > limit };
}

/** Leaves out persons where only events are counted: the join would cost more than the rest. */
function withoutPersons(scope: TrendScope): TrendScope {
  const { series } = scope;
  return series.math.startsWith("first_") ? scope : { ...scope, series: { ...series, math: "total" } };
}

function selectBucket(draft: Draft, { buckets }: TrendScope): string {
  return buckets ? draft.bucketIndex(buckets.interval, buckets.first) : "0";
}

/** The text after FROM: the events of a series, or the first one of each person. */
function selectRows(draft: Draft, { series, filters, span }: TrendScope, breakdown: Breakdown | undefined) {
  const { math } = series;
  const span_condition = draft.spanCondition(span);
  const all = { ...series, filters: [...filters, ...series.filters] };
  if (math !== "first_time_for_user" && math !== "first_matching_event_for_user") {
    const isOfEach = countsPersons(series) || isOfPersons(series.node);
    const withPersons = isOfEach || (breakdown !== undefined && needsPersons(breakdown));
    return `${draft.eventTable(all.filters, withPersons)} WHERE ${span_condition} AND ${draft.entityCondition(all)}`;
  }
  const isMatching = math === "first_matching_event_for_user";
  const candidateText = draft.entityCondition(isMatching ? all : { event: series.event, filters: [] });
  const firstText = isMatching ? "1" : draft.filterCondition(all.filters);
  // Each column is kept for every person: only those that the query names.
  const said = JSON.stringify([all, breakdown]);
  const isSaid = (name: string) =>
    said.includes(name) || (name === "$session_id" && said.includes("session"));
  const columnNames = [
    "timestamp",
    "properties",
    ...propertyColumns.filter(isSaid).map(quoteName),
    "group_types",
    "group_keys",
    ...(said.includes("event_metadata") ? ["event", "distinct_id", "uuid"] : []),
    ...(draft.expressions?.columns ?? []),
  ];
  const columns = columnNames.map((name, i) => `first_event.${i + 1} AS ${name}`).join(", ");
  // All events before the end are read: a person's first one may be before the span.
  return `(
       SELECT project_id, person_id, ${columns} FROM (
         SELECT project_id, person_id, argMin((${columnNames.join(", ")}), (timestamp, uuid)) AS first_event
         FROM ${draft.eventTable(all.filters, true)}
         WHERE project_id = {project_id:UInt32} AND timestamp < toDateTime64({to:String}, 6, 'UTC') AND ${candidateText}
         GROUP BY project_id, person_id)
     ) WHERE ${span_condition} AND ${firstText}`;
}

/** The rows, the expression of a row's line, and a condition that omits rows without a line. */
function rowsWithLines(draft: Draft, rows: string, breakdown: Breakdown | BreakdownLines | undefined) {
  if (!breakdown) return { from: rows, ...selectLine(draft, "", undefined) };
  const { from, value } = breakdownRows(draft, rows, breakdown);
  return { from, ...selectLine(draft, value, breakdown) };
}

function selectLine(draft: Draft, value: string, breakdown: Breakdown | BreakdownLines | undefined) {
  if (!breakdown) return { line: "toInt32(0)", condition: "" };
  if (!("values" in breakdown)) return { line: value, condition: "" };
  const line = `toInt32(${breakdownLine(draft, value, breakdown)})`;
  return { line, condition: breakdown.other ? "" : ` AND ${line} < ${breakdown.values.length}` };
}

function aggregate(draft: Draft, { math, node }: Series): string {
  const { math_property: property, math_hogql: hogql } = node;
  const name = aggregateName(math);
  const text = furtherNumber(node);
  const own = text === undefined ? draft.propertyNumber(property ?? "") : draft.expressions!.number(text);
  const { math_multiplier: multiplier } = node;
  if (typeof multiplier === "number") draft.params["multiplier"] = multiplier;
  const number = typeof multiplier === "number" ? `(${own}) * {multiplier:Float64}` : own;
  if (countsSessions(node)) {
    // Each session counts once, however many events it has here.
    const pairs = `groupUniqArrayIf((${sessionOfEvent}, ${number}), ${sessionOfEvent} != '')`;
    return `arrayReduce('${name}', arrayMap(pair -> pair.2, ${pairs}))`;
  }
  if (math === "unique_session") return `uniqExact(nullIf(${sessionOfEvent}, ''))`;
  if (math === "hogql") return draft.expressions!.number(hogql ?? "");
  if (math === "unique" && property) return `uniqExact(${draft.property(property)})`;
  if (/^(?:dau|weekly_active|monthly_active|unique_group|unique)$/.test(math))
    return `uniqExact(${actorText(draft, { math, node })})`;
  return name !== math || /^(?:sum|avg|min|max)$/.test(math) ? `${name}(${number})` : "count()";
}

function aggregateName(math: string): string {
  const quantile = quantiles[math as Math];
  return quantile === undefined ? math : `quantileExactInclusive(${quantile})`;
}

/** Whom a series of persons or groups counts; null for an event without a group. */
function actorText(draft: Draft, { math, node }: Pick<Series, "math" | "node">): string {
  const isOfGroups = math === "unique_group" || countsGroups({ ...node, math });
  return isOfGroups ? draft.groupKey(node.math_group_type_index ?? 0) : "person_id";
}

/**
 * Selects, for math that counts persons active on a day, or in the week or month before it: rows of `person_id`,
 * `bucket` and the number of their `events` for each interval in whose week or month they were; by hours, its last one
 * is that of the interval, else the interval's first day. Undefined for other math.
 */
function activeText(draft: Draft, scope: TrendScope, breakdown: Breakdown | BreakdownLines | undefined) {
  const { series, filters, span, buckets } = scope;
  const days = activeDays[series.math];
  if (days === undefined || !buckets) return undefined;
  const { interval, first, count } = buckets;
  const actor = actorText(draft, series);
  const isHourly = interval === "hour";
  // Hours are counted from the earliest: ClickHouse's division rounds negative numbers up.
  const earliest = windowStart(interval, first, days);
  const at = isHourly
    ? `${draft.bucketIndex("hour", earliest)} - {window:Int32} + 1`
    : draft.bucketIndex("day", first);
  const all = { ...series, filters: [...filters, ...series.filters] };
  const where = `${draft.spanCondition(span)} AND ${draft.entityCondition(all)}`;
  const rows = `${draft.eventTable(all.filters, true)} WHERE ${where}`;
  const { from, value } = breakdown ? breakdownRows(draft, rows, breakdown) : { from: rows, value: "''" };
  Object.assign(draft.params, {
    window: isHourly ? 24 * days : days,
    step: interval === "week" ? 7 : 1,
    count,
  });
  const steps = (sum: string) => `intDiv(${sum}, {step:Int32})`;
  const lines = `(
    SELECT person_id, breakdown_value, arrayJoin(range(
      ${steps("greatest(at, 0) + {step:Int32} - 1")}, least(${steps("at + {window:Int32} - 1")} + 1, {count:Int32})
    )) AS bucket, events
    FROM (
      SELECT ${actor} AS person_id, toInt32(${at}) AS at, ${value} AS breakdown_value, count() AS events
      FROM ${from} AND ${actor} IS NOT NULL GROUP BY person_id, at, breakdown_value)) WHERE 1`;
  return { from: lines, ...selectLine(draft, "breakdown_value", breakdown) };
}

/** The persons of one bucket and line; without them, of all. */
export function trendPersonsText(
  scope: TrendScope,
  bucket: number | undefined,
  breakdown?: BreakdownLines,
  lineIndex?: number,
): PersonStatement {
  const { series } = scope;
  const draft = new Draft(scope.context);
  const active = activeText(draft, scope, breakdown);
  const personSeries = series.math.startsWith("first_") ? series : { ...series, math: "dau" as const };
  const events = active ? "" : selectRows(draft, { ...scope, series: personSeries }, breakdown);
  const { from, line } = active ?? rowsWithLines(draft, events, breakdown);
  const conditions = [
    ...(bucket === undefined
      ? []
      : [` AND ${active ? "bucket" : selectBucket(draft, scope)} = {at_bucket:Int32}`]),
    ...(lineIndex === undefined ? [] : [` AND ${line} = {at_line:Int32}`]),
  ];
  Object.assign(draft.params, { at_bucket: bucket ?? 0, at_line: lineIndex ?? 0 });
  const text = `SELECT person_id, ${active ? "events" : "1 AS events"} FROM ${from}${conditions.join("")}`;
  return { text, params: draft.params, adds: "event_count" };
}
