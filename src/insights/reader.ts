// Insights for whoever delivers them: read and computed, one failing query at a time. Never throws over a query.

import { Fault } from "../core/fault.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import type { InsightQueries } from "./show.ts";
import { getDashboardInsights, getInsight, getInsights, type InsightRow } from "./store.ts";

export interface InsightResult {
  id: number;
  short_id: string;
  /** Its own name, or one made from its query. */
  name: string;
  kind: string;
  /** hour, day, week or month; null where the kind has none. */
  interval: string | null;
  /** ISO 8601 in the project's zone; null where the query failed. */
  date_from: string | null;
  date_to: string | null;
  timezone: string | null;
  /** As PostHog shapes them for this kind; empty where the query failed. */
  results: unknown[];
  /** Of a list of events. */
  columns?: string[];
  /** Why there are no results, in a sentence for people. */
  error?: string;
}

export interface DashboardResult {
  id: number;
  name: string;
  insights: InsightResult[];
}

export interface InsightReader {
  /** undefined when the project has no such insight, or it is deleted. Throws when Postgres is away. */
  insight(project_id: number, id: number): Promise<InsightResult | undefined>;
  /** Likewise; insights one after the other in the dashboard's order. */
  dashboard(project_id: number, id: number): Promise<DashboardResult | undefined>;
}

export function openInsightReader({
  sql,
  queries,
}: {
  sql: Postgres;
  queries: InsightQueries;
}): InsightReader {
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
    // A store that is away says so in its own words, which are not for a reader's eyes.
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
