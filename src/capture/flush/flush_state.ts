// Whether a loop of the flush gets answers from ClickHouse, and stores.

import type { Clock } from "../../core/clock.ts";
import { codeOf } from "../../core/log.ts";
import { ClickHouseError, exceedsSharedMemory, isUnanswered } from "../../storage/clickhouse/error.ts";
import type { FlushTrouble } from "../../storage/engine_watch.ts";
import { flushLimits } from "./limits.ts";

export class FlushState {
  readonly #clock: Clock;
  /** By clock.elapsed(); undefined while it is not so. */
  #failingSince: number | undefined;
  #silentSince: number | undefined;
  #refusedSince: number | undefined;
  #code = "";

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A statement is sent whose answer takes a short time. */
  begin(): void {
    this.#failingSince ??= this.#clock.elapsed();
    this.#silentSince ??= this.#clock.elapsed();
  }

  answered(): void {
    this.#silentSince = undefined;
  }

  stored(): void {
    [this.#failingSince, this.#silentSince, this.#refusedSince] = [undefined, undefined, undefined];
  }

  failed(thrown: unknown): void {
    this.#code = thrown instanceof ClickHouseError ? thrown.type : codeOf(thrown);
    if (!isUnanswered(thrown)) this.#silentSince = undefined;
    if (exceedsSharedMemory(thrown)) this.#refusedSince ??= this.#clock.elapsed();
    else this.#refusedSince = undefined;
  }

  read(): FlushTrouble {
    const now = this.#clock.elapsed();
    const sinceMs = (since: number | undefined): number => (since === undefined ? 0 : now - since);
    return {
      failingMs: sinceMs(this.#failingSince),
      silentMs: sinceMs(this.#silentSince),
      memoryMs: sinceMs(this.#refusedSince),
      code: this.#code,
    };
  }
}

/**
 * Stops the retries of a server that ends, after `ms`, or once a flush had no answer for flushLimits.drainSilentMsMax:
 * the next start stores the rest. The returned function calls it off.
 */
export function stopAfter(stopping: AbortController, ms: number, readTrouble: () => FlushTrouble) {
  const stop = (): void => stopping.abort();
  const timer = setTimeout(stop, ms);
  const poll = () => readTrouble().silentMs >= flushLimits.drainSilentMsMax && stop();
  const polling = setInterval(poll, flushLimits.drainPollMs);
  return () => {
    clearTimeout(timer);
    clearInterval(polling);
  };
}
