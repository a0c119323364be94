// What one query may use of the machine: more while no other runs and the machine is idle.

import { cpus, loadavg } from "node:os";
import type { Clock } from "../core/clock.ts";
import { limits } from "../core/limits.ts";
import { coresHere } from "../core/machine.ts";
import { queryLimits } from "./limits.ts";

export interface QueryBounds {
  seconds: number;
  threads: number;
  /** Whether it is less than on an idle machine. */
  isBusy: boolean;
}

export type QueryMachine = ReturnType<typeof openMachine>;

/** What operators set: QUERY_SECONDS_MAX, QUERY_THREADS_MAX. */
export interface QuerySettings {
  querySecondsMax: number;
  /** By default as many as there are cores. */
  queryThreadsMax?: number | undefined;
}

/**
 * The machine of this process. Its load is measured for 100 ms, and the result serves all queries of the next two
 * seconds: a query that waited for its own measurement took four times as long as its answer.
 */
export function openMachine({ elapsed }: Pick<Clock, "elapsed">, measure = measureWorking) {
  let measured: { at: number; working: Promise<number> } | undefined;
  return {
    cores: coresHere(),
    /** The average number of processes that wanted a core in the last minute; queries that have ended count, too. */
    load: () => loadavg()[0] ?? 0,
    /** How many cores work at this moment. */
    working: () => {
      const at = elapsed();
      if (!measured || at - measured.at >= queryLimits.machineSeenForMs)
        measured = { at, working: measure() };
      return measured.working;
    },
  };
}

async function measureWorking(): Promise<number> {
  const began = performance.now();
  const before = workedMs();
  await Bun.sleep(queryLimits.machineSeenMs);
  return (workedMs() - before) / (performance.now() - began);
}

/** The time that all cores have worked since the machine's start, in ms. */
function workedMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}

/** The bounds on the busiest machine. */
export const leastBounds: QueryBounds = { seconds: limits.querySecondsMax, threads: 1, isBusy: false };

/** @param others queries that run at this moment. */
export async function boundsOfQuery(
  { querySecondsMax: seconds, queryThreadsMax: threads }: QuerySettings,
  machine: QueryMachine,
  others: number,
): Promise<QueryBounds> {
  const isBusy = others > 0 || !(await isIdle(machine));
  if (!isBusy) return { seconds, threads: threads ?? machine.cores, isBusy };
  return { ...leastBounds, seconds: Math.min(seconds, leastBounds.seconds), isBusy };
}

/** The last minute may have been busy with a query that has ended: then the present load decides. */
async function isIdle({ cores, load, working }: QueryMachine): Promise<boolean> {
  const most = cores * queryLimits.idleLoadMax;
  return load() <= most || (await working()) <= most;
}
