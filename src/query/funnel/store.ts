// The statement of a funnel: how many persons reached each step, and how long it took them.

import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import type { DateSpan } from "../date_range.ts";
import type { Entity } from "../parts/series.ts";
import { newDraft, filterCondition, entityCondition, type QueryContext, spanCondition } from "../store.ts";

/** By step: persons who reached it, and the seconds since the step before. */
interface FunnelRow {
  persons: (string | number)[];
  average_seconds: (number | null)[];
  median_seconds: (number | null)[];
}

/**
 * Folds over each person's events in order of time. For each step the fold keeps the latest time of the first step
 * from which the step was reached in time; an earlier one can never reach further. One event is one step;
 * events of the same microsecond count in the order of the funnel.
 * @param windowMicros the most from the first step to the last, in µs, inclusive.
 */
export async function funnelRow(
  context: QueryContext,
  { series: steps, filters }: { series: readonly Entity[]; filters: readonly PropertyFilter[] },
  span: DateSpan,
  windowMicros: number,
): Promise<FunnelRow> {
  const draft = newDraft(context);
  const where = `${spanCondition(draft, span)} AND ${filterCondition(draft, filters)}`;
  const conditions = steps.map((step) => entityCondition(draft, step));
  const mask = conditions.map((condition, i) => `bitShiftLeft(toUInt32(${condition}), ${i})`).join(" + ");
  const numbers = `[${steps.map((_, i) => i + 1).join(", ")}]`;
  const zeros = `[${steps.map(() => "toInt64(0)").join(", ")}]`;
  draft.params["window"] = windowMicros;
  // The state of the fold, by step: .1 the time of its first step, .2 when it was last reached, .3 how long it took
  // from the step before, the first time. Times are in µs from a second before the span, so that 0 means none.
  const hits = "bitTest(one.2, k - 1)";
  const inTime = "(state.1[k - 1] > 0 AND one.1 - state.1[k - 1] <= {window:Int64})";
  const reached = `(${hits} AND (k = 1 OR ${inTime}))`;
  const origin = "toUnixTimestamp64Micro(toDateTime64({from:String}, 6, 'UTC')) - 1000000";
  const each = (list: string) => steps.map((_, i) => list.replaceAll("#", String(i + 1))).join(", ");
  const [row] = await context.run<FunnelRow>(
    `SELECT
       [${each("countIf(folded.1[#] > 0)")}] AS persons,
       [${each("avgOrNullIf(folded.3[#], folded.1[#] > 0) / 1000000")}] AS average_seconds,
       [${each("quantileExactInclusiveOrNullIf(0.5)(folded.3[#], folded.1[#] > 0) / 1000000")}] AS median_seconds
     FROM (
       SELECT arrayFold(
         (state, one) -> (
           arrayMap(k -> if(${reached}, if(k = 1, one.1, state.1[k - 1]), state.1[k]), ${numbers}),
           arrayMap(k -> if(${reached}, one.1, state.2[k]), ${numbers}),
           arrayMap(k -> if(${reached} AND k > 1 AND state.1[k] = 0, one.1 - state.2[k - 1], state.3[k]), ${numbers})),
         arraySort(groupArray((at, mask))),
         (${zeros}, ${zeros}, ${zeros})) AS folded
       FROM (
         SELECT person_id, ${mask} AS mask,
           toUnixTimestamp64Micro(timestamp) - (${origin}) AS at
         FROM events WHERE ${where} AND (${conditions.join(" OR ")}))
       GROUP BY person_id)`,
    draft.params,
  );
  return row ?? { persons: steps.map(() => 0), average_seconds: [], median_seconds: [] };
}
