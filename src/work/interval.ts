// Tasks that repeat on a timer. A tick never overlaps the next, and a failing one is logged once until it works again.

import { withinMs } from "../core/clock.ts";
import { type Log, toReason } from "../core/log.ts";

export interface IntervalTask {
  /** Starts no further tick; resolves when the running one has ended. */
  close(): Promise<void>;
}

/** Runs `tick` every `ms`, the first time after `ms`; a tick that takes longer delays the next. */
export function startInterval(ms: number, name: string, tick: () => Promise<void>, log: Log): IntervalTask {
  const logged = failuresLogged(name, log);
  let closed = false;
  let running: Promise<void> = Promise.resolve();
  let timer = setTimeout(start, ms);

  function start(): void {
    running = logged(tick).finally(() => {
      if (!closed) timer = setTimeout(start, ms);
    });
  }

  return {
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** Logs the first of several failures in a row, and the next success. A failure is undefined, and an abort silent. */
export function failuresLogged(name: string, log: Log) {
  let failing = false;
  return async <T>(tick: () => Promise<T>, signal?: AbortSignal): Promise<T | undefined> => {
    try {
      const made = await tick();
      if (failing) log.info(`${name} works again`);
      failing = false;
      return made;
    } catch (thrown) {
      if (signal?.aborted) return undefined;
      if (!failing) log.warn(`${name} failed`, { reason: toReason(thrown) });
      failing = true;
      return undefined;
    }
  };
}

/** A worker that does this from its start on. */
export function intervalWorker(...task: Parameters<typeof startInterval>): Worker {
  let ticking: IntervalTask | undefined;
  return {
    start: () => void (ticking = startInterval(...task)),
    close: async () => await ticking?.close(),
  };
}

/** Started when the stores are ready. */
export interface Worker {
  start(): void;
  /** Resolves when it has stopped. */
  close(): Promise<void>;
}

/** Stops all of them. What does not end within `msMax` is left: its leases run out. */
export async function endAll(workers: readonly Worker[], msMax: number, log: Log): Promise<void> {
  await withinMs(Promise.all(workers.map((worker) => worker.close())), msMax).catch((thrown: unknown) => {
    log.warn("work in the background did not end in time", { reason: toReason(thrown) });
  });
}
