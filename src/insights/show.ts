// Insights as replies show them, with or without results.

import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { insightLimits } from "./limits.ts";
import { isoOf } from "../http/fields/field_time.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import type { Insight } from "./model.ts";
import { getInsights, type InsightRow } from "./store.ts";

/** The answer to a query, as far as an insight shows it. */
export interface InsightAnswer {
  kind: string;
  interval: string | null;
  date_from: string;
  date_to: string;
  timezone: string;
  computed_at: string;
  results: unknown[];
  columns?: string[];
  hasMore?: boolean;
}

/** The query engine, as insights use it. */
export interface InsightQueries {
  /** @throws Fault for an invalid query. */
  check(query: unknown, attr?: string): { kind: string; title: string };
  /** `abort` ends the query when no client waits for it. @throws Fault when it cannot be answered. */
  run(project_id: number, query: unknown, attr?: string, abort?: AbortSignal): Promise<InsightAnswer>;
}

type Shown = Pick<
  Insight,
  "result" | "columns" | "hasMore" | "last_refresh" | "timezone" | "is_cached" | "query_status"
>;

const notRun: Shown = {
  result: null,
  columns: null,
  hasMore: null,
  last_refresh: null,
  timezone: null,
  is_cached: false,
  query_status: null,
};

/** @param shown the result, if the query was run. */
export function presentInsight(row: InsightRow, shown: Shown = notRun): Insight {
  const { id, short_id, name, derived_name, query, deleted, description, tags, favorited, tiles } = row;
  return {
    id,
    short_id,
    name,
    derived_name,
    query,
    deleted,
    dashboards: tiles.map(({ dashboard_id }) => dashboard_id),
    dashboard_tiles: tiles.map((tile) => ({ ...tile, deleted: false })),
    description,
    tags,
    favorited,
    ...shown,
    created_at: isoOf(row.created_at),
    created_by: row.created_by,
    updated_at: isoOf(row.updated_at),
    last_modified_at: isoOf(row.last_modified_at),
    last_modified_by: row.last_modified_by,
  };
}

/**
 * Runs the insight's query. A refused query gives a result that says why it failed.
 * @throws the error of an unreachable or busy store, which a retry may overcome.
 */
export async function resultOf(
  queries: InsightQueries,
  { project_id, query }: InsightRow,
  abort?: AbortSignal,
): Promise<Shown> {
  try {
    const answer = await queries.run(project_id, query, undefined, abort);
    return {
      result: answer.results,
      columns: answer.columns ?? null,
      hasMore: answer.hasMore ?? null,
      last_refresh: answer.computed_at,
      timezone: answer.timezone,
      is_cached: false,
      query_status: null,
    };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code === "unavailable") throw thrown;
    return failed(thrown.detail);
  }
}

function failed(error_message: string): Shown {
  return { ...notRun, query_status: { complete: true, error: true, error_message } };
}

export interface InsightShowing {
  sql: Postgres;
  queries: InsightQueries;
  clock: Clock;
}

/**
 * Returns a function that shows insights to other rooms: those that exist, by id. With `run`, their queries run one
 * after another, for at most `dashboardSecondsMax`.
 */
export function openInsightShow({ sql, queries, clock }: InsightShowing) {
  return async (project_id: number, ids: readonly number[], run: boolean): Promise<Map<number, Insight>> => {
    const end = clock.elapsed() + insightLimits.dashboardSecondsMax * 1000;
    const shown = new Map<number, Insight>();
    for (const row of await getInsights(sql, project_id, ids)) {
      const late = clock.elapsed() > end;
      const result = late ? failed("The dashboard's other insights took too long.") : await maybeRun(row);
      shown.set(row.id, presentInsight(row, run ? result : notRun));
    }
    return shown;
    async function maybeRun(row: InsightRow): Promise<Shown> {
      return run ? await resultOf(queries, row) : notRun;
    }
  };
}
