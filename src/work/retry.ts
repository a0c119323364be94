// Retries with backoff until it succeeds or is stopped.

import { sleep } from "../core/clock.ts";
import { type Log, toReason } from "../core/log.ts";
import { workLimits } from "./limits.ts";

/**
 * Runs `step` until it succeeds; resolves to undefined when it was stopped first.
 * @param how `stopping` ends the retries, and a pause at once; `failure` is the log message of a failure: a warning for
 *   the first and every twentieth.
 * @param pauseMsMax the longest pause.
 */
export async function retryUntilDone<T>(
  step: () => Promise<T>,
  {
    pauseMsMax = workLimits.retryMsMax,
    ...how
  }: {
    stopping: AbortSignal;
    log: Log;
    failure: string;
    about?: Record<string, unknown>;
    pauseMsMax?: number;
  },
): Promise<T | undefined> {
  for (let attempt = 0; !how.stopping.aborted; attempt++) {
    try {
      return await step();
    } catch (thrown) {
      const level = attempt === 0 || attempt % 20 === 19 ? "warn" : "debug";
      how.log[level](how.failure, { ...how.about, attempt, reason: toReason(thrown) });
      const ms = Math.min(pauseMsMax, workLimits.retryMsMin * 2 ** Math.min(attempt, 20));
      await sleep(ms / 2 + (Math.random() * ms) / 2, how.stopping);
    }
  }
  return undefined;
}
