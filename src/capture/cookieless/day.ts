// Calendar days in time zones, and the days whose events are accepted.

import { findEngineZone } from "../../storage/clickhouse/zones.ts";
import { cookielessLimits } from "./limits.ts";

export interface Day {
  /** YYYY-MM-DD. */
  date: string;
  /** When the day begins in its zone, in milliseconds since 1970. */
  from: number;
}

export const dayMs = 86_400_000;

export class Zones {
  /** The day of the last call, by the zone's canonical name; there are some 440. */
  readonly #last = new Map<string, Day>();

  /**
   * The day of `millis` in a zone of the time zone database, in any case; undefined when there is no such zone. Where
   * clocks jump over midnight, the day begins after the jump.
   */
  dayIn(zone: string, millis: number): Day | undefined {
    const name = findEngineZone(zone);
    if (name === undefined) return undefined;
    const last = this.#last.get(name);
    // Nearly all events of a zone are of the same day.
    if (last && millis >= last.from && millis < last.from + shortestDayMs) return last;
    const at = Temporal.Instant.fromEpochMilliseconds(Math.floor(millis));
    const start = at.toZonedDateTimeISO(name).startOfDay();
    const day = { date: start.toPlainDate().toString(), from: start.epochMilliseconds };
    this.#last.set(name, day);
    return day;
  }
}

/** No day is shorter than this, whatever clocks do, in ms. */
const shortestDayMs = 20 * 3_600_000;

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
