// Whether the clock has run steadily for a while, so that deletions may rely on it. Otherwise a machine whose clock is
// set ahead would delete everything.

import type { Clock } from "../core/clock.ts";
import { retentionLimits } from "./limits.ts";

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

  /** To be called regularly: whether the clock was not set between any two calls of the last ten minutes. */
  isSteady(): boolean {
    const [now, elapsed] = [this.#clock.now(), this.#clock.elapsed()];
    const skew = Math.abs(now - this.#now - (elapsed - this.#elapsed));
    if (skew > retentionLimits.expirySkewMsMax) this.#steadySince = elapsed;
    [this.#now, this.#elapsed] = [now, elapsed];
    return elapsed - this.#steadySince >= retentionLimits.expirySteadyMs;
  }
}
