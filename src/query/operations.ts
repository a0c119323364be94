// Queries over HTTP: run while the client waits, or in the background. Saved queries are insights.

import type { Gate } from "../access/gate.ts";
import { refuseInput } from "../core/fault.ts";
import { flagParameter, refusedParameter } from "../http/fields/query.ts";
import { gone, reply } from "../http/fields/schema.ts";
import { mounted, projectOperation } from "../http/operation.ts";
import { slicedJson } from "../http/pages/sliced.ts";
import { problems } from "../http/problem.ts";
import type { BackgroundQueries, FoundQuery } from "./background/background_queries.ts";
import { queryStatusReply } from "./background/model.ts";
import { queryLimits } from "./limits.ts";
import { queryBody, queryReply } from "./model.ts";
import type { OpenedQueries } from "./open.ts";
import { toCaller } from "./permits.ts";
import { shownResults } from "./result.ts";
import type { CachedResult } from "./results/result_cache.ts";
import { refuseTable, tableFormatParameter, tableReply, wantedTable } from "./results/table_reply.ts";
import type { QueryResult } from "./store.ts";

export function queryRoutes({ gate, engine }: { gate: Gate; engine: OpenedQueries }) {
  const { background } = engine;
  return mounted(gate, "Queries", [
    projectOperation("POST /query/", "query:read", {
      summary: "Run a query",
      description:
        "Trends, funnels, retention, a list of events or SQL (`HogQLQuery`), computed at once; unsupported parts of " +
        "PostHog's queries are refused by name. A funnel step's `average_conversion_time` and " +
        "`median_conversion_time` are seconds since the step before, over the persons who reached it; of a person " +
        "the attempt that came furthest counts, of these the first to get there and the last to begin; null for " +
        "the first step. A result that took more than a second is kept for ten minutes and returned again " +
        "(`is_cached`, `last_refresh`), except with a `refresh` of `force_blocking`, `force_async` or true. With " +
        "`async`, or a `refresh` of `async`, `lazy_async` or `force_async`, the query runs in the background and " +
        "is read by its id, which is `client_query_id` if given. SQL and lists of events are a table with " +
        "`format=csv` or `Accept: text/csv`, an object a line with `format=jsonl` or " +
        "`Accept: application/x-ndjson`; `X-Has-More` shows whether there is more. A `DatabaseSchemaQuery` is " +
        "answered by `tables` with their `fields`, a `HogQLMetadata` by `isValid` and `errors`, as at PostHog.",
      query: { format: tableFormatParameter },
      body: queryBody,
      replies: {
        200: reply("Its results.", queryReply),
        202: reply("It runs in the background.", queryStatusReply),
      },
      answer: async ({ access, project, query: { format }, body, request, readmit }) => {
        const { query, refresh, client_query_id } = body;
        const { isForced, isAsync } = refreshMode(refresh, body.async === true);
        const described = await engine.describe(project.id, query);
        if (described) return Response.json(described);
        const caller = toCaller(access);
        const mayBeCached = !isForced;
        const table = wantedTable(request, format);
        if (table) refuseTable(engine.check(query), isAsync);
        const name = { project_id: project.id, access, id: client_query_id ?? crypto.randomUUID() };
        if (!isAsync) {
          const result = await background.attend(name, request.signal, (abort) =>
            engine.answer(project.id, query, { ...caller, mayBeCached, abort }),
          );
          return table ? await tableReply(result, table) : await slicedJson(resultReply(result));
        }
        // Problems of the query are returned at once.
        engine.check(query);
        const cached = mayBeCached ? await engine.findCached(project.id, query, caller) : undefined;
        if (cached) return await slicedJson(resultReply(cached));
        const waitMsMax = queryLimits.backgroundWaitMsMax;
        const options = { ...caller, mayBeCached, waitMsMax, isCounted: true };
        const compute = (abort: AbortSignal, onBegin: () => void) =>
          engine.answer(project.id, query, { ...options, abort, onBegin });
        return await statusReply(await background.begin(name, { query, readmit, compute }));
      },
    }),
    ...backgroundOperations(background),
  ]);
}

