// The times that a trend is of, and the values that its lines are of.

import { addIntervals, bucketsOf, type DateSpan, startOf } from "../date_range.ts";
import { type Breakdown, breakdownValue } from "../parts/breakdown.ts";
import type { Interval } from "../parts/model.ts";
import { type QueryContext, spanOf } from "../store.ts";
import { type CheckedTrends, isTotal } from "./check.ts";

export interface Period {
  label: "current" | "previous" | undefined;
  span: DateSpan;
  starts: Temporal.ZonedDateTime[];
}

/** Starts are none where each line has one number. */
export async function periodsOf(context: QueryContext, checked: CheckedTrends) {
  const { query, interval } = checked;
  const total = isTotal(query.trendsFilter?.display);
  const requested = await spanOf(context, checked, interval === "hour");
  const starts = total ? [] : bucketsOf(interval, requested);
  const explicit = query.dateRange?.explicitDate === true;
  const span = total || explicit ? requested : { ...requested, from: startOf(interval, requested.from) };
  const compares = query.compareFilter?.compare === true;
  const current: Period = { label: compares ? "current" : undefined, span, starts };
  const periods: Period[] = compares ? [current, previous(current, interval, explicit)] : [current];
  return { total, span, starts, periods };
}

/** The period of the same length directly before: so many whole intervals, or days where there are none. */
function previous({ span, starts }: Period, interval: Interval, explicit: boolean): Period {
  const [first] = starts;
  if (!first) {
    const days = Math.max(1, span.from.until(span.to, { largestUnit: "days" }).days);
    return { label: "previous", span: { from: span.from.subtract({ days }), to: span.from }, starts: [] };
  }
  const from = addIntervals(interval, first, -starts.length);
  const before = starts.map((_, i) => addIntervals(interval, from, i));
  if (explicit) {
    const back = { [`${interval}s`]: starts.length };
    return {
      label: "previous",
      span: { from: span.from.subtract(back), to: span.to.subtract(back) },
      starts: before,
    };
  }
  return { label: "previous", span: { from, to: first }, starts: before };
}

/** Of each line; the last one is all others'. */
export function valuesShown(
  breakdown: Breakdown,
  { values, more }: { values: readonly (string | null)[]; more: boolean },
): (string | string[])[] {
  const own = values.map((value) => breakdownValue(breakdown, value));
  return more && breakdown.other ? [...own, breakdownValue(breakdown, undefined)] : own;
}
