// What one query may take of the machine: more while nobody else asks and the machine is idle.

import { loadavg } from "node:os";
import { limits } from "../core/limits.ts";
import { coresHere } from "../core/machine.ts";
import { queryLimits } from "./limits.ts";

export interface QueryBounds {
  seconds: number;
  threads: number;
  /** Whether it is less than on an idle machine. */
  isBusy: boolean;
}

export interface QueryMachine {
  cores: number;
  /** The processes that wanted a core in the last minute, on average. */
  load(): number;
}

/** What operators set: QUERY_SECONDS_MAX, QUERY_THREADS_MAX. */
export interface QuerySettings {
  querySecondsMax: number;
  /** By default as many as there are cores. */
  queryThreadsMax?: number | undefined;
}

export const thisMachine: QueryMachine = { cores: coresHere(), load: () => loadavg()[0] ?? 0 };

/** On any machine, however busy. */
export const leastBounds: QueryBounds = { seconds: limits.querySecondsMax, threads: 1, isBusy: false };

/** @param others queries that run at this moment. */
export function boundsOfQuery(
  { querySecondsMax: seconds, queryThreadsMax: threads }: QuerySettings,
  { cores, load }: QueryMachine,
  others: number,
): QueryBounds {
  const isBusy = others > 0 || load() > cores * queryLimits.idleLoadMax;
  if (!isBusy) return { seconds, threads: threads ?? cores, isBusy };
  return { ...leastBounds, seconds: Math.min(seconds, leastBounds.seconds), isBusy };
}
