// The salts of days whose events are accepted, in memory: the same in every process, made a day ahead, forgotten when
// their day is over. Captures do not wait for Postgres; cookieless events are refused while a salt is missing.

import { type Clock, withinMs } from "../../core/clock.ts";
import { type Log, reasonOf } from "../../core/log.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import type { Uses } from "../../storage/services.ts";
import { type IntervalTask, startInterval } from "../../work/interval.ts";
import { dayMs, saltedDays, Zones } from "./day.ts";
import { cookielessLimits } from "./limits.ts";
import { type SaltSource, saltSource } from "./store.ts";

/** Salts by day (YYYY-MM-DD). */
export type SaltsByDay = ReadonlyMap<string, Uint8Array>;

type SaltsOptions = Uses<"clock" | "log"> & { source: SaltSource };

export class Salts {
  readonly #options: SaltsOptions;
  days: SaltsByDay = new Map();
  readonly zones = new Zones();
  /** From when until when there is a salt for every day whose events are accepted, in milliseconds since 1970. */
  wholeFrom = 0;
  wholeUntil = 0;
  #ticking: IntervalTask | undefined;
  #failing = false;

  constructor(options: SaltsOptions) {
    this.#options = options;
  }

  /** Reads Postgres once, for at most saltReadMsMax, and then whenever a salt is missing or expired. */
  async open(): Promise<void> {
    await this.poll();
    const poll = () => this.poll();
    const { log } = this.#options;
    this.#ticking = startInterval(cookielessLimits.saltPollMs, "reading the salts of days", poll, log);
  }

  /** Forgets expired salts, and reads Postgres when one is missing. Does not reject. */
  async poll(): Promise<void> {
    const { source, clock, log } = this.#options;
    const now = clock.now();
    const days = saltedDays(now);
    const kept = new Map([...this.days].filter(([day]) => days.includes(day)));
    if (kept.size === this.days.size && kept.size === days.length) return;
    // Expired salts go first, whether Postgres answers or not.
    this.#use(kept, days, now);
    const fresh = days.map(() => crypto.getRandomValues(new Uint8Array(saltBytes)));
    try {
      this.#use(await withinMs(source.replace(days, fresh), cookielessLimits.saltReadMsMax), days, now);
      if (this.#failing) log.info("salts of cookieless events are read from Postgres again");
      this.#failing = false;
    } catch (thrown) {
      if (!this.#failing) {
        const text = "salts of cookieless events cannot be read from Postgres; known ones keep working";
        log.warn(text, { known_days: kept.size, reason: reasonOf(thrown) });
      }
      this.#failing = true;
    }
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
    this.wholeFrom = now - cookielessLimits.saltKeptMs;
    this.wholeUntil = next + cookielessLimits.cookielessDayBeginsMs;
  }
}

/** As many as SHA-256 has. */
const saltBytes = 32;

export async function openSalts(sql: Postgres, clock: Clock, log: Log): Promise<Salts> {
  const salts = new Salts({ source: saltSource(sql), clock, log });
  await salts.open();
  return salts;
}
