// The statements of a funnel: how many persons reached each step and how long it took them; how many converted, by when
// they began and by how long it took.

import { queryLimits } from "../limits.ts";
import type { Breakdown } from "../parts/breakdown.ts";
import { breakdownLine, type BreakdownLines } from "../parts/breakdown_store.ts";
import type { PersonStatement } from "../parts/figure.ts";
import type { Interval } from "../parts/model.ts";
import { bucketIndex, newDraft, type QueryContext } from "../store.ts";
import {
  attemptRows,
  type FunnelScope,
  secondsBetween,
  stepRows,
  stepsOf,
  valueOfPerson,
} from "./attempts.ts";

/** By step: the persons who reached it, and their seconds since the step before. */
export interface FunnelRow {
  /** In a breakdown the index of its value; the number of values stands for all others. */
  line: number;
  persons: (string | number)[];
  average_seconds: (number | null)[];
  median_seconds: (number | null)[];
}

/** The breakdown values with the most persons who began the funnel, and whether there are more values. */
export async function funnelValues(
  context: QueryContext,
  scope: FunnelScope,
  breakdown: Breakdown,
): Promise<{ values: (string | null)[]; more: boolean }> {
  const draft = newDraft(context);
  const rows = stepRows(draft, scope, breakdown);
  const { limit } = breakdown;
  draft.params["limit"] = limit + 1;
  const found = await context.run<{ value: string | null }>(
    `SELECT own AS value FROM (
       SELECT person_id, ${valueOfPerson(scope)} AS own FROM (${rows})
       GROUP BY person_id HAVING countIf(${scope.walk.begins}) > 0)
     GROUP BY value ORDER BY count() DESC, value LIMIT {limit:UInt32}`,
    draft.params,
  );
  return { values: found.slice(0, limit).map(({ value }) => value), more: found.length > limit };
}

/** @returns one row; of a breakdown one for each value that persons count for. */
export async function funnelRows(
  context: QueryContext,
  scope: FunnelScope,
  breakdown?: BreakdownLines,
): Promise<FunnelRow[]> {
  const draft = newDraft(context);
  const rows = stepRows(draft, scope, breakdown);
  const line = breakdown ? breakdownLine(draft, valueOfPerson(scope), breakdown) : "0";
  const list = (of: (step: number) => string) => scope.series.map((_, i) => of(i + 1)).join(", ");
  const seconds = (step: number) =>
    `${secondsBetween("best", Math.max(step - 1, 1), step)}, steps >= ${step}`;
  return await context.run<FunnelRow>(
    `SELECT toInt32(line) AS line,
       [${list((step) => `countIf(steps >= ${step})`)}] AS persons,
       [${list((step) => `avgOrNullIf(${seconds(step)})`)}] AS average_seconds,
       [${list((step) => `quantileExactInclusiveOrNullIf(0.5)(${seconds(step)})`)}] AS median_seconds
     FROM (
       SELECT line, arrayReduce('max', attempts) AS best, ${stepsOf("best.1")} AS steps
       FROM (${attemptRows(draft, scope, rows, line)}))
     GROUP BY line`,
    draft.params,
  );
}

/** Persons who reached so many steps; `line`: only those of one breakdown value, by its index. */
export function funnelPersonsText(
  context: QueryContext,
  scope: FunnelScope,
  { sign, steps, line: at, breakdown }: FunnelFigure,
): PersonStatement {
  const draft = newDraft(context);
  const rows = stepRows(draft, scope, breakdown);
  const line = breakdown ? breakdownLine(draft, valueOfPerson(scope), breakdown) : "0";
  Object.assign(draft.params, { at_steps: steps, at_line: at ?? 0 });
  const ofLine = at === undefined ? "" : " AND line = {at_line:Int32}";
  const text = `SELECT person_id
    FROM (
      SELECT person_id, line, arrayReduce('max', attempts) AS best, ${stepsOf("best.1")} AS steps
      FROM (${attemptRows(draft, scope, rows, line)}))
    WHERE steps ${sign} {at_steps:UInt32}${ofLine}`;
  return { text, params: draft.params };
}

