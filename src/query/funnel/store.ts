// The statements of a funnel: how many persons reached each step, and how long it took them.

import type { Breakdown } from "../parts/breakdown.ts";
import { type BreakdownLines, breakdownLine } from "../parts/breakdown_store.ts";
import { newDraft, type QueryContext } from "../store.ts";
import {
  attemptRows,
  type FunnelScope,
  secondsBetween,
  stepRows,
  stepsOf,
  valueOfPerson,
} from "./attempts.ts";

/** By step: persons who reached it, and the seconds since the step before. */
export interface FunnelRow {
  /** Of a breakdown: the index of its value; the number of values stands for all others. */
  line: number;
  persons: (string | number)[];
  average_seconds: (number | null)[];
  median_seconds: (number | null)[];
}

/** The values of a breakdown that most persons who began the funnel count for, and whether there are more. */
export async function funnelValues(
  context: QueryContext,
  scope: FunnelScope,
  breakdown: Breakdown,
): Promise<{ values: (string | null)[]; more: boolean }> {
  const draft = newDraft(context);
  const rows = stepRows(draft, scope, breakdown);
  const { limit } = breakdown;
  draft.params["limit"] = limit + 1;
  const found = await context.run<{ value: string | null }>(
    `SELECT own AS value FROM (
       SELECT person_id, ${valueOfPerson(scope)} AS own FROM (${rows})
       GROUP BY person_id HAVING countIf(${scope.walk.begins}) > 0)
     GROUP BY value ORDER BY count() DESC, value LIMIT {limit:UInt32}`,
    draft.params,
  );
  return { values: found.slice(0, limit).map(({ value }) => value), more: found.length > limit };
}

/** @returns a row, of a breakdown one for each value that persons count for. */
export async function funnelRows(
  context: QueryContext,
  scope: FunnelScope,
  breakdown?: BreakdownLines,
): Promise<FunnelRow[]> {
  const draft = newDraft(context);
  const rows = stepRows(draft, scope, breakdown);
  const line = breakdown ? breakdownLine(draft, valueOfPerson(scope), breakdown) : "0";
  const list = (of: (step: number) => string) => scope.series.map((_, i) => of(i + 1)).join(", ");
  const seconds = (step: number) =>
    `${secondsBetween("best", Math.max(step - 1, 1), step)}, steps >= ${step}`;
  return await context.run<FunnelRow>(
    `SELECT toInt32(line) AS line,
       [${list((step) => `countIf(steps >= ${step})`)}] AS persons,
       [${list((step) => `avgOrNullIf(${seconds(step)})`)}] AS average_seconds,
       [${list((step) => `quantileExactInclusiveOrNullIf(0.5)(${seconds(step)})`)}] AS median_seconds
     FROM (
       SELECT line, arrayReduce('max', attempts) AS best, ${stepsOf("best")} AS steps
       FROM (${attemptRows(draft, scope, rows, line)}))
     GROUP BY line`,
    draft.params,
  );
}
