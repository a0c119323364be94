// The times of a query by intervals: the requested one, and the one before it to compare with.

import { addIntervals, bucketsOf, type DateSpan, startOf } from "../date_range.ts";
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
  return { ...current, periods: isCompared ? [current, previous(current, interval, isExplicit)] : [current] };
}

/** The period of the same length directly before: so many whole intervals, or days where there are none. */
function previous({ span, starts }: Period, interval: Interval, isExplicit: boolean): Period {
  const label = "previous";
  const [first] = starts;
  if (!first) {
    const days = Math.max(1, span.from.until(span.to, { largestUnit: "days" }).days);
    return { label, span: { from: span.from.subtract({ days }), to: span.from }, starts: [] };
  }
  const from = addIntervals(interval, first, -starts.length);
  const before = starts.map((_, i) => addIntervals(interval, from, i));
  const back = { [`${interval}s`]: starts.length };
  const previous = isExplicit
    ? { from: span.from.subtract(back), to: span.to.subtract(back) }
    : { from, to: first };
  return { label, span: previous, starts: before };
}

/** The period of a number. @throws Fault for a period that the query does not have. */
export function figurePeriod(figure: FigureRef, periods: readonly Period[]): Period {
  const period = periods.find(({ label }) => (label ?? "current") === (figure.compare ?? "current"));
  return period ?? noFigure(figure, "compare", "This query does not compare with the time before.");
}
