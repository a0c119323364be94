// Watches what running statements cost, in CPU-seconds as the engine counts them: a wall clock would also count what
// other programs use. A question whose statements have used up its share is ended.

import { type Clock, sleep, systemClock } from "../core/clock.ts";
import { type ClickHouseError, noAnswer, WorkExceeded } from "./clickhouse/error.ts";
import { clickhouseLimits } from "./clickhouse/limits.ts";

/** The CPU-seconds that a statement may use, or all statements of one question. */
export interface Work {
  readonly secondsMax: number;
  /** Used by the question's statements that have ended; undefined where each statement has as many of its own. */
  seconds?: number;
}

/** What the engine counts of one running statement: `rows` are those that it will read, as far as it knows by now. */
export type CountedWork = Record<"tag" | "micros" | "rows_read" | "rows", string>;

/**
 * @param count reads the engine's counters: none where it may not. While it throws, the engine does not answer, and
 *   after clickhouseLimits.engineSilentMsMax its statements are given up.
 */
export function openWorkWatch(
  count: (tags: readonly string[]) => Promise<CountedWork[]>,
  { elapsed }: Pick<Clock, "elapsed"> = systemClock,
) {
  type Watched = {
    work: Work;
    began: number;
    seen: number;
    seconds: number;
    stop: (why: ClickHouseError) => void;
  };
  const watched = new Map<string, Watched>();
  let isPolling = false;
  let answered = Number.NEGATIVE_INFINITY;

  /** Counts once, for the statements that have run for some time. */
  const poll = async (): Promise<void> => {
    const now = elapsed();
    const long = [...watched].filter(([, { began }]) => now - began >= clickhouseLimits.workPollMs);
    if (long.length === 0) return;
    const counts = await count(long.map(([tag]) => tag)).catch(() => undefined);
    if (counts) answered = elapsed();
    for (const [, { began, stop }] of counts ? [] : long) {
      if (elapsed() - Math.max(began, answered) >= clickhouseLimits.engineSilentMsMax) stop(noAnswer());
    }
    for (const { tag, micros, rows, rows_read } of counts ?? []) {
      const statement = watched.get(tag);
      if (!statement) continue;
      Object.assign(statement, { seconds: Number(micros) / 1e6, seen: now });
      const { work, stop } = statement;
      const isAlone = work.seconds === undefined;
      const sharing = isAlone ? [statement] : [...watched.values()].filter((other) => other.work === work);
      const used = sharing.reduce((sum, { seconds }) => sum + seconds, work.seconds ?? 0);
      const needed = used * Math.max(1, Number(rows) / Math.max(1, Number(rows_read)));
      if (used > work.secondsMax) stop(new WorkExceeded(needed, work.secondsMax));
    }
  };

  const pollWhileWatched = async (): Promise<void> => {
    isPolling = true;
    for (; watched.size > 0; await poll()) await sleep(clickhouseLimits.workPollMs);
    isPolling = false;
  };

  return {
    poll,
    /** @param stop is called when the statement, or its question, has used up its share. */
    begin: (tag: string, work: Work, stop: Watched["stop"]): void => {
      watched.set(tag, { work, began: elapsed(), seen: elapsed(), seconds: 0, stop });
      if (!isPolling) void pollWhileWatched();
    },
    /** Adds to its question what the statement cost: what was counted, and the time since, at most that between polls. */
    end: (tag: string): void => {
      const statement = watched.get(tag);
      watched.delete(tag);
      if (statement?.work.seconds === undefined) return;
      const unseenMs = Math.min(elapsed() - statement.seen, clickhouseLimits.workPollMs);
      statement.work.seconds += statement.seconds + unseenMs / 1000;
    },
  };
}
