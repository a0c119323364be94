// Funnels, asked of ClickHouse: how many persons got through each step, and how long it took them. Never shapes
// a reply.

import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import type { Entity } from "../checked.ts";
import type { DateSpan } from "../date_range.ts";
import { type QueryAsk, draftOf, filtering, matching, within } from "../store.ts";

export interface FunnelQuestion {
  project_id: number;
  now: number;
  timezone: string;
  steps: Entity[];
  filters: PropertyFilter[];
  span: DateSpan;
  /** From the first step to the last, in µs, included. */
  windowMicros: number;
}

/** Step by step: persons who got so far, and the seconds it took them from the step before. */
export interface FunnelRow {
  persons: (string | number)[];
  average_seconds: (number | null)[];
  median_seconds: (number | null)[];
}

/**
 * Each person's events are walked through in their order. `starts[k]` is the latest first step from which step k was
 * reached in time: whoever can get further from any earlier one can get as far from it. One event is one step;
 * events of the same microsecond count in the funnel's order.
 */
export async function funnelRow(ask: QueryAsk, asked: FunnelQuestion): Promise<FunnelRow> {
  const { steps, span, filters, windowMicros } = asked;
  const draft = draftOf(asked.project_id, asked.now, asked.timezone);
  const where = `${within(draft, span)}${filters.length > 0 ? ` AND ${filtering(draft, filters)}` : ""}`;
  const conditions = steps.map((step) => matching(draft, step));
  const mask = conditions.map((condition, i) => `bitShiftLeft(toUInt32(${condition}), ${i})`).join(" + ");
  const numbers = `[${steps.map((_, i) => i + 1).join(", ")}]`;
  const zeros = `[${steps.map(() => "toInt64(0)").join(", ")}]`;
  draft.params["window"] = windowMicros;
  // Of a walk: .1 the starts, .2 when each step was last reached, .3 how long it first took from the one before.
  // Moments are counted from a second before the span, so that 0 is none.
  const hits = "bitTest(one.2, k - 1)";
  const inTime = "(walk.1[k - 1] > 0 AND one.1 - walk.1[k - 1] <= {window:Int64})";
  const reached = `(${hits} AND (k = 1 OR ${inTime}))`;
  const origin = "toUnixTimestamp64Micro(toDateTime64({from:String}, 6, 'UTC')) - 1000000";
  const each = (list: string) => steps.map((_, i) => list.replaceAll("#", String(i + 1))).join(", ");
  const [row] = await ask<FunnelRow>(
    `SELECT
       [${each("countIf(walked.1[#] > 0)")}] AS persons,
       [${each("avgOrNullIf(walked.3[#], walked.1[#] > 0) / 1000000")}] AS average_seconds,
       [${each("quantileExactInclusiveOrNullIf(0.5)(walked.3[#], walked.1[#] > 0) / 1000000")}] AS median_seconds
     FROM (
       SELECT arrayFold(
         (walk, one) -> (
           arrayMap(k -> if(${reached}, if(k = 1, one.1, walk.1[k - 1]), walk.1[k]), ${numbers}),
           arrayMap(k -> if(${reached}, one.1, walk.2[k]), ${numbers}),
           arrayMap(k -> if(${reached} AND k > 1 AND walk.1[k] = 0, one.1 - walk.2[k - 1], walk.3[k]), ${numbers})),
         arraySort(groupArray((at, mask))),
         (${zeros}, ${zeros}, ${zeros})) AS walked
       FROM (
         SELECT person_id, ${mask} AS mask,
           toUnixTimestamp64Micro(timestamp) - (${origin}) AS at
         FROM events WHERE ${where} AND (${conditions.join(" OR ")}))
       GROUP BY person_id)`,
    draft.params,
  );
  return row ?? { persons: steps.map(() => 0), average_seconds: [], median_seconds: [] };
}
