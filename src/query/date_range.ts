// Date ranges of queries, absolute and relative, in the project's time zone: their spans and their buckets.

import {
  asStored,
  type DateSide,
  endOfDay,
  floorToInterval,
  isBefore,
  parseDate,
  relative,
  timed,
  type Today,
  toDuration,
  toNow,
  units,
} from "../core/dates.ts";
import { refuseInput } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { queryLimits } from "./limits.ts";
import type { DateRange, Interval } from "./parts/model.ts";

type Moment = Temporal.ZonedDateTime;

/** `from` is inclusive, `to` is exclusive. */
export interface DateSpan {
  from: Moment;
  to: Moment;
}

/** ClickHouse's dates are counted from 1970; two days more make room for time zones. */
export const earliest = "1970-01-03";
const latest = "2100-01-01";

const wrongDate =
  "Date has wrong format. Use one of these formats instead: YYYY-MM-DD, YYYY-MM-DDThh:mm:ss with or without " +
  "a zone, all, or relative like -7d, -24h, dStart, mStart, -1mStart, -1mEnd, yStart (units s, " +
  "M for minutes, h, d, w, m, q, y).";

/**
 * The span of a range; by default from 7 days ago until the end of today. It ends with the day of `date_to`, as at
 * PostHog, whatever time of day that has; by hours or less, at that time. With `explicitDate` nothing is rounded, and
 * it ends now.
 * @param first the project's first event in ms since 1970, for "all".
 * @throws Fault invalid_input, named below `attr`.
 */
export function readDateSpan(
  range: DateRange | undefined,
  today: Today,
  {
    first,
    attr,
    interval = "day",
  }: { first?: number | undefined; attr: string; interval?: Interval | undefined },
): DateSpan {
  const now = toNow(today);
  const isTimed = timed.has(interval);
  const isExplicit = range?.explicitDate === true;
  const read = (text: string | null | undefined, name: "date_from" | "date_to") => {
    const end = isTimed ? "end" : "lastDay";
    const side = isExplicit ? "exact" : name === "date_from" ? "start" : end;
    if (name === "date_from" && text === "all") return allFrom(first, now);
    return readDate(text, today, side, `${attr}__${name}`);
  };
  const from = read(range?.date_from, "date_from") ?? now.subtract({ days: 7 }).startOfDay();
  const untilNow = isTimed ? endInterval(interval, now) : endOfDay(now);
  const to = read(range?.date_to, "date_to") ?? (isExplicit ? now : untilNow);
  if (!isBefore(from, to)) refuseInput("date_from must be before date_to.", `${attr}__date_from`);
  const { timezone } = today;
  if (isBefore(from, dayStartIn(timezone)) || isBefore(dayStartIn(timezone, latest), to))
    refuseInput(`Only dates from ${earliest} to ${latest} can be queried.`, `${attr}__date_from`);
  return range?.excludeIncompletePeriods ? wholeIntervals({ from, to }, interval, today) : { from, to };
}

/** The end of the interval of a moment; a second ends with the one before it, as at PostHog. */
function endInterval(interval: Interval, at: Moment): Moment {
  const start = floorToInterval(interval, at);
  return interval === "second" ? start : addIntervals(interval, start, 1);
}

/** The span from the first interval that is whole, until the one of now; the span itself where that leaves nothing. */
function wholeIntervals(span: DateSpan, interval: Interval, today: Today): DateSpan {
  const floor = (at: Moment) => floorToInterval(interval, at, today.weekStart);
  const start = floor(span.from);
  const from = start.equals(span.from) ? start : addIntervals(interval, start, 1);
  const current = floor(toNow(today));
  const to = Temporal.ZonedDateTime.compare(current, span.to) < 0 ? current : span.to;
  return Temporal.ZonedDateTime.compare(from, to) < 0 ? { from, to } : span;
}

/**
 * How far back the period before a range lies that ends now, so that its hours, weekdays or days of a unit are those of
 * the range: PostHog's rule for "last 7 days" (eight, with today), hours, and "this month". `isUnit`: the period ends
 * with its unit. undefined: it lies directly before the range.
 * Where unfinished intervals are left out, only a unit has such a rule.
 * @param interval undefined for one number of the whole range.
 * @param compareTo how far back, like -1y, whatever the range is. @throws Fault at `attr` for another text.
 */
