// The times of a query by intervals: the requested one, and the one before it to compare with.

import { addIntervals, bucketsOf, comparedShift, type DateSpan, startOf } from "../date_range.ts";
import { type QueryContext, spanOf } from "../store.ts";
import { type FigureRef, noFigure } from "./figure.ts";
import type { DateRange, Interval } from "./model.ts";

export interface Period {
  label: "current" | "previous" | undefined;
  span: DateSpan;
  /** The starts of the intervals; empty where one number is of the whole period. */
  starts: Temporal.ZonedDateTime[];
}

/** From the first start, unless the range is explicit. */
export async function periodsOf(
  context: QueryContext,
  checked: {
    attr: string;
    query: {
      dateRange?: DateRange;
      compareFilter?: { compare?: boolean | null | undefined } | null | undefined;
    };
    interval: Interval;
    /** Whether one number is of the whole period. */
    isTotal?: boolean;
  },
): Promise<Period & { periods: Period[] }> {
  const { query, interval, isTotal = false } = checked;
  const range = await spanOf(context, checked, interval === "hour");
  const isExplicit = query.dateRange?.explicitDate === true;
  const span = isTotal || isExplicit ? range : { ...range, from: startOf(interval, range.from) };
  const isCompared = query.compareFilter?.compare === true;
  const starts = isTotal ? [] : bucketsOf(interval, range);
  const current: Period = { label: isCompared ? "current" : undefined, span, starts };
  if (!isCompared) return { ...current, periods: [current] };
  const shifted = comparedShift(query.dateRange, isTotal ? undefined : interval);
  const before = shifted ? shiftBack(current, interval, shifted) : previous(current, interval, isExplicit);
  return { ...current, periods: [current, { label: "previous", ...before }] };
}

/** The period so far back; that of a unit ends where the current one begins. */
function shiftBack(
  { span, starts }: Period,
  interval: Interval,
  { shift, isUnit }: { shift: Temporal.DurationLike; isUnit: boolean },
): Omit<Period, "label"> {
  const [first] = starts;
  const isBefore = (at: Temporal.ZonedDateTime, end: Temporal.ZonedDateTime) =>
    !isUnit || Temporal.ZonedDateTime.compare(at, end) < 0;
  const back = { from: span.from.subtract(shift), to: span.to.subtract(shift) };
  if (!first)
    return { span: { ...back, to: isBefore(back.to, span.from) ? back.to : span.from }, starts: [] };
  const from = startOf(interval, first.subtract(shift));
  const before = starts
    .map((_, i) => addIntervals(interval, from, i))
    .filter((start) => isBefore(start, first));
  return { span: { from, to: addIntervals(interval, before.at(-1)!, 1) }, starts: before };
}

/** The period of the same length directly before: so many whole intervals, or days where there are none. */
function previous({ span, starts }: Period, interval: Interval, isExplicit: boolean): Omit<Period, "label"> {
  const [first] = starts;
  if (!first) {
    const days = Math.max(1, span.from.until(span.to, { largestUnit: "days" }).days);
    return { span: { from: span.from.subtract({ days }), to: span.from }, starts: [] };
  }
  const from = addIntervals(interval, first, -starts.length);
  const before = starts.map((_, i) => addIntervals(interval, from, i));
  const back = { [`${interval}s`]: starts.length };
  const directly = isExplicit
    ? { from: span.from.subtract(back), to: span.to.subtract(back) }
    : { from, to: first };
  return { span: directly, starts: before };
}

/** The period of a number. @throws Fault for a period that the query does not have. */
export function figurePeriod(figure: FigureRef, periods: readonly Period[]): Period {
  const period = periods.find(({ label }) => (label ?? "current") === (figure.compare ?? "current"));
  return period ?? noFigure(figure, "compare", "This query does not compare with the time before.");
}
