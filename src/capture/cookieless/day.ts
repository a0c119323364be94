// Calendar days in time zones, and the days whose events are accepted. Keeps one formatter for each zone.

import { cookielessLimits } from "./limits.ts";

export interface Day {
  /** YYYY-MM-DD. */
  date: string;
  /** When the day begins in its zone, in milliseconds since 1970. */
  from: number;
}

export const dayMs = 86_400_000;

interface Zone {
  format: Intl.DateTimeFormat;
  /** The day of the last call. */
  last: Day | undefined;
}

export class Zones {
  /** By the zone's name in lower case; there are some 600. */
  readonly #zones = new Map<string, Zone>();

  /**
   * The day of `millis` in a zone of the time zone database; undefined when there is no such zone. Where clocks jump
   * over midnight, the day begins after the jump.
   */
  dayIn(zone: string, millis: number): Day | undefined {
    const known = this.#zoneOf(zone);
    if (!known) return undefined;
    const { format, last } = known;
    // Nearly all events of a zone are of the same day.
    if (last && millis >= last.from && millis < last.from + shortestDayMs) return last;
    const date = format.format(millis).slice(0, 10);
    const midnight = Date.parse(`${date}T00:00:00Z`);
    const first = midnight - offsetAt(format, millis);
    // The offset may differ at the beginning of the day, and before a jump of the clocks.
    const candidates = [
      first,
      midnight - offsetAt(format, first),
      midnight - offsetAt(format, first - jumpMsMax),
    ];
    const from = Math.min(...candidates.filter((at) => format.format(at).slice(0, 10) === date));
    known.last = { date, from };
    return known.last;
  }

  #zoneOf(zone: string): Zone | undefined {
    // There are no longer names.
    if (zone.length > zoneCharsMax) return undefined;
    const name = zone.toLowerCase();
    const known = this.#zones.get(name);
    if (known) return known;
    // The runtime also accepts offsets like +01:00, which are no zones, and too many to keep formatters for.
    if (!/^[a-z][a-z0-9_+\-/]*$/.test(name)) return undefined;
    try {
      // The Swedish format is that of ISO 8601.
      const format = new Intl.DateTimeFormat("sv-SE", { ...fields, timeZone: name });
      const made: Zone = { format, last: undefined };
      this.#zones.set(name, made);
      return made;
    } catch {
      return undefined;
    }
  }
}

/** No day is shorter than this, whatever clocks do, in ms. */
const shortestDayMs = 20 * 3_600_000;
/** Clocks jump by an hour or two at most, in ms. */
const jumpMsMax = 3 * 3_600_000;

/** Whether events of a day are accepted at `now` (ms since 1970): it has begun somewhere, and ended not long ago. */
export function isTaken(date: string, now: number): boolean {
  const begins = Date.parse(`${date}T00:00:00Z`);
  return (
    now >= begins + cookielessLimits.cookielessDayBeginsMs &&
    now < begins + cookielessLimits.cookielessDayEndsMs
  );
}

/** Whether a time may be of a day whose events are accepted at `now`, in any zone; both in milliseconds. */
export function mayBeTaken(millis: number, now: number): boolean {
  return millis > now - cookielessLimits.cookielessDayEndsMs - dayMs && millis < now + 3 * dayMs;
}

/** The days (YYYY-MM-DD, in order) for which salts are kept at `now` (ms since 1970): six at most. */
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
