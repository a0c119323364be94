// Tasks that repeat on a timer. A tick never overlaps the next, and a failing one is logged once until it works again.

import { type Log, reasonOf } from "../core/log.ts";
import type { Worker } from "./worker.ts";

export interface IntervalTask {
  /** Starts no further tick; resolves when the running one has ended. */
  close(): Promise<void>;
}

/** Runs `tick` every `ms`, the first time after `ms`; a tick that takes longer delays the next. */
export function startInterval(ms: number, name: string, tick: () => Promise<void>, log: Log): IntervalTask {
  let failing = false;
  let closed = false;
  let running: Promise<void> = Promise.resolve();
  let timer = setTimeout(start, ms);

  function start(): void {
    running = run().finally(() => {
      if (!closed) timer = setTimeout(start, ms);
    });
  }

  async function run(): Promise<void> {
    try {
      await tick();
      if (failing) log.info(`${name} works again`);
      failing = false;
    } catch (thrown) {
      if (!failing) log.warn(`${name} failed`, { reason: reasonOf(thrown) });
      failing = true;
    }
  }

  return {
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await running;
    },
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
