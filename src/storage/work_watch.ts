// Watches what running statements cost, in CPU-seconds as the engine counts them: a wall clock would also count what
// other programs use. A question whose statements have used up its share is ended.

import { type Clock, sleep, systemClock } from "../core/clock.ts";
import { type ClickHouseError, noAnswer, tooManyWait, WorkExceeded } from "./clickhouse/error.ts";
import { clickhouseLimits } from "./clickhouse/limits.ts";

/** The CPU-seconds that a statement may use, or all statements of one question. */
export interface Work {
  readonly secondsMax: number;
  /** Used by the question's statements that have ended; undefined where each statement has as many of its own. */
  seconds?: number;
  /** The time of these that was not counted: they may have worked, or waited for others. */
  uncountedSeconds?: number;
  /** Whether it is ended now, after so many, because others wait. */
  mustYield?: (usedSeconds: number) => boolean;
}

/**
 * The engine's counters of one running statement: `rows` are those that it will read, as far as it knows by now;
 * `threads` are the system's ids of those that have worked for it.
 */
export type CountedWork = Record<"tag" | "micros" | "rows_read" | "rows", string> & { threads: string[] };

interface Watched {
  work: Work;
  began: number;
  seen: number;
  micros: string;
  seconds: number;
  threads: Map<string, number>;
  stop: (why: ClickHouseError) => void;
}

/**
 * @param readThread the CPU-seconds of a thread of this machine, where the engine is on it.
 * @param count reads the engine's counters: none where it may not. While it throws, the engine does not answer, and
 *   after clickhouseLimits.engineSilentMsMax its statements are given up.
 */
export function openWorkWatch(
  count: (tags: readonly string[]) => Promise<CountedWork[]>,
  { elapsed }: Pick<Clock, "elapsed"> = systemClock,
  readThread: (thread: string) => number = () => 0,
) {
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
    for (const [, { began, stop }] of counts ? [] : long)
      if (elapsed() - Math.max(began, answered) >= clickhouseLimits.engineSilentMsMax) stop(noAnswer());
    const workers = Map.groupBy(counts?.flatMap(({ threads }) => threads) ?? [], (thread) => thread);
    for (const { tag, micros, rows, rows_read, threads } of counts ?? []) {
      const statement = watched.get(tag);
      if (!statement) continue;
      // The engine counts between two blocks: in a join of two, its threads are asked. One that has worked for several
      // statements counts for each in part; one without a time has ended, or could not be read.
      let unseen = 0;
      for (const thread of threads) {
        const [seconds, before] = [readThread(thread), statement.threads.get(thread)];
        if (seconds <= 0) continue;
        const isSilent = micros === statement.micros && before !== undefined;
        if (isSilent) unseen += Math.max(0, seconds - before) / workers.get(thread)!.length;
        statement.threads.set(thread, seconds);
      }
      const seconds = Math.max(Number(micros) / 1e6, statement.seconds + unseen);
      Object.assign(statement, { micros, seconds, seen: now });
      const { work, stop } = statement;
      const isAlone = work.seconds === undefined;
      const sharing = isAlone ? [statement] : [...watched.values()].filter((entry) => entry.work === work);
      const used = sharing.reduce((sum, { seconds }) => sum + seconds, work.seconds ?? 0);
      const needed = used * Math.max(1, Number(rows) / Math.max(1, Number(rows_read)));
      if (used > work.secondsMax) stop(new WorkExceeded(needed, work.secondsMax));
      else if (work.mustYield?.(used)) stop(tooManyWait());
    }
  };

  const pollWhileWatched = async (): Promise<void> => {
    isPolling = true;
    // One poll that fails, as by an answer of no engine, ends no watch.
    for (; watched.size > 0; await poll().catch(() => {})) await sleep(clickhouseLimits.workPollMs);
    isPolling = false;
  };

  return {
    poll,
    /** @param stop is called when the statement, or its question, has used up its share. */
    begin: (tag: string, work: Work, stop: Watched["stop"]): void => {
      const now = elapsed();
      watched.set(tag, { work, began: now, seen: now, micros: "", seconds: 0, threads: new Map(), stop });
      if (!isPolling) void pollWhileWatched();
    },
    /** Adds to its question what was counted of the statement; the time since, at most that between polls, apart. */
    end: (tag: string): void => {
      const statement = watched.get(tag);
      watched.delete(tag);
      if (statement?.work.seconds === undefined) return;
      const { work, seconds, seen } = statement;
      work.seconds! += seconds;
      const uncountedMs = Math.min(elapsed() - seen, clickhouseLimits.workPollMs);
      work.uncountedSeconds = (work.uncountedSeconds ?? 0) + uncountedMs / 1000;
    },
  };
}
