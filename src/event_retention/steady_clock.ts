// Whether the clock can be trusted with what cannot be undone: it has gone as time does for a while. A machine whose
// clock is set ahead would otherwise delete everything before anybody notices.

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

  /** To be asked now and then: whether between no two of the looks of the last ten minutes the clock was set. */
  isSteady(): boolean {
    const [now, elapsed] = [this.#clock.now(), this.#clock.elapsed()];
    const skew = Math.abs(now - this.#now - (elapsed - this.#elapsed));
    if (skew > retentionLimits.expirySkewMsMax) this.#steadySince = elapsed;
    [this.#now, this.#elapsed] = [now, elapsed];
    return elapsed - this.#steadySince >= retentionLimits.expirySteadyMs;
  }
}