export function resultReply(result: (QueryResult | CachedResult) & { is_cached?: boolean }) {
  const { timezone, date_from, date_to, computed_at, table, is_cached = false } = result;
  return {
    results: shownResults(result),
    result_type: result.type,
    timezone,
    resolved_date_range: { date_from, date_to },
    is_cached,
    last_refresh: computed_at,
    cache_key: result.cache_key ?? null,
    ...notKept,
    error: null,
    hasMore: false,
    hogql: null,
    timings: null,
    ...table,
    ...(table?.hogql !== undefined && {
      query: table.hogql,
      types: table.columns.map((name, i) => [name, table.types[i]]),
    }),
  };
}

const notKept = {
  cache_target_age: null,
  next_allowed_client_refresh: null,
  calculation_trigger: null,
  query_status: null,
  modifiers: null,
  explain: null,
  metadata: null,
};

/** PostHog's modes: whether a cached result is accepted, and whether the client waits. */
const refreshModes = {
  async: { isForced: false, isAsync: true },
  async_except_on_cache_miss: { isForced: false, isAsync: false },
  blocking: { isForced: false, isAsync: false },
  force_async: { isForced: true, isAsync: true },
  force_blocking: { isForced: true, isAsync: false },
  force_cache: { isForced: false, isAsync: false },
  lazy_async: { isForced: false, isAsync: true },
};

/** @param isAsync PostHog's older word for the mode `async`. @throws Fault for what is no mode. */
function refreshMode(refresh: unknown, isAsync: boolean): (typeof refreshModes)["async"] {
  if (isAsync) return refreshModes.async;
  if (refresh === true) return refreshModes.force_blocking;
  if (refresh === false || refresh === null || refresh === undefined) return refreshModes.blocking;
  if (typeof refresh === "string" && Object.hasOwn(refreshModes, refresh))
    return refreshModes[refresh as keyof typeof refreshModes];
  const detail = `True, false, or one of these is needed: ${Object.keys(refreshModes).join(", ")}.`;
  return refuseInput(detail, "refresh", "invalid_choice");
}

function backgroundOperations(background: BackgroundQueries) {
  return [
    projectOperation("GET /query/:id/", "query:read", {
      summary: "Read a background query",
      find: ({ access, project, params: { id } }) => background.find({ project_id: project.id, access, id }),
      description:
        "For the key that started it, until ten minutes after its end: 202 while it runs, 200 with the query's " +
        "reply, 400 with the reason of its failure, 503 where the event store was busy: send it again then.",
      query: {
        show_progress: flagParameter("Accepted; there is no `query_progress` here."),
        showProgress: flagParameter("As `show_progress`."),
      },
      replies: {
        202: reply("It runs.", queryStatusReply),
        200: reply("It has ended.", queryStatusReply),
      },
      answer: ({ found }) => statusReply(found),
    }),
    projectOperation("DELETE /query/:id/", "query:read", {
      summary: "Cancel a query by its id",
      description: "A background query, whose result is forgotten, or one in the foreground.",
      find: ({ access, project, params: { id } }) =>
        background.makeCancel({ project_id: project.id, access, id }),
      query: { dequeue_only: refusedParameter("A query that runs is cancelled as well as one that waits.") },
      replies: gone,
      answer: ({ found: cancel }) => cancel(),
    }),
  ] as const;
}

/** Levels below a query in the background where rows lie: query_status, its results, their results, row. */
const rowLevels = 4;

/** A query in the background: 202 while it runs, 200 with its result, 400 when it failed. */
async function statusReply(query: FoundQuery): Promise<Response> {
  const query_status = toStatus(query);
  if (query.result) return await slicedJson({ query_status }, rowLevels);
  if (!query.fault) return Response.json({ query_status }, { status: 202 });
  const { code, detail, attr, retryAfterSeconds: seconds } = query.fault;
  // A wrong query is a 400, as at PostHog. A query that found the store busy may be sent again with its id.
  const status = code === "error" || code === "unavailable" ? problems[code].status : 400;
  const headers: Record<string, string> = seconds === undefined ? {} : { "retry-after": String(seconds) };
  return Response.json({ type: problems[code].type, code, detail, attr, query_status }, { status, headers });
}

function toStatus({ id, project_id, startedAt, begunAt, endedAt, result, fault }: FoundQuery) {
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
