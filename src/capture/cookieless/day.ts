// Calendar days in time zones, and the days whose events are accepted, with their salts.

import { type Clock, withinMs } from "../../core/clock.ts";
import type { Log } from "../../core/log.ts";
import { findEngineZone } from "../../storage/clickhouse/zones.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import type { Uses } from "../../storage/services.ts";
import { type IntervalTask, startInterval } from "../../work/interval.ts";
import { captureLimits } from "../limits.ts";
import { type SaltSource, saltSource } from "./store.ts";

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
    now >= begins + captureLimits.cookielessDayBeginsMs && now < begins + captureLimits.cookielessDayEndsMs
  );
}

/** Whether a time may be of a day whose events are accepted at `now`, in any zone; both in milliseconds. */
export function mayBeTaken(millis: number, now: number): boolean {
  return millis > now - captureLimits.cookielessDayEndsMs - dayMs && millis < now + 3 * dayMs;
}

/** The days (YYYY-MM-DD, in order) for which salts are kept at `now` (ms since 1970): six at most. */
export function saltedDays(now: number): string[] {
  const oldest = now - captureLimits.cookielessDayEndsMs - captureLimits.saltKeptMs;
  const newest = now - captureLimits.cookielessDayBeginsMs + captureLimits.saltMadeAheadMs;
  const days: string[] = [];
  for (let at = (Math.floor(oldest / dayMs) + 1) * dayMs; at <= newest; at += dayMs) {
    days.push(new Date(at).toISOString().slice(0, 10));
  }
  return days;
}

/** Salts by day (YYYY-MM-DD). */
export type SaltsByDay = ReadonlyMap<string, Uint8Array>;

type SaltsOptions = Uses<"clock" | "log"> & { source: SaltSource };

/**
 * The salts of days whose events are accepted, in memory: the same in every process, made a day ahead, forgotten when
 * their day is over. Captures do not wait for Postgres; cookieless events are refused while a salt is missing.
 */
export class Salts {
  readonly #options: SaltsOptions;
  days: SaltsByDay = new Map();
  readonly zones = new Zones();
  /** First and last moment with a salt for every day whose events are accepted, in milliseconds since 1970. */
  wholeFrom = 0;
  wholeUntil = 0;
  #ticking: IntervalTask | undefined;

  constructor(options: SaltsOptions) {
    this.#options = options;
  }

  /** Reads Postgres once, for at most saltReadMsMax, and then whenever a salt is missing or expired. */
  async open(): Promise<void> {
    const name = "reading the salts of cookieless events";
    // The interval logs a failure when it happens again.
    await this.poll().catch(() => {});
    const { saltPollMs } = captureLimits;
    this.#ticking = startInterval(saltPollMs, name, () => this.poll(), this.#options.log);
  }

  /** Forgets expired salts, and reads Postgres when one is missing. @throws what Postgres or the deadline throws. */
  async poll(): Promise<void> {
    const { source, clock } = this.#options;
    const now = clock.now();
    const days = saltedDays(now);
    const liveDays = new Map([...this.days].filter(([day]) => days.includes(day)));
    if (liveDays.size === this.days.size && liveDays.size === days.length) return;
    // Expired salts go first, whether Postgres answers or not.
    this.#use(liveDays, days, now);
    const fresh = days.map(() => crypto.getRandomValues(new Uint8Array(saltBytes)));
    this.#use(await withinMs(source.replace(days, fresh), captureLimits.saltReadMsMax), days, now);
  }

  async close(): Promise<void> {
    await this.#ticking?.close();
    this.days = new Map();
    this.wholeUntil = 0;
  }

  #use(salts: SaltsByDay, days: readonly string[], now: number): void {
    this.days = salts;
    const missing = days.find((day) => !salts.has(day));
    const next = missing ? Date.parse(missing) : Date.parse(days.at(-1)!) + dayMs;
    this.wholeFrom = now - captureLimits.saltKeptMs;
    this.wholeUntil = next + captureLimits.cookielessDayBeginsMs;
  }
}

/** Bytes of a SHA-256. */
const saltBytes = 32;

export async function openSalts(sql: Postgres, clock: Clock, log: Log): Promise<Salts> {
  const salts = new Salts({ source: saltSource(sql), clock, log });
  await salts.open();
  return salts;
}
