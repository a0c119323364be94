// Decides which events have expired: whole days (UTC), by project; and whether the clock is reliable.

import { type Clock, keptFrom } from "../core/clock.ts";
import { retentionLimits } from "./limits.ts";

/** A project that keeps its events for fewer days than the server. */
export interface OwnRetention {
  id: number;
  days: number;
}

/** Rows before a moment, of all projects, or of some with moments of their own. Microseconds since 1970. */
export interface Expiry {
  /** All these rows are before this moment. */
  before: number;
  /** Undefined: all projects. */
  projects: { ids: number[]; before: number[] } | undefined;
}

/** Computes what expires in all projects. Those with their own retention keep less, so they need not be excluded. */
export function computeExpiry(now: number, days: number): Expiry {
  return { before: keptFrom(now, days) * 1000, projects: undefined };
}

/** Computes what expires in projects that keep less than the server; at least one of them. */
export function computeOwnExpiry(now: number, retentions: readonly OwnRetention[]): Expiry {
  const before = retentions.map(({ days }) => keptFrom(now, days) * 1000);
  return { before: Math.max(...before), projects: { ids: retentions.map(({ id }) => id), before } };
}

/**
 * The next pass is due when the last one ended before this moment: an hour ago, or the begin of the day (UTC), since
 * days expire then.
 */
export function passDueSince(now: number): number {
  return Math.max(now - retentionLimits.expiryPassMs, keptFrom(now, 0));
}

/**
 * Whether the clock has run steadily for a while, so that deletions may rely on it. Otherwise a machine whose clock is
 * set ahead would delete everything.
 */
export class SteadyClock {
  readonly #clock: Clock;
  #now: number;
  #elapsed: number;
  #steadySince: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#now = clock.now();
    this.#elapsed = clock.elapsed();
    this.#steadySince = this.#elapsed;
  }

  /** Whether the clock was not set between any two calls of the last ten minutes. To be called regularly. */
  isSteady(): boolean {
    const [now, elapsed] = [this.#clock.now(), this.#clock.elapsed()];
    const skew = Math.abs(now - this.#now - (elapsed - this.#elapsed));
    if (skew > retentionLimits.expirySkewMsMax) this.#steadySince = elapsed;
    [this.#now, this.#elapsed] = [now, elapsed];
    return elapsed - this.#steadySince >= retentionLimits.expirySteadyMs;
  }
}
