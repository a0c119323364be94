// Results of insights' queries, for replies, dashboards and subscriptions.

import { Fault } from "../core/fault.ts";
import type { QueryEngine } from "../query/engine.ts";
import type { QueryCaller } from "../query/permits.ts";
import { readDrawing, shownResults, type TrendLine } from "../query/result.ts";
import { needsTotals, toTotalsQuery } from "../query/results/figures.ts";
import type { Uses } from "../storage/services.ts";
import { insightLimits } from "./limits.ts";
import type { Insight } from "./model.ts";
import { openSharedProperties } from "./shown_properties.ts";
import * as store from "./store.ts";

export interface InsightParts extends Uses<"sql" | "clock"> {
  queries: QueryEngine;
}

/**
 * Runs the insight's query. A refused query results in its reason.
 * @throws the error of an unreachable or busy store, which a retry may overcome.
 */
export function computeResult(queries: QueryEngine, project_id: number, query: unknown, caller: QueryCaller) {
  const answer = queries.answer(project_id, query, { ...caller, mayBeCached: false });
  return answer.then(toShownResult, failedBy);
}

function toShownResult(answer: Awaited<ReturnType<QueryEngine["answer"]>>): store.ShownResult {
  const { type: result_type, table, computed_at: last_refresh, timezone, is_cached } = answer;
  const { columns = null, types = null, hasMore = null } = table ?? {};
  const resolved_date_range = { date_from: answer.date_from, date_to: answer.date_to };
  const result = { result: shownResults(answer), result_type, columns, types, hasMore, resolved_date_range };
  return { ...result, last_refresh, timezone, is_cached, query_status: null };
}

function failedBy(thrown: unknown): store.ShownResult {
  if (!isRefusal(thrown)) throw thrown;
  return failed(thrown.detail);
}

function failed(error_message: string): store.ShownResult {
  return { ...store.notRun, query_status: { complete: true, error: true, error_message } };
}

/**
 * The insights with results. Queries run one after another; after `secondsMax` no further one begins, and a result of
 * the last minutes is shown, if there is one.
 */
export async function withResults(
  { queries, clock }: Pick<InsightParts, "queries" | "clock">,
  project_id: number,
  insights: readonly Insight[],
  caller: QueryCaller,
  secondsMax: number = insightLimits.dashboardSecondsMax,
): Promise<Insight[]> {
  const end = clock.elapsed() + secondsMax * 1000;
  const late = failed(
    `The other insights took more than the ${secondsMax} s that an answer has for all: request this one alone.`,
  );
  const insightsWithResults: Insight[] = [];
  for (const insight of insights) {
    const { query } = insight;
    const result =
      clock.elapsed() <= end
        ? computeResult(queries, project_id, query, caller)
        : queries
            .findCached(project_id, query, caller)
            .then((item) => (item ? toShownResult(item) : late), failedBy);
    insightsWithResults.push({ ...insight, ...(await result) });
  }
  return insightsWithResults;
}

/** Returns what dashboards show of insights: existing ones by id, with their results for a caller. */
export function openInsightShow({ sql, ...parts }: InsightParts) {
  const insights = async (project_id: number, ids: readonly number[], caller?: QueryCaller) => {
    const rows = await store.getInsights(sql, project_id, ids);
    const plain = rows.map((row) => store.presentInsight(row));
    const presented = caller ? await withResults(parts, project_id, plain, caller) : plain;
    return new Map(presented.map((insight) => [insight.id, insight]));
  };
  return { insights, sharedProperties: openSharedProperties({ sql, ...parts }) };
}

export type InsightResultReader = ReturnType<typeof openInsightReader>;

export function openInsightReader({ sql, queries }: Omit<InsightParts, "clock">) {
  return {
    /** Undefined when the project has no such insight, or it is deleted. @throws when Postgres is unreachable. */
    insight: async (project_id: number, id: number) => {
      const row = await store.getInsight(sql, project_id, id);
      return row && (await read(queries, row));
    },
    /**
     * Undefined and errors as above. Insights are computed one after another, in the dashboard's order.
     * @param insightIds only these; all where it is empty.
     */
    dashboard: async (project_id: number, id: number, insightIds: readonly number[] = []) => {
      const found = await store.getDashboardContent(sql, project_id, id);
      if (!found) return undefined;
      const insights: Awaited<ReturnType<typeof read>>[] = [];
      for (const row of await store.getShownInsights(sql, project_id, found))
        if (insightIds.length === 0 || insightIds.includes(row.id)) insights.push(await read(queries, row));
      return { id, name: found.name, insights };
    },
  };
}

/**
 * Runs an insight's query for readers who send no further ones; of a trend that does not add up, its numbers of the
 * whole time, too.
 * @throws as QueryEngine.run.
 */
export async function runWithTotals(
  queries: QueryEngine,
  project_id: number,
  query: unknown,
  caller: QueryCaller = {},
) {
  const drawing = readDrawing(query);
  const answer = { ...(await queries.run(project_id, query, caller)), drawing, totals: undefined };
  const lines = answer.type === "series" ? (answer.results as TrendLine[]) : [];
  if (!needsTotals(query, lines, drawing.display ?? "")) return answer;
  const totals = await queries
    .run(project_id, toTotalsQuery(query, String(lines[0]!.days[0] ?? "")), caller)
    .then(({ results }) => results as TrendLine[], withoutTotals);
  return { ...answer, totals };
}

/** A chart whose numbers are refused is shown without them. */
function withoutTotals(thrown: unknown): undefined {
  if (!isRefusal(thrown)) throw thrown;
}

/** Whether a retry would end the same: otherwise the store is unreachable or busy. */
const isRefusal = (thrown: unknown): thrown is Fault =>
  thrown instanceof Fault && thrown.code !== "unavailable";

/** An insight's name, and the result of its query or, as a sentence to show, why there is none. */
async function read(queries: QueryEngine, { id, short_id, project_id, query, ...row }: store.InsightRow) {
  const name = row.name || row.derived_name || `Insight ${short_id}`;
  try {
    const { table, ...result } = await runWithTotals(queries, project_id, query);
    return { id, name, ...result, columns: table?.columns, types: table?.types, error: undefined };
  } catch (thrown) {
    // Other errors may contain a store's message, which is not shown.
    const error = thrown instanceof Fault ? publicDetail(thrown) : "The event store cannot be reached.";
    return { id, name, type: null, results: [], error, isAway: !isRefusal(thrown) };
  }
}

/** Why an insight has no results, for readers of a report: never a scope. */
function publicDetail({ code, detail }: Fault): string {
  return code === "permission_denied" ? "It reads data that reports do not show." : detail;
}