interface FunnelFigure {
  sign: ">=" | "=";
  steps: number;
  line?: number;
  breakdown?: BreakdownLines | undefined;
}

/** Persons who reached the first and the last of the chosen steps, by when they began. */
export interface ConversionRow {
  line: number;
  /** The index of the interval. */
  bucket: number;
  entered: string | number;
  converted: string | number;
}

interface StepRange {
  /** Indexes of steps. */
  from: number;
  to: number;
}

/** Each person counts once in every interval in which they began, by their best attempt. */
export async function conversionRows(
  context: QueryContext,
  scope: FunnelScope & StepRange & { interval: Interval },
  first: Temporal.ZonedDateTime,
  breakdown?: BreakdownLines,
): Promise<ConversionRow[]> {
  const draft = newDraft(context);
  const rows = stepRows(draft, scope, breakdown, bucketIndex(draft, scope.interval, first));
  const line = breakdown ? breakdownLine(draft, valueOfPerson(scope), breakdown) : "0";
  const begun = "arrayMap((bucket, attempt) -> (bucket, attempt.1), buckets, attempts)";
  return await context.run<ConversionRow>(
    `SELECT toInt32(line) AS line, bucket, countIf(steps > ${scope.from}) AS entered,
       countIf(steps > ${scope.to}) AS converted
     FROM (
       SELECT line, one.1 AS bucket, max(one.2) AS outcome, ${stepsOf("outcome")} AS steps
       FROM (
         SELECT person_id, line, arrayJoin(arrayDistinct(arrayFilter(one -> one.2 > 0, ${begun}))) AS one
         FROM (${attemptRows(draft, scope, rows, line, true)}))
       GROUP BY person_id, line, bucket)
     GROUP BY line, bucket`,
    draft.params,
  );
}

/** Persons who converted, by how long it took. */
export interface TimesRow {
  /** The bin, counted from 0, and its persons. */
  bin: number;
  persons: string | number;
  /** For all bins: where the first begins, the length of each in seconds, and their number. */
  low: string | number;
  width: string | number;
  bins: string | number;
  average: number;
}

/**
 * Bins of whole seconds, so that the last one begins after the longest time. When all times are equal a bin is a
 * minute.
 * @param bins their number; by default the cube root of the number of persons, as at PostHog.
 */
export async function timesRows(
  context: QueryContext,
  scope: FunnelScope & StepRange,
  bins: number | undefined,
): Promise<TimesRow[]> {
  const draft = newDraft(context);
  const { from, to } = scope;
  const count = bins ?? `least(${queryLimits.funnelBinsUsualMax}, greatest(1, ceil(cbrt(count()))))`;
  const attempts = attemptRows(draft, scope, stepRows(draft, scope, undefined), "0");
  return await context.run<TimesRow>(
    `SELECT toInt32(intDiv(micros - low * 1000000, width * 1000000)) AS bin, count() AS persons,
       low, width, bins, average
     FROM (
       SELECT arrayJoin(all) AS micros, low, bins, average, if(wide > 0, wide, 60) AS width
       FROM (
         SELECT groupArray(micros) AS all, intDiv(min(micros), 1000000) AS low, toInt64(${count}) AS bins,
           intDiv(intDiv(max(micros) + 999999, 1000000) - low + bins - 1, bins) AS wide,
           avg(micros) / 1000000 AS average
         FROM (
           SELECT best.${from + 4} - best.${to + 4} AS micros
           FROM (SELECT arrayReduce('max', attempts) AS best FROM (${attempts}))
           WHERE ${stepsOf("best.1")} > ${to})))
     GROUP BY bin, low, width, bins, average ORDER BY bin`,
    draft.params,
  );
}
