// Watches what running statements cost, in CPU-seconds as the engine counts them: a wall clock would also count what
// other programs use. A question whose statements have used up its share is ended.

import { type Clock, sleep, systemClock } from "../core/clock.ts";
import { WorkExceeded } from "./clickhouse/error.ts";
import { clickhouseLimits } from "./clickhouse/limits.ts";

/** The CPU-seconds that a statement may use, or all statements of one question. */
export interface Work {
  readonly secondsMax: number;
  /** Used by the question's statements that have ended; undefined where each statement has as many of its own. */
  seconds?: number;
}

/** What the engine counts of one running statement: `rows` are those that it will read, as far as it knows by now. */
export type CountedWork = Record<"tag" | "micros" | "rows_read" | "rows", string>;

interface Watched {
  work: Work;
  began: number;
  seen: number;
  seconds: number;
  stop: (reason: WorkExceeded) => void;
}

export class WorkWatch {
  readonly #count: (tags: readonly string[]) => Promise<CountedWork[]>;
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #watched = new Map<string, Watched>();
  #isPolling = false;

  /** @param count reads the engine's counters; while it fails, only the statements' time limits hold. */
  constructor(
    count: (tags: readonly string[]) => Promise<CountedWork[]>,
    clock: Pick<Clock, "elapsed"> = systemClock,
  ) {
    this.#count = count;
    this.#clock = clock;
  }

  /** @param stop is called when the statement, or its question, has used up its share. */
  begin(tag: string, work: Work, stop: Watched["stop"]): void {
    const now = this.#clock.elapsed();
    this.#watched.set(tag, { work, began: now, seen: now, seconds: 0, stop });
    if (!this.#isPolling) void this.#pollWhileWatched();
  }

  /** Adds to its question what the statement cost: what was counted, and the time since, at most that between polls. */
  end(tag: string): void {
    const watched = this.#watched.get(tag);
    this.#watched.delete(tag);
    if (watched?.work.seconds === undefined) return;
    const unseenMs = Math.min(this.#clock.elapsed() - watched.seen, clickhouseLimits.workPollMs);
    watched.work.seconds += watched.seconds + unseenMs / 1000;
  }

  /** Counts once, for the statements that have run for some time. */
  async poll(): Promise<void> {
    const now = this.#clock.elapsed();
    const long = [...this.#watched].filter(([, { began }]) => now - began >= clickhouseLimits.workPollMs);
    if (long.length === 0) return;
    for (const { tag, micros, rows, rows_read } of await this.#count(long.map(([tag]) => tag)).catch(
      () => [],
    )) {
      const watched = this.#watched.get(tag);
      if (!watched) continue;
      const { work, stop } = watched;
      Object.assign(watched, { seconds: Number(micros) / 1e6, seen: now });
      const running = [...this.#watched.values()].filter((other) => other.work === work);
      const used =
        work.seconds === undefined
          ? watched.seconds
          : running.reduce((sum, { seconds }) => sum + seconds, work.seconds);
      const needed = used * Math.max(1, Number(rows) / Math.max(1, Number(rows_read)));
      if (used > work.secondsMax) stop(new WorkExceeded(needed, work.secondsMax));
    }
  }

  async #pollWhileWatched(): Promise<void> {
    this.#isPolling = true;
    while (this.#watched.size > 0) {
      await sleep(clickhouseLimits.workPollMs);
      await this.poll();
    }
    this.#isPolling = false;
  }
}
