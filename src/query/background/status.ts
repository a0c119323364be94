// The status of a background query, in replies.

import { slicedJson } from "../../http/pages/sliced.ts";
import { problems } from "../../http/problem.ts";
import { queryLimits } from "../limits.ts";
import { resultReply } from "../results/reply.ts";
import type { FoundQuery } from "./background_queries.ts";

/** Levels below a query in the background where rows lie: query_status, its results, their results, row. */
const rowLevels = 4;

/** A query in the background: 202 while it runs, 200 with its result, 400 when it failed. */
export async function statusReply(query: FoundQuery): Promise<Response> {
  const query_status = statusOf(query);
  if (query.result) return await slicedJson({ query_status }, rowLevels);
  if (!query.fault) return Response.json({ query_status }, { status: 202 });
  const { code, detail, attr } = query.fault;
  // Not a 5xx: a retry with this id has the same outcome.
  const status = code === "error" ? problems[code].status : 400;
  return Response.json({ type: problems[code].type, code, detail, attr, query_status }, { status });
}

function statusOf({ id, project_id, startedAt, begunAt, endedAt, result, fault }: FoundQuery) {
  const keptUntil = endedAt && new Date(endedAt.getTime() + queryLimits.resultKeptMs);
  return {
    id,
    team_id: project_id,
    query_async: true,
    complete: endedAt !== undefined,
    error: fault !== undefined,
    error_message: fault?.detail ?? null,
    results: result ? resultReply(result) : null,
    start_time: startedAt.toISOString(),
    pickup_time: begunAt?.toISOString() ?? null,
    end_time: endedAt?.toISOString() ?? null,
    expiration_time: keptUntil?.toISOString() ?? null,
    ...notKnown,
  };
}

/** PostHog's fields without a meaning here: queries of insights and dashboards do not run in the background. */
const notKnown = {
  insight_id: null,
  dashboard_id: null,
  labels: null,
  query_progress: null,
  task_id: null,
};
