// The intervals of an export: half-open spans of time. Minutes and hours are counted from 1970 in UTC; days and weeks
// begin at an hour on the clock of a zone, so that a change of clocks makes one shorter or longer.

import { refuseInput } from "../core/fault.ts";
import { readStoredZone } from "../storage/clickhouse/zones.ts";

/** Half-open, in ms since 1970; a start of null is the beginning of time. */
export interface ExportInterval {
  start: number | null;
  end: number;
}

/** Into which intervals an export divides time. */
export interface Cadence {
  /** hour, day, week, "every N minutes", or `wholeRange`. */
  interval: string;
  timezone: string;
  /** The day on which weeks begin; 0 is Sunday. */
  offset_day: number;
  /** The hour at which days and weeks begin. */
  offset_hour: number;
}

/** A cadence of this interval as a request changes it. @throws Fault for an offset that the interval does not have. */
export function readCadence(
  changes: { [Name in keyof Omit<Cadence, "interval">]?: Cadence[Name] | null | undefined },
  interval: string,
  stored: Cadence | undefined,
): Cadence {
  const offset = (name: "offset_day" | "offset_hour", named: string, isApplicable: boolean) => {
    if (isApplicable) return (changes[name] === undefined ? stored?.[name] : changes[name]) ?? 0;
    if (!changes[name]) return 0;
    return refuseInput(`${name} is not applicable for non-${named} intervals`, name);
  };
  return {
    interval,
    timezone: (changes.timezone === undefined ? stored?.timezone : changes.timezone) ?? "UTC",
    offset_day: offset("offset_day", "weekly", interval === "week"),
    offset_hour: offset("offset_hour", "daily/weekly", interval === "day" || interval === "week"),
  };
}

/** The interval of a backfill that repeats a run: its range is not divided. */
export const wholeRange = "whole range";

export interface Grid {
  /** The length of an interval without a change of clocks, in ms. */
  lengthMs: number;
  /** The last boundary at or before a moment. */
  before(moment: number): number;
  /** The first boundary after a moment. */
  after(moment: number): number;
  /** Days and weeks: the boundary on a date; for weeks, a date on which one begins. */
  startOn?(date: Temporal.PlainDate): number;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** @throws Error for an interval that is none: they were checked when they were stored. */
export function openGrid(cadence: Cadence): Grid {
  const { interval } = cadence;
  if (interval === "day") return openDays(1, { ...cadence, offset_day: 0 });
  if (interval === "week") return openDays(7, cadence);
  if (interval === wholeRange)
    return { lengthMs: Infinity, before: (moment) => moment, after: () => Infinity };
  const lengthMs = countMinutes(interval) * minuteMs;
  if (lengthMs === dayMs) return openDays(1, { timezone: "UTC", offset_day: 0, offset_hour: 0 });
  const before = (moment: number) => Math.floor(moment / lengthMs) * lengthMs;
  return { lengthMs, before, after: (moment) => before(moment) + lengthMs };
}

function countMinutes(interval: string): number {
  const minutes = interval === "hour" ? 60 : Number(/^every ([1-9]\d{0,3}) minutes$/.exec(interval)?.[1]);
  if (Number.isNaN(minutes)) throw new Error(`"${interval}" is not an interval`);
  return minutes;
}

/** An hour that a zone skips is the one after it, of a repeated one the first counts; a date may be skipped, too. */
function openDays(days: 1 | 7, { timezone, offset_day, offset_hour }: Omit<Cadence, "interval">): Grid {
  const timeZone = readStoredZone(timezone);
  const plainTime = new Temporal.PlainTime(offset_hour);
  const startOn = (date: Temporal.PlainDate) =>
    date.toZonedDateTime({ timeZone, plainTime }).epochMilliseconds;
  /** The date of a boundary less than an interval away. */
  const dateNear = (moment: number) => {
    const date = Temporal.Instant.fromEpochMilliseconds(moment).toZonedDateTimeISO(timeZone).toPlainDate();
    return date.subtract({ days: (date.dayOfWeek - offset_day + 7) % days });
  };
  return {
    lengthMs: days * dayMs,
    startOn,
    before(moment) {
      let date = dateNear(moment).add({ days });
      while (startOn(date) > moment) date = date.subtract({ days });
      return startOn(date);
    },
    after(moment) {
      let date = dateNear(moment).subtract({ days });
      while (startOn(date) <= moment) date = date.add({ days });
      return startOn(date);
    },
  };
}

export interface ExportSchedule {
  /** Intervals that end at or before it are scheduled already. */
  scheduled_until: Date;
  /** The end of the last scheduled run, which may be of another grid. */
  last_end: Date | null;
  /** Intervals that end before the start, or after the end, are not run. */
  start_at: Date | null;
  end_at: Date | null;
}

/**
 * The oldest interval that has ended by `now` and is not scheduled; undefined when none is due. After a change of the
 * grid it begins where the last run ended.
 */
export function nextDue(
  { scheduled_until, last_end, start_at, end_at }: ExportSchedule,
  grid: Grid,
  now: number,
): ExportInterval | undefined {
  const first = grid.after(scheduled_until.getTime());
  const end = start_at === null ? first : Math.max(first, grid.after(start_at.getTime() - 1));
  if (end > now || (end_at !== null && end > end_at.getTime())) return undefined;
  return { start: Math.max(grid.before(end - 1), last_end?.getTime() ?? -Infinity), end };
}

/** The number of intervals in a backfill's range; the first and the last one may be shorter. */
export function intervalsIn(start: number, end: number, grid: Grid): number {
  if (start >= end) return 0;
  if (isWithinOne(start, end, grid)) return 1;
  return Math.round((grid.after(end - 1) - grid.before(start)) / grid.lengthMs);
}

/**
 * The interval of a backfill from `from` on, up to its `end`; undefined at the end. Intervals are those of the
 * schedule, so that both name the same files; where a longer range begins or ends within one, that part has its own.
 */
export function findNextInRange(from: number, end: number, grid: Grid): ExportInterval | undefined {
  if (from >= end) return undefined;
  return { start: from, end: isWithinOne(from, end, grid) ? end : Math.min(grid.after(from), end) };
}

function isWithinOne(start: number, end: number, grid: Grid): boolean {
  return end - start <= grid.after(start) - grid.before(start);
}

/** Python's spelling: 2025-01-07T00:00:00+00:00, with microseconds only where there are some. */
export function isoText(ms: number): string {
  const text = new Date(ms).toISOString();
  const fraction = text.slice(20, 23) === "000" ? "" : `.${text.slice(20, 23)}000`;
  return `${text.slice(0, 19)}${fraction}+00:00`;
}
