// The calendar day that a moment is of in a time zone, and which days' events are taken. Keeps a formatter a zone.

import { cookielessLimits } from "./limits.ts";

export interface Day {
  /** YYYY-MM-DD. */
  date: string;
  /** When it begins in its zone, in milliseconds since 1970. */
  from: number;
}

export const dayMs = 86_400_000;

/**
 * The day of `millis` in a zone of the time zone database; undefined when there is no zone of this name. Where the
 * clocks jump over midnight, the day begins behind the jump.
 */
export function dayIn(zone: string, millis: number): Day | undefined {
  const known = zoneOf(zone);
  if (!known) return undefined;
  const { format, last } = known;
  // Nearly all events of a zone are of one day.
  if (last && millis >= last.from && millis < last.from + shortestDayMs) return last;
  const date = format.format(millis).slice(0, 10);
  const midnight = Date.parse(`${date}T00:00:00Z`);
  const first = midnight - offsetAt(format, millis);
  // The offset in force then may be another one, and before the jump one more.
  const candidates = [
    first,
    midnight - offsetAt(format, first),
    midnight - offsetAt(format, first - jumpMsMax),
  ];
  const from = Math.min(...candidates.filter((at) => format.format(at).slice(0, 10) === date));
  known.last = { date, from };
  return known.last;
}

/** No day is shorter, however its clocks are set, in ms. */
const shortestDayMs = 20 * 3_600_000;
/** Clocks are set by an hour or two, in ms. */
const jumpMsMax = 3 * 3_600_000;

/** Whether events of a day are taken at `now` (ms since 1970): it has begun somewhere, and is not long over. */
export function isTaken(date: string, now: number): boolean {
  const begins = Date.parse(`${date}T00:00:00Z`);
  return (
    now >= begins + cookielessLimits.cookielessDayBeginsMs &&
    now < begins + cookielessLimits.cookielessDayEndsMs
  );
}

/** Whether a moment may be of a day whose events are taken at `now`, whatever its zone; both in milliseconds. */
export function mayBeTaken(millis: number, now: number): boolean {
  return millis > now - cookielessLimits.cookielessDayEndsMs - dayMs && millis < now + 3 * dayMs;
}

/** The days (YYYY-MM-DD, in order) that a salt is kept for at `now`, in ms since 1970: six at most. */
export function saltedDays(now: number): string[] {
  const oldest = now - cookielessLimits.cookielessDayEndsMs - cookielessLimits.saltKeptMs;
  const newest = now - cookielessLimits.cookielessDayBeginsMs + cookielessLimits.saltMadeAheadMs;
  const days: string[] = [];
  for (let at = (Math.floor(oldest / dayMs) + 1) * dayMs; at <= newest; at += dayMs) {
    days.push(new Date(at).toISOString().slice(0, 10));
  }
  return days;
}

/** Milliseconds east of UTC. */
function offsetAt(format: Intl.DateTimeFormat, millis: number): number {
  const whole = Math.floor(millis / 1000) * 1000;
  return Date.parse(`${format.format(whole).replace(" ", "T")}Z`) - whole;
}

interface Zone {
  format: Intl.DateTimeFormat;
  /** The day that was asked for last. */
  last: Day | undefined;
}

/** By the zone's name in small letters: there are some 600, however they are spelled. */
const zones = new Map<string, Zone>();

function zoneOf(zone: string): Zone | undefined {
  // A longer one is none, and would be copied for nothing.
  if (zone.length > zoneCharsMax) return undefined;
  const name = zone.toLowerCase();
  const known = zones.get(name);
  if (known) return known;
  // Offsets like +01:00 are taken by the runtime, but they are no zones, and there are many.
  if (!/^[a-z][a-z0-9_+\-/]*$/.test(name)) return undefined;
  try {
    // Swedish writes as ISO 8601 does.
    const format = new Intl.DateTimeFormat("sv-SE", { ...fields, timeZone: name });
    const made: Zone = { format, last: undefined };
    zones.set(name, made);
    return made;
  } catch {
    return undefined;
  }
}

const zoneCharsMax = 64;

const fields = {
  calendar: "gregory",
  hourCycle: "h23",
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
} as const;
