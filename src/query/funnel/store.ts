// The statements of a funnel: how many persons reached each step and how long it took them; how many converted, by when
// they began and by how long it took.

import { queryLimits } from "../limits.ts";
import type { Breakdown } from "../parts/breakdown.ts";
import type { AnyBreakdown, BreakdownLines } from "../parts/breakdown_store.ts";
import type { PersonStatement } from "../parts/figure.ts";
import type { Interval } from "../parts/model.ts";
import { Draft, type QueryContext } from "../store.ts";
import { attemptRows, type FunnelScope, secondsBetween, selectSteps } from "./attempts.ts";

/** A funnel, the indexes of the steps `from` and `to` which conversion counts, and the interval of its trend. */
type ChosenScope = FunnelScope & { from: number; to: number; interval: Interval };
type RankedScope = ChosenScope & { result: string };

/** Keyed by step: the persons who reached it, and their seconds since the step before. */
export interface FunnelRow {
  /** The index of its value in a breakdown; the number of values stands for all others. */
  line: number;
  persons: (string | number)[];
  average_seconds: (number | null)[];
  median_seconds: (number | null)[];
}

/**
 * The breakdown values that rank first, and whether there are more: as at PostHog by the persons of their last step,
 * then of the steps before it; of a trend by those who began.
 */
export async function funnelValues(context: QueryContext, scope: RankedScope, breakdown: Breakdown) {
  const { draft, best } = bestAttempts(context, scope, breakdown);
  const { limit } = breakdown;
  draft.params["limit"] = limit + 1;
  const steps = scope.series.map((_, i) => `countIf(steps >= ${i + 1}) DESC`);
  const order = scope.result === "conversions" ? ["count() DESC", "line DESC"] : steps.toReversed();
  const rows = await draft.run<{ value: string | null }>(`
    SELECT line AS value FROM (${best}) GROUP BY line ORDER BY ${order.join(", ")}, line LIMIT {limit:UInt32}`);
  return { values: rows.slice(0, limit).map(({ value }) => value), more: rows.length > limit };
}

/** @returns one row; of a breakdown one for each value that persons count for. */
export async function funnelRows(context: QueryContext, scope: ChosenScope, breakdown?: BreakdownLines) {
  const { draft, best } = bestAttempts(context, scope, breakdown);
  const list = (of: (step: number) => string) => scope.series.map((_, i) => of(i + 1)).join(", ");
  const seconds = (step: number) =>
    `${secondsBetween("best", Math.max(step - 1, 1), step)}, steps >= ${step}`;
  return await draft.run<FunnelRow>(`
    SELECT toInt32(line) AS line,
      [${list((step) => `countIf(steps >= ${step})`)}] AS persons,
      [${list((step) => `avgOrNullIf(${seconds(step)})`)}] AS average_seconds,
      [${list((step) => `quantileExactInclusiveOrNullIf(0.5)(${seconds(step)})`)}] AS median_seconds
    FROM (${best}) GROUP BY line`);
}

/** A condition on the steps that persons reached; with a `first` interval, also on the `bucket` in which they began. */
export interface FunnelPart {
  condition: string;
  first?: Temporal.ZonedDateTime;
}

/** @param of the persons of only one line. */
export function funnelPersonsText(
  context: QueryContext,
  scope: ChosenScope,
  { condition, first }: FunnelPart,
  of?: { lines: BreakdownLines; line: number },
): PersonStatement {
  const { draft, best } = bestAttempts(context, scope, of?.lines, first);
  const text = `SELECT actor AS person_id, line, ${first ? "bucket, " : ""}steps FROM (${best})`;
  const ofLine = of ? ` AND line = ${of.line}` : "";
  return { text: `SELECT person_id FROM (${text}) WHERE ${condition}${ofLine}`, params: draft.params };
}

/**
 * Rows of persons who began the funnel: `actor`, `line`, the `best` attempt and its `steps`.
 * @param first the start of the first interval, for the best attempt of each `bucket` in which they began.
 */
function bestAttempts(
  context: QueryContext,
  scope: ChosenScope,
  breakdown?: AnyBreakdown,
  first?: Temporal.ZonedDateTime,
) {
  const draft = new Draft(context);
  const bucket = first && draft.bucketIndex(scope.interval, first);
  const attempts = attemptRows(draft, scope, breakdown, bucket);
  const begun = "arrayMap((bucket, attempt) -> (bucket, attempt.1), buckets, attempts)";
  const best = first
    ? `SELECT actor, line, attempt.1 AS bucket, max(attempt.2) AS best, ${selectSteps("best")} AS steps
       FROM (
         SELECT actor, line, arrayJoin(arrayDistinct(arrayFilter(begin -> begin.2 > 0, ${begun}))) AS attempt
         FROM (${attempts}))
       GROUP BY actor, line, bucket`
    : `SELECT actor, line, arrayReduce('max', attempts) AS best, ${selectSteps("best.1")} AS steps
       FROM (${attempts})`;
  return { draft, best };
}

/** Persons who reached the first and the last of the chosen steps, by when they began. */
export interface ConversionRow {
  line: number;
  /** The index of the interval. */
  bucket: number;
  entered: string | number;
  converted: string | number;
}

/** Each person counts once in every interval in which they began, by their best attempt. */
export async function conversionRows(
  context: QueryContext,
  scope: ChosenScope,
  first: Temporal.ZonedDateTime,
  breakdown?: BreakdownLines,
): Promise<ConversionRow[]> {
  const { draft, best } = bestAttempts(context, scope, breakdown, first);
  return await draft.run<ConversionRow>(`
    SELECT toInt32(line) AS line, bucket, countIf(steps > ${scope.from}) AS entered,
      countIf(steps > ${scope.to}) AS converted
    FROM (${best}) GROUP BY line, bucket`);
}

/** Persons who converted, by how long it took. */
export interface TimesRow {
  /** The bin, counted from 0, and its persons. */
  bin: number;
  persons: string | number;
  /** Start of the first bin, the length of each in seconds, and their number. */
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
  scope: ChosenScope,
  bins: number | undefined,
): Promise<TimesRow[]> {
  const { draft, best } = bestAttempts(context, scope);
  const { from, to } = scope;
  const count = bins ?? `least(${queryLimits.funnelBinsUsualMax}, greatest(1, ceil(cbrt(count()))))`;
  return await draft.run<TimesRow>(`
    SELECT toInt32(intDiv(micros - low * 1000000, width * 1000000)) AS bin, count() AS persons,
      low, width, bins, average
    FROM (
      SELECT arrayJoin(all) AS micros, low, bins, average, if(wide > 0, wide, 60) AS width
      FROM (
        SELECT groupArray(micros) AS all, intDiv(min(micros), 1000000) AS low, toInt64(${count}) AS bins,
          intDiv(intDiv(max(micros) + 999999, 1000000) - low + bins - 1, bins) AS wide,
          avg(micros) / 1000000 AS average
        FROM (
          SELECT best.${from + 4} - best.${to + 4} AS micros FROM (${best}) WHERE steps > ${to})))
    GROUP BY bin, low, width, bins, average ORDER BY bin`);
}
