// Retries with backoff until it succeeds or is stopped.

import { sleep } from "../core/clock.ts";
import { type Log, toReason } from "../core/log.ts";
import { workLimits } from "./limits.ts";

interface RetryOptions {
  /** Ends the retries, and a pause at once. */
  stopping: AbortSignal;
  log: Log;
  /** The log message of a failure: a warning for the first and every twentieth. */
  failure: string;
  about?: Record<string, unknown>;
  /** The longest pause; workLimits.retryMsMax by default. */
  pauseMsMax?: number;
}

/** Runs `step` until it succeeds; resolves to undefined when it was stopped first. */
export async function retryUntilDone<T>(step: () => Promise<T>, how: RetryOptions): Promise<T | undefined> {
  for (let attempt = 0; !how.stopping.aborted; attempt++) {
    try {
      return await step();
    } catch (thrown) {
      const level = attempt === 0 || attempt % 20 === 19 ? "warn" : "debug";
      how.log[level](how.failure, { ...how.about, attempt, reason: toReason(thrown) });
      await pause(attempt, how);
    }
  }
  return undefined;
}

async function pause(attempt: number, { stopping, pauseMsMax }: RetryOptions): Promise<void> {
  const ms = Math.min(
    pauseMsMax ?? workLimits.retryMsMax,
    workLimits.retryMsMin * 2 ** Math.min(attempt, 20),
  );
  await sleep(ms / 2 + (Math.random() * ms) / 2, stopping);
}
