// Whether something failed just now, told from a count that rises with each failure.

import type { Clock } from "../../../core/clock.ts";

export class RecentFailures {
  readonly #clock: Clock;
  readonly #recentMs: number;
  #count = 0;
  #at = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, recentMs: number) {
    this.#clock = clock;
    this.#recentMs = recentMs;
  }

  /** Whether the count has risen within the last `recentMs`, as far as it was asked meanwhile. */
  look(count: number): boolean {
    const now = this.#clock.elapsed();
    if (count !== this.#count) this.#at = now;
    this.#count = count;
    return now - this.#at < this.#recentMs;
  }
}
