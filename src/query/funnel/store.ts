// The statement of a funnel: how many persons reached each step, and how long it took them.

import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import type { DateSpan } from "../date_range.ts";
import type { Entity } from "../parts/series.ts";
import type { Breakdown } from "../parts/breakdown.ts";
import { type BreakdownLines, brokenRows, breakdownLine } from "../parts/breakdown_store.ts";
import {
  type Draft,
  newDraft,
  filterCondition,
  entityCondition,
  eventTable,
  type QueryContext,
  spanCondition,
} from "../store.ts";

/** By step: persons who reached it, and the seconds since the step before. */
export interface FunnelRow {
  /** Of a breakdown: the index of its value; the number of values stands for all others. */
  line: number;
  persons: (string | number)[];
  average_seconds: (number | null)[];
  median_seconds: (number | null)[];
}

export interface FunnelScope {
  series: readonly Entity[];
  filters: readonly PropertyFilter[];
  span: DateSpan;
  /** The most from the first step to the last, in µs, inclusive. */
  windowMicros: number;
  /** Whether no other event of the person may stand between two steps. */
  isStrict: boolean;
  /** Which of a person's events with a value of the breakdown the person counts for. */
  touch: "first" | "last";
}

/** The events of a funnel's steps, of a strict one all events: `person_id`, `mask` by step, `at`, `value`. */
function stepRows(draft: Draft, scope: FunnelScope, breakdown: Breakdown | undefined): string {
  const { series: steps, filters, span, isStrict } = scope;
  const where = `${spanCondition(draft, span)} AND ${filterCondition(draft, filters)}`;
  const conditions = steps.map((step) => entityCondition(draft, step));
  const mask = conditions.map((condition, i) => `bitShiftLeft(toUInt32(${condition}), ${i})`).join(" + ");
  const hits = isStrict ? "1" : `(${conditions.join(" OR ")})`;
  const rows = `${eventTable(draft, filters, true)} WHERE ${where} AND ${hits}`;
  const { from, value } = breakdown ? brokenRows(draft, rows, breakdown) : { from: rows, value: "NULL" };
  // Times are in µs from a second before the span, so that 0 means none.
  const origin = "toUnixTimestamp64Micro(toDateTime64({from:String}, 6, 'UTC')) - 1000000";
  return `SELECT person_id, ${mask} AS mask, toUnixTimestamp64Micro(timestamp) - (${origin}) AS at,
    ${value} AS value FROM ${from}`;
}

/** The value that a person counts for: the first or last one that an event of the funnel has. */
function valueOfPerson({ touch }: FunnelScope): string {
  // Of one moment the value decides, so that the answer is the same each time.
  const order = "(at, mask, assumeNotNull(value))";
  return `${touch === "first" ? "argMinIf" : "argMaxIf"}(value, ${order}, value IS NOT NULL AND mask > 0)`;
}

/** The values of a breakdown that most persons of the first step count for, and whether there are more. */
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
       GROUP BY person_id HAVING countIf(bitTest(mask, 0)) > 0)
     GROUP BY value ORDER BY count() DESC, value LIMIT {limit:UInt32}`,
    draft.params,
  );
  return { values: found.slice(0, limit).map(({ value }) => value), more: found.length > limit };
}

/**
 * Folds over each person's events in order of time. For each step the fold keeps the latest time of the first step
 * from which the step was reached in time; an earlier one can never reach further. One event is one step;
 * events of the same microsecond count in the order of the funnel.
 * @returns a row, of a breakdown one for each value that persons count for.
 */
export async function funnelRows(
  context: QueryContext,
  scope: FunnelScope,
  breakdown?: BreakdownLines,
): Promise<FunnelRow[]> {
  const { series: steps, windowMicros, isStrict } = scope;
  const draft = newDraft(context);
  const rows = stepRows(draft, scope, breakdown);
  const line = breakdown ? breakdownLine(draft, valueOfPerson(scope), breakdown) : "0";
  const numbers = `[${steps.map((_, i) => i + 1).join(", ")}]`;
  const zeros = `[${steps.map(() => "toInt64(0)").join(", ")}]`;
  draft.params["window"] = windowMicros;
  // The state of the fold, by step: .1 the time of its first step, .2 when it was last reached, .3 how long it took
  // from the step before, the first time; .4 as .1, of the event before alone: a strict step goes on from there.
  const live = isStrict ? "state.4" : "state.1";
  const inTime = `(${live}[k - 1] > 0 AND one.1 - ${live}[k - 1] <= {window:Int64})`;
  const reached = `(bitTest(one.2, k - 1) AND (k = 1 OR ${inTime}))`;
  const began = `if(k = 1, one.1, ${live}[k - 1])`;
  const each = (list: string) => steps.map((_, i) => list.replaceAll("#", String(i + 1))).join(", ");
  return await context.run<FunnelRow>(
    `SELECT toInt32(line) AS line,
       [${each("countIf(folded.1[#] > 0)")}] AS persons,
       [${each("avgOrNullIf(folded.3[#], folded.1[#] > 0) / 1000000")}] AS average_seconds,
       [${each("quantileExactInclusiveOrNullIf(0.5)(folded.3[#], folded.1[#] > 0) / 1000000")}] AS median_seconds
     FROM (
       SELECT ${line} AS line, arrayFold(
         (state, one) -> (
           arrayMap(k -> if(${reached}, ${began}, state.1[k]), ${numbers}),
           arrayMap(k -> if(${reached}, one.1, state.2[k]), ${numbers}),
           arrayMap(k -> if(${reached} AND k > 1 AND state.1[k] = 0, one.1 - state.2[k - 1], state.3[k]), ${numbers}),
           ${isStrict ? `arrayMap(k -> if(${reached}, ${began}, 0), ${numbers})` : "state.4"}),
         arraySort(groupArray((at, mask))),
         (${zeros}, ${zeros}, ${zeros}, ${zeros})) AS folded
       FROM (${rows}) GROUP BY person_id)
     GROUP BY line`,
    draft.params,
  );
}
