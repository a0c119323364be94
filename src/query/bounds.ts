// Bounds what one question may cost in the measure of its store: CPU-seconds, and threads by the store's cores.

import { Fault } from "../core/fault.ts";
import {
  type ClickHouseError,
  describeExcess,
  type Work,
  WorkExceeded,
} from "../storage/clickhouse/clickhouse.ts";
import { queryLimits } from "./limits.ts";

/** The store, as far as it decides what a question may cost. A figure that it does not give is 0. */
export interface QueryStore {
  countCores(): Promise<number>;
  /** Rows of a project's events. */
  countRows(project_id: number): Promise<number>;
  /** Rows of all parts that a statement reads. */
  countRead(text: string, params: Record<string, unknown>): Promise<number>;
}

export interface QueryBounds {
  work: Work;
  /** How long it may take, whatever it costs. */
  seconds: number;
  /** Threads of its next statement. */
  threads: () => number;
  /** @throws Fault invalid_input when the statement cannot be run with so many CPU-seconds. */
  check: (text: string, params: Record<string, unknown>) => Promise<void>;
}

/**
 * Bounds of a question that starts now.
 * @param cpuSecondsMax QUERY_CPU_SECONDS_MAX; by default it follows from the store's cores.
 * @param running how many run, with this one. @param mustYield as in Work.
 */
export async function chooseBounds(
  store: QueryStore,
  cpuSecondsMax?: number,
  running: () => number = () => 1,
  mustYield?: Work["mustYield"],
): Promise<QueryBounds> {
  const cores = Math.max(1, await store.countCores());
  const { cpuSecondsMin, cpuSecondsPerCore, secondsMin, waitsPerSecond } = queryLimits;
  const secondsMax = cpuSecondsMax ?? Math.max(cpuSecondsMin, cores * cpuSecondsPerCore);
  return {
    work: { secondsMax, seconds: 0, ...(mustYield && { mustYield }) },
    seconds: Math.max(secondsMin, (secondsMax / cores) * waitsPerSecond),
    threads: () => Math.max(1, Math.floor(cores / running())),
    check: async (text, params) => {
      if (endsEarly(text) || (await countUsual(store, params["project_id"])) <= secondsMax) return;
      const { rowSecondsMin, propertiesSecondsMin } = queryLimits;
      // Refuses what even the cheapest way of reading its rows would not finish. Others run, and are watched.
      const rowSeconds = text.includes("properties") ? propertiesSecondsMin : rowSecondsMin;
      const seconds = (await store.countRead(text, params)) * rowSeconds;
      if (seconds > secondsMax) throw tooHeavy(new WorkExceeded(seconds, secondsMax));
    },
  };
}

/** Whether a LIMIT ends a statement, of which the engine counts all rows for an estimate: nothing needs them all. */
function endsEarly(text: string): boolean {
  return /\bLIMIT\b/.test(text) && !needs.some((need) => need.test(text));
}

/** Words of statements that need all their rows: orders, and how the names of aggregates begin. */
const needs = [
  /\b(?:ORDER BY|GROUP BY|DISTINCT)\b/,
  /\b(?:any|approx|arg|avg|corr|count|covar|exponential|first_|group|last_|max|median|min)/i,
  /\b(?:quantile|sequence|std|sum|top|uniq|var|window)/i,
];

/** The CPU-seconds of a usual question about all of a project's events. */
export async function countUsual(store: QueryStore, project_id: unknown): Promise<number> {
  return typeof project_id === "number"
    ? (await store.countRows(project_id)) * queryLimits.rowSecondsUsual
    : 0;
}

export function tooHeavy(error: ClickHouseError): Fault {
  const detail = `The query ${describeExcess(error)}. Narrow it, for example with a shorter date range.`;
  return new Fault("invalid_input", detail, { attr: "query" });
}
