// A rate limit for each key: a sliding window over its admitted requests, in this process alone. A key that is silent
// for one window is forgotten.

import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { putNewest } from "../work/maps.ts";
import { accessLimits } from "./limits.ts";

export interface Budget {
  limit: number;
  remaining: number;
  /** Whole seconds until the oldest counted request leaves the window; 0 when there is none. */
  resetSeconds: number;
}

/**
 * @param limit admitted requests of one key in any window.
 * @param keysMax keys that are counted: of more, those silent longest are forgotten.
 */
export function openRateLimit(
  limit: number,
  clock: Clock,
  { windowMs = accessLimits.rateWindowMs, keysMax = Infinity }: { windowMs?: number; keysMax?: number } = {},
) {
  const secondsUntil = (oldest: number, now: number): number =>
    Math.max(1, Math.ceil((oldest + windowMs - now) / 1000));
  // In the order of their newest request, so that silent keys are found at the front.
  const windows = new Map<string, Window>();
  const forgetSilent = (now: number) => {
    for (const [id, window] of windows) {
      if (window.newest() > now - windowMs) return;
      windows.delete(id);
    }
  };
  const toBudget = (window: Window | undefined, now: number): Budget => ({
    limit,
    remaining: limit - (window?.size ?? 0),
    resetSeconds: window && window.size > 0 ? secondsUntil(window.oldest(), now) : 0,
  });
  return {
    /** Counts one request of the key. @throws Fault throttled when its budget is spent. */
    count: (key_id: string) => {
      const now = clock.elapsed();
      forgetSilent(now);
      const window = windows.get(key_id) ?? new Window();
      window.forget(now - windowMs);
      if (window.size >= limit) throw throttled(secondsUntil(window.oldest(), now));
      window.add(now);
      putNewest(windows, key_id, window, keysMax);
      return toBudget(window, now);
    },
    /** Takes back the key's newest request, which turned out not to count. */
    uncount: (key_id: string) => windows.get(key_id)?.removeNewest(),
    read: (key_id: string) => {
      const now = clock.elapsed();
      const window = windows.get(key_id);
      window?.forget(now - windowMs);
      return toBudget(window, now);
    },
    /** Keys with a request in the window, as of the last request. */
    keysCount: () => windows.size,
  };
}

function throttled(seconds: number): Fault {
  const detail = `Request was throttled. Expected available in ${seconds} second${seconds === 1 ? "" : "s"}.`;
  return new Fault("throttled", detail, { retryAfterSeconds: seconds });
}

/** Timestamps in order. Removed ones stay at the front until they are half of all. */
class Window {
  #moments: number[] = [];
  #first = 0;

  get size(): number {
    return this.#moments.length - this.#first;
  }

  oldest(): number {
    return this.#moments[this.#first] ?? 0;
  }

  newest(): number {
    return this.size === 0 ? -Infinity : this.#moments.at(-1)!;
  }

  forget(moment: number): void {
    while (this.size > 0 && this.oldest() <= moment) this.#first++;
    if (this.#first > this.size) this.#first -= this.#moments.splice(0, this.#first).length;
  }

  removeNewest(): void {
    if (this.size > 0) this.#moments.pop();
  }

  add(moment: number): void {
    this.#moments.push(moment);
  }
}
