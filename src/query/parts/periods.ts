// The times of a query by intervals: the requested one, and the one before it to compare with.

import { floorToInterval, isBefore, monthly, timed, toDuration, toNow } from "../../core/dates.ts";
import { refuseInput } from "../../core/fault.ts";
import {
  addIntervals,
  comparedShift,
  type DateSpan,
  dayStartIn,
  earliest,
  listBuckets,
  readDate,
} from "../date_range.ts";
import { type QueryContext, readSpan } from "../store.ts";
import { type FigureRef, noFigure } from "./figure.ts";
import type { CompareFilter, DateRange, Interval } from "./model.ts";

export interface Period {
  label: "current" | "previous" | undefined;
  span: DateSpan;
  /** The starts of the intervals; empty where one number is of the whole period. */
  starts: Temporal.ZonedDateTime[];
  /** End, in the period before one that has not ended: as far from its start as now is from the current one's. */
  until?: Temporal.ZonedDateTime;
}

interface CheckedPeriods {
  attr: string;
  query: { dateRange?: DateRange; compareFilter?: CompareFilter };
  interval: Interval;
  /** Whether one number is of the whole period. */
  isTotal?: boolean;
}

/** From the first start, unless the range is explicit. */
export async function readPeriods(context: QueryContext, checked: CheckedPeriods) {
  const { query, interval, isTotal = false } = checked;
  const range = await readSpan(context, checked, interval);
  const isExplicit = query.dateRange?.explicitDate === true;
  const span =
    isTotal || isExplicit
      ? range
      : { ...range, from: floorToInterval(interval, range.from, context.weekStart) };
  const isCompared = query.compareFilter?.compare === true;
  const starts = isTotal ? [] : listBuckets(interval, range, context.weekStart);
  const current: Period = { label: isCompared ? "current" : undefined, span, starts };
  if (!isCompared) return { ...current, periods: [current] };
  return { ...current, periods: [current, periodBefore(context, checked, current)] };
}

/** The period with as many intervals that lies a shift back; that of a unit ends where the current one begins. */
function periodBefore(context: QueryContext, checked: CheckedPeriods, current: Period): Period {
  const { interval, query, attr } = checked;
  const { span, starts } = current;
  const [first] = starts;
  const { dateRange, compareFilter } = query;
  const at = `${attr}__compareFilter__compare_to`;
  const shifted = comparedShift(dateRange, first && interval, compareFilter?.compare_to, at);
  const { shift, isUnit } = shifted ?? { shift: directShift(current, interval), isUnit: false };
  const isIn = (at: Temporal.ZonedDateTime) => !isUnit || isBefore(at, span.from);
  const firstBefore = first && floorToInterval(interval, first.subtract(shift), context.weekStart);
  const isExact = !firstBefore || dateRange?.explicitDate === true;
  const from = isExact ? span.from.subtract(shift) : firstBefore;
  if (shifted && isBefore(from, dayStartIn(context.timezone)))
    refuseInput(`Only dates from ${earliest} on can be compared with.`, at);
  const largestUnit = isUnit || (first && monthly.has(interval)) ? "months" : "days";
  /** The moment that is as far from the start as `at` is from the current one's. */
  const moveBack = (at: Temporal.ZonedDateTime) => from.add(span.from.until(at, { largestUnit }));
  const before = firstBefore ? starts.map((_, i) => addIntervals(interval, firstBefore, i)).filter(isIn) : [];
  const end = isExact ? moveBack(span.to) : addIntervals(interval, before.at(-1)!, 1);
  const to = !isExact || isIn(end) ? end : span.from;
  const period = { label: "previous" as const, span: { from, to }, starts: before };
  const now = toNow(context);
  if (isBefore(now, span.from) || !isBefore(now, span.to)) return period;
  const until = moveBack(now);
  return { ...period, until: isBefore(until, to) ? until : to };
}

/** How far back the period directly before lies: as many intervals, or days where there are none. */
function directShift({ span, starts }: Period, interval: Interval): Temporal.DurationLike {
  if (starts.length > 0) return toDuration(interval, starts.length);
  const roundingMode = "ceil";
  return { days: span.from.until(span.to, { largestUnit: "days", smallestUnit: "days", roundingMode }).days };
}

/**
 * The part of a period until its `until`, from the interval with this index on; by default from the one in which it
 * ends. `last`: the index of that one.
 */
export function partUntil({ span, starts, until }: Period, first?: number): Period & { first: number } {
  const last = starts.findLastIndex((start) => !isBefore(until!, start));
  const from = Math.max(0, first ?? last);
  const start = starts[from];
  const part = { from: start && isBefore(span.from, start) ? start : span.from, to: until! };
  return { label: "previous", span: part, starts: starts.slice(from, last + 1), first: from };
}

/** The period of a number. @throws Fault for a period that the query does not have. */
export function figurePeriod(figure: FigureRef, periods: readonly Period[]): Period {
  const period = periods.find(({ label }) => (label ?? "current") === (figure.compare ?? "current"));
  return period ?? noFigure(figure, "compare", "This query does not compare with the time before.");
}

/**
 * The index of an interval by its day, or by a moment of it in any zone. In a period that another is compared with,
 * days of the other mean the intervals beside them, as at PostHog.
 * @throws Fault when it is none of them.
 */
export function figureBucket(
  figure: FigureRef,
  interval: Interval,
  { starts }: Pick<Period, "starts">,
  compared?: Period,
): number {
  const [first] = starts;
  const clock = { now: 0, timezone: first?.timeZoneId ?? "UTC" };
  const at = readDate(String(figure.day), clock, "exact", `${figure.attr}__day`)!;
  const start = floorToInterval(timed.has(interval) ? interval : "day", at);
  const indexes = [starts, compared?.starts ?? []].map((list) =>
    list.findIndex((item) => item.equals(start)),
  );
  const index = indexes.find((found) => found >= 0 && found < starts.length);
  if (index !== undefined) return index;
  const [from, to] = [first, starts.at(-1)].map((item) => item?.toPlainDate().toString());
  return noFigure(figure, "day", `A day of the result is needed, as "days" has them: ${from} to ${to}.`);
}
