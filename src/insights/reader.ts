// Reads and computes insights for subscriptions. A failing query gives a result with `error`; it does not throw.

import { Fault } from "../core/fault.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import type { InsightQueries } from "./show.ts";
import { getDashboardInsights, getInsight, getInsights, type InsightRow } from "./store.ts";

export interface InsightResult {
  id: number;
  short_id: string;
  /** The insight's name, or one derived from its query. */
  name: string;
  kind: string;
  /** hour, day, week or month; null for a kind without intervals. */
  interval: string | null;
  /** ISO 8601 in the project's time zone; null when the query failed. */
  date_from: string | null;
  date_to: string | null;
  timezone: string | null;
  /** In PostHog's format for this kind; empty when the query failed. */
  results: unknown[];
  /** Column names of a list of events. */
  columns?: string[];
  /** Why there are no results, as a sentence to show. */
  error?: string;
}

export interface DashboardResult {
  id: number;
  name: string;
  insights: InsightResult[];
}

export interface InsightResultReader {
  /** Undefined when the project has no such insight, or it is deleted. @throws when Postgres is unreachable. */
  insight(project_id: number, id: number): Promise<InsightResult | undefined>;
  /** Undefined and errors as above. Insights are computed one after another, in the dashboard's order. */
  dashboard(project_id: number, id: number): Promise<DashboardResult | undefined>;
}

export function openInsightReader({
  sql,
  queries,
}: {
  sql: Postgres;
  queries: InsightQueries;
}): InsightResultReader {
  return {
    insight: async (project_id, id) => {
      const row = await getInsight(sql, project_id, id);
      return row && (await read(queries, row));
    },
    dashboard: async (project_id, id) => {
      const found = await getDashboardInsights(sql, project_id, id);
      if (!found) return undefined;
      const rows = new Map(
        (await getInsights(sql, project_id, found.insight_ids)).map((row) => [row.id, row]),
      );
      const insights: InsightResult[] = [];
      for (const insight_id of found.insight_ids) {
        const row = rows.get(insight_id);
        if (row) insights.push(await read(queries, row));
      }
      return { id: found.id, name: found.name || `Dashboard ${found.id}`, insights };
    },
  };
}

async function read(queries: InsightQueries, row: InsightRow): Promise<InsightResult> {
  const { id, short_id, project_id, query } = row;
  const name = row.name || row.derived_name || `Insight ${short_id}`;
  try {
    const answer = await queries.run(project_id, query);
    const { kind, interval, date_from, date_to, timezone, results, columns } = answer;
    const read = { id, short_id, name, kind, interval, date_from, date_to, timezone, results };
    return columns ? { ...read, columns } : read;
  } catch (thrown) {
    // Other errors may contain a store's own words, which are not shown.
    const error = thrown instanceof Fault ? thrown.detail : "The event store cannot be reached.";
    const nothing = { interval: null, date_from: null, date_to: null, timezone: null, results: [] };
    return { id, short_id, name, kind: kindOf(queries, query), ...nothing, error };
  }
}

function kindOf(queries: InsightQueries, query: unknown): string {
  try {
    return queries.check(query).kind;
  } catch {
    return "unknown";
  }
}