export function comparedShift(
  range: DateRange | undefined,
  interval: Interval | undefined,
  compareTo: string | null | undefined,
  attr: string,
): { shift: Temporal.DurationLike; isUnit: boolean } | undefined {
  if (compareTo) {
    const [, back, unitBack, end] = relative.exec(compareTo) ?? [];
    if (!Number(back) || end) refuseInput("A time to go back is needed, like -7d or -1y.", attr);
    return { shift: toDuration(units[unitBack!]!, Number(back)), isUnit: false };
  }
  if (range?.date_to || range?.explicitDate) return undefined;
  const [, digits, unit, position] = relative.exec(range?.date_from ?? "-7d") ?? [];
  if (unit === undefined || position === "End") return undefined;
  const count = Number(digits ?? 0);
  const ranks = Object.values(units);
  const fits = interval === undefined || ranks.indexOf(interval) <= ranks.indexOf(units[unit]!);
  if (position === "Start")
    return fits ? { shift: toDuration(units[unit]!, count + 1), isUnit: true } : undefined;
  if (range?.excludeIncompletePeriods) return undefined;
  const isWhole = "sMh".includes(unit) || unit === "w" || (unit === "d" && count % 7 === 0);
  return fits && isWhole && count > 0 ? { shift: toDuration(units[unit]!, count), isUnit: false } : undefined;
}

interface Between {
  after?: string | null | undefined;
  before?: string | null | undefined;
}

/**
 * The span of a list: `after` and `before` are exclusive, but one day in both is that whole day; without them the last
 * 24 hours. Events of clocks ahead are
 * left out: an incremental reader would pass those that arrive meanwhile.
 * @throws Fault invalid_input, named below `attr`.
 */
export function spanBetween(today: Today, query: Between, attr: string): DateSpan {
  const now = toNow(today);
  const read = (name: "after" | "before") => {
    const text = name === "after" && query.after === "all" ? "" : query[name];
    return readDate(text, today, "exact", `${attr}__${name}`);
  };
  const isOneDay = query.after === query.before && /^\d{4}-\d\d-\d\d$/.test(query.after ?? "");
  const first = query.after === "all" ? dayStartIn(today.timezone) : now.subtract({ hours: 24 });
  const from = read("after")?.add({ microseconds: isOneDay ? 0 : 1 }) ?? first;
  if (isOneDay) return { from: asStored(from), to: asStored(endOfDay(from)) };
  return {
    from: asStored(from),
    to: asStored(read("before") ?? now.add({ milliseconds: limits.listAheadMsMax })),
  };
}

/** The start of a day; by default of the first one that can be queried. */
export function dayStartIn(timezone: string, day = earliest): Moment {
  return Temporal.PlainDate.from(day).toZonedDateTime(timezone);
}

function allFrom(first: number | undefined, now: Moment): Moment {
  if (first === undefined) return now.startOfDay();
  const timezone = now.timeZoneId;
  const at = toNow({ now: first, timezone });
  const low = dayStartIn(timezone);
  const from = isBefore(at, low) ? low : at;
  // When all events are in the future, the span is today.
  return (isBefore(now, from) ? now : from).startOfDay();
}

/** The date of a text; undefined for none. @throws Fault at `attr` for a text that is no date. */
export function readDate(text: string | null | undefined, today: Today, side: DateSide, attr: string) {
  const at = text ? parseDate(text, today, side) : undefined;
  if (text && !at) refuseInput(wrongDate, attr);
  return at;
}

/**
 * The starts of the buckets of a span; the first may be before it.
 * @throws Fault invalid_input past queryLimits.queryBucketsMax.
 */
export function listBuckets(interval: Interval, { from, to }: DateSpan, weekStart?: number): Moment[] {
  const first = floorToInterval(interval, from, weekStart);
  const starts: Moment[] = [];
  for (let start = first; isBefore(start, to);) {
    if (starts.length === queryLimits.queryBucketsMax) {
      const most = `${queryLimits.queryBucketsMax} intervals of one ${interval}`;
      refuseInput(`This date range has more than ${most}.`, "query__interval");
    }
    starts.push(start);
    start = addIntervals(interval, first, starts.length);
  }
  return starts;
}

/** The start of the bucket that is `count` intervals after `start`, or before it when negative. */
export function addIntervals(interval: Interval, start: Moment, count: number): Moment {
  const moved = start.add(toDuration(interval, count));
  return timed.has(interval) ? moved : moved.startOfDay();
}

/** ISO 8601 with the zone's offset, as in replies. */
export function zonedIso(at: Moment): string {
  return at.toString({ timeZoneName: "never", smallestUnit: "second" });
}
