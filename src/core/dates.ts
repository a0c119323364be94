// Dates as people write them, absolute and relative, in a project's time zone: one reader for queries and lists.

type Moment = Temporal.ZonedDateTime;

/** Units of relative dates, and of the buckets of queries. */
export type DateUnit = "second" | "minute" | "hour" | "day" | "week" | "month" | "quarter" | "year";

export interface Today {
  /** Milliseconds since 1970. */
  now: number;
  timezone: string;
  /** The day on which weeks begin, from 0 for Sunday on. */
  weekStart?: number;
}

export const isBefore = (at: Moment, other: Moment): boolean => Temporal.ZonedDateTime.compare(at, other) < 0;

/**
 * Whether a day means its start or its end; exact: its start, and what is relative means that very moment; lastDay: any
 * date means the end of its day.
 */
export type DateSide = "start" | "end" | "exact" | "lastDay";

export const relative = /^(?:-(\d{1,4}))?([hdwmqyMs])((?<![Ms])(?:Start|End))?$/;
// A plus that is not escaped in a query string arrives as a space.
const absolute =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::[0-5]\d(?:[.,]\d{1,9})?)?)(Z|[+\- ](?:0\d|1[0-4]):?[0-5]\d)?)?$/i;

/** An absolute or relative date; undefined for other texts. */
export function parseDate(text: string, today: Today, side: DateSide): Moment | undefined {
  const now = toNow(today);
  const [, digits, unit, position] = relative.exec(text) ?? [];
  if (unit !== undefined && (digits !== undefined || position !== undefined)) {
    const at = now.subtract(toDuration(units[unit]!, Number(digits ?? 0)));
    return relativeMoment(at, unit, position, side, today.weekStart);
  }
  const [, day, time, zone] = absolute.exec(text) ?? [];
  if (day === undefined) return undefined;
  try {
    const date = Temporal.PlainDate.from(day);
    if (time === undefined) {
      const start = date.toZonedDateTime(now.timeZoneId);
      return side === "end" || side === "lastDay" ? endOfDay(start) : start;
    }
    const at =
      zone === undefined
        ? date.toZonedDateTime({ timeZone: now.timeZoneId, plainTime: Temporal.PlainTime.from(time) })
        : Temporal.Instant.from(`${day}T${time}${zone.toUpperCase().replace(" ", "+")}`).toZonedDateTimeISO(
            now.timeZoneId,
          );
    if (side === "end") return at.add({ microseconds: 1 });
    return side === "lastDay" ? endOfDay(at) : at;
  } catch {
    return undefined;
  }
}

function relativeMoment(
  at: Moment,
  unit: string,
  position: string | undefined,
  side: DateSide,
  weekStart: number | undefined,
): Moment {
  if (position === undefined) {
    if (side === "exact" || ("sMh".includes(unit) && side !== "lastDay")) return at;
    return side === "start" ? at.startOfDay() : endOfDay(at);
  }
  const start = floorToInterval(units[unit]!, at, weekStart);
  if (position === "End") return start.add(toDuration(units[unit]!, 1));
  return side === "lastDay" ? endOfDay(start) : start;
}

export function endOfDay(at: Moment): Moment {
  return at.add({ days: 1 }).startOfDay();
}

export function toNow({ now, timezone }: Today): Moment {
  return Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timezone);
}

/** The first and the last moment of ClickHouse's DateTime64(6). */
const storable = ["1900-01-01T00:00:00Z", "2299-12-31T23:59:59.999999Z"];

/** The nearest moment that the engine can store: no event is beyond. */
export function asStored(at: Moment): Moment {
  const [low, high] = storable.map((text) => Temporal.Instant.from(text).toZonedDateTimeISO(at.timeZoneId));
  if (isBefore(at, low!)) return low!;
  return isBefore(high!, at) ? high! : at;
}

/** The units of relative dates, the shortest first. */
export const units: Readonly<Record<string, DateUnit>> = {
  s: "second",
  M: "minute",
  h: "hour",
  d: "day",
  w: "week",
  m: "month",
  q: "quarter",
  y: "year",
};

/** DateUnits that are shorter than a day, in seconds. */
export const timed: ReadonlyMap<DateUnit, number> = new Map([
  ["second", 1],
  ["minute", 60],
  ["hour", 3600],
]);

/** DateUnits of whole months. */
export const monthly: ReadonlyMap<DateUnit, number> = new Map([
  ["month", 1],
  ["quarter", 3],
  ["year", 12],
]);

export function toDuration(interval: DateUnit, count: number): Temporal.DurationLike {
  const months = monthly.get(interval);
  return months ? { months: months * count } : { [`${interval}s`]: count };
}

/** The start of the bucket of a moment. @param weekStart the day on which weeks begin; by default Sunday. */
export function floorToInterval(interval: DateUnit, at: Moment, weekStart = 0): Moment {
  if (interval === "second" || interval === "minute" || interval === "hour")
    return at.round({ smallestUnit: interval, roundingMode: "floor" });
  if (interval === "day") return at.startOfDay();
  if (interval === "week") return at.subtract({ days: (at.dayOfWeek + 7 - weekStart) % 7 }).startOfDay();
  const months = (at.month - 1) % monthly.get(interval)!;
  return at.with({ day: 1 }).subtract({ months }).startOfDay();
}

/** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, as ClickHouse reads it. */
export function clickhouseTime(at: Moment): string {
  const text = at.toInstant().toString({ smallestUnit: "microsecond" });
  return text.replace("T", " ").replace("Z", "");
}
