// Whether a loop of the flush gets answers from ClickHouse, and stores.

import type { Clock } from "../../core/clock.ts";
import { toCode } from "../../core/log.ts";
import { ClickHouseError, exceedsSharedMemory, isUnanswered } from "../../storage/clickhouse/error.ts";
import type { FlushTrouble } from "../../storage/engine_watch.ts";
import { flushLimits } from "./limits.ts";

export class FlushState {
  readonly #clock: Clock;
  /** Moments of clock.elapsed() since which: nothing was stored, there was no answer, the engine lacks memory. */
  #failing: number | undefined;
  #silent: number | undefined;
  #refused: number | undefined;
  #code = "";

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A statement is sent that is short at rest. */
  begin(): void {
    this.#failing ??= this.#clock.elapsed();
    this.#silent ??= this.#clock.elapsed();
  }

  answered(): void {
    this.#silent = undefined;
  }

  stored(): void {
    this.#failing = this.#silent = this.#refused = undefined;
  }

  failed(thrown: unknown): void {
    this.#code = thrown instanceof ClickHouseError ? thrown.type : toCode(thrown);
    if (!isUnanswered(thrown)) this.#silent = undefined;
    if (exceedsSharedMemory(thrown)) this.#refused ??= this.#clock.elapsed();
    else this.#refused = undefined;
  }

  read(): FlushTrouble {
    const now = this.#clock.elapsed();
    const [failingMs, silentMs, memoryMs] = [this.#failing, this.#silent, this.#refused].map(
      (since) => now - (since ?? now),
    ) as [number, number, number];
    return { failingMs, silentMs, memoryMs, code: this.#code };
  }
}

/**
 * Stops a flush that ends, after `ms`, or once it had no answer for flushLimits.drainSilentMsMax: the next start stores
 * the rest. The returned function calls it off.
 */
export function stopAfter(stopping: AbortController, ms: number, readTrouble: () => FlushTrouble) {
  const stop = (): void => stopping.abort();
  const poll = () => readTrouble().silentMs >= flushLimits.drainSilentMsMax && stop();
  const [timer, polling] = [setTimeout(stop, ms), setInterval(poll, flushLimits.drainPollMs)];
  return () => {
    clearTimeout(timer);
    clearInterval(polling);
  };
}
