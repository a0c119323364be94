// The events that a series of a trend counts in a period, and those before it that some math needs.

import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import { addIntervals, type DateSpan } from "../date_range.ts";
import type { Series } from "../parts/figure.ts";
import type { Interval, Math } from "../parts/model.ts";
import type { Period } from "../parts/periods.ts";
import type { QueryContext } from "../store.ts";
import { type CheckedTrends, countsActors, countsGroups, isAddedUp } from "./check.ts";

/** The events of one series in one period. */
export interface TrendScope {
  context: QueryContext;
  series: Series;
  filters: PropertyFilter[];
  span: DateSpan;
  /** undefined: one number for the whole span. */
  buckets: { interval: Interval; first: Temporal.ZonedDateTime; count: number } | undefined;
  /** Whether each person or group counts in its first interval only: their numbers add up over time. */
  isCumulative: boolean;
}

/** The days of a week or month of persons before an interval. */
export const activeDays: Partial<Record<Math, number>> = { weekly_active: 7, monthly_active: 30 };
/** The intervals that are no shorter than such a week or month: in them, its persons are those of the interval. */
const wholeIntervals: Partial<Record<Math, string>> = {
  weekly_active: "week month quarter year",
  monthly_active: "month quarter year",
};

export function trendScope(
  context: QueryContext,
  checked: Pick<CheckedTrends, "filters" | "interval" | "query">,
  series: Series,
  { span, starts }: Period,
): TrendScope {
  const { filters, interval, query } = checked;
  const [first] = starts;
  const buckets = first && { interval, first, count: starts.length };
  const isCumulative = isAddedUp(query) && countsActors(series.node);
  const scope = { context, series, filters, span, buckets, isCumulative };
  const days = activeDays[series.math];
  if (days === undefined) return scope;
  const isWhole = !first || wholeIntervals[series.math]!.includes(interval);
  if (isWhole) scope.series = { ...series, math: countsGroups(series.node) ? "unique_group" : "dau" };
  // As at PostHog, the number of the whole time is that of its last days.
  if (!first) scope.span = { from: span.to.subtract({ days }), to: span.to };
  if (first && !isWhole) scope.span = { from: windowStart(interval, first, days), to: span.to };
  return scope;
}

/** The first moment of the days, or of the hours, that end with the interval of this start. */
export function windowStart(interval: Interval, start: Temporal.ZonedDateTime, days: number) {
  return interval === "hour"
    ? start.subtract({ hours: 24 * days - 1 })
    : addIntervals("day", start, 1 - days);
}
