// Insights over HTTP: saved queries.

import type { Gate } from "../access/gate.ts";
import { refuseInput } from "../core/fault.ts";
import { notFound, parseInsightName, present } from "../http/fields/field_fault.ts";
import { flagParameter, pageParameters, referenceParameter, refreshParameter } from "../http/fields/query.ts";
import { gone, listSchema, reply } from "../http/fields/schema.ts";
import { tagsRecord } from "../http/fields/tags.ts";
import { mounted, projectOperation } from "../http/operation.ts";
import { pageReply } from "../http/pages/page.ts";
import { slicedJson } from "../http/pages/sliced.ts";
import { toCaller } from "../query/permits.ts";
import { tableFormatParameter, tableReply, toTable, wantedTable } from "../query/results/table_reply.ts";
import { sharingOperations } from "../sharing/operations.ts";
import type { SharingParts } from "../sharing/tokens.ts";
import { insightFilter } from "./filter.ts";
import { insightLimits } from "./limits.ts";
import {
  type Insight,
  insightBody,
  insightModel,
  type InsightUpdate,
  viewedModel,
  viewsBody,
} from "./model.ts";
import { shareableInsights } from "./shared.ts";
import { computeResult, type InsightParts, withResults } from "./show.ts";
import * as store from "./store.ts";

/** Readers of an insight see its query's result, so its writer must be allowed to query. */
const writeScopes = ["insight:write", "query:read"] as const;
const insightReply = { 200: reply("The insight.", insightModel) };
const { refreshedRowsMax, listSecondsMax } = insightLimits;
/** Levels below a page where rows of results lie: insights, insight, result, row. */
const rowsDepth = 4;

export function insightRoutes(parts: InsightParts & { gate: Gate; sharing: SharingParts }) {
  return mounted(parts.gate, "Insights", [
    ...listOperations(parts),
    ...viewOperations(parts),
    ...insightOperations(parts),
    ...sharingOperations(parts.sharing, shareableInsights(parts)),
  ]);
}

function listOperations(parts: InsightParts) {
  const { sql, queries, clock } = parts;
  return [
    projectOperation("GET /insights/", "insight:read", {
      summary: "List insights, newest first",
      query: {
        ...insightFilter(clock),
        refresh: refreshParameter(
          `With their results, at most ${refreshedRowsMax} on a page, computed now for ${listSecondsMax} s.`,
        ),
        ...pageParameters("Insights"),
      },
      replies: { 200: reply("The insights.", listSchema(insightModel)) },
      answer: async ({ access, project, query: { refresh = false, ...query }, url, request }) => {
        const { limit, offset, ...filter } = query;
        if (refresh && limit > refreshedRowsMax) refuseInput(tooManyRefreshed, "limit", "max_value");
        const reader = { project_id: project.id, user_id: access.user.id };
        const { count, rows } = await store.listInsights(sql, reader, filter, { limit, offset });
        if (!refresh) return pageReply(url, query, { count, rows });
        const caller = { ...toCaller(access), abort: request.signal };
        const items = await withResults(parts, project.id, rows, caller, listSecondsMax);
        return await slicedJson({ ...pageReply(url, query, { count, rows: items }) }, rowsDepth);
      },
    }),
    projectOperation("POST /insights/bulk_update_tags/", "insight:write", tagsRecord(sql, "insights")),
    projectOperation("POST /insights/", writeScopes, {
      summary: "Save a query as an insight",
      description: "The query is checked, and run when the insight is read.",
      body: insightBody,
      replies: { 201: reply("The insight.", insightModel) },
      answer: async ({ access, project, body }) => {
        const { title, stored: query } = queries.check(body.query);
        await queries.read(project.id, query);
        const maker = { project_id: project.id, user_id: access.user.id };
        const input = { ...body, query, derived_name: body.derived_name ?? title };
        const id = await store.createInsight(sql, input, maker);
        return store.presentInsight(present(await store.getInsight(sql, project.id, id, true)));
      },
    }),
  ];
}

function viewOperations({ sql }: InsightParts) {
  return [
    projectOperation("POST /insights/viewed/", "insight:read", {
      summary: "Say that you viewed insights",
      body: viewsBody,
      replies: { 201: { description: "It is noted." } },
      answer: async ({ access, project, body: { insight_ids } }) =>
        await store.recordViews(sql, { project_id: project.id, user_id: access.user.id }, insight_ids),
    }),
    projectOperation("POST /insights/:id/viewed/", "insight:read", {
      summary: "Say that you viewed an insight",
      find: async ({ project, params }) =>
        present(await store.getInsight(sql, project.id, parseInsightName(params.id))),
      replies: { 201: { description: "It is noted." } },
      answer: async ({ access, project, found }) =>
        await store.recordViews(sql, { project_id: project.id, user_id: access.user.id }, [found.id]),
    }),
    projectOperation("GET /insights/my_last_viewed/", "insight:read", {
      summary: "List the insights that you viewed last",
      replies: { 200: reply("At most five, the last one first.", viewedModel) },
      answer: async ({ access, project }) => {
        const reader = { project_id: project.id, user_id: access.user.id };
        const page = { limit: 5, offset: 0 };
        return (await store.listInsights(sql, reader, { order: "-my_last_viewed_at", isViewed: true }, page))
          .rows;
      },
    }),
  ];
}

function insightOperations(parts: InsightParts) {
  const { sql, queries } = parts;
  type Named = { project: { id: number }; params: { id: string } };
  const find = async ({ project, params }: Named, deletedToo = false) =>
    present(await store.getInsight(sql, project.id, parseInsightName(params.id), deletedToo));
  return [
    projectOperation("GET /insights/:id/", "insight:read", {
      summary: "Get an insight and its result, computed now",
      description,
      query: {
        refresh: refreshParameter("false or force_cache: without computing its result."),
        basic: flagParameter("true: without computing its result."),
        from_dashboard: referenceParameter(
          "PostHog applies this dashboard's filters; dashboards here have none.",
        ),
        format: tableFormatParameter,
      },
      find: (request) => find(request),
      replies: insightReply,
      answer: async ({ access, found: row, query: { refresh = true, basic = false, format }, request }) => {
        const caller = { ...toCaller(access), abort: request.signal };
        const table = wantedTable(request, format);
        if (table) {
          const answer = await queries.answer(row.project_id, row.query, { ...caller, mayBeCached: true });
          return await tableReply(toTable(answer), table, { name: `insight-${row.short_id}` });
        }
        const isRun = refresh && !basic;
        const result = isRun ? await computeResult(queries, row.project_id, row.query, caller) : undefined;
        return await slicedJson(store.presentInsight(row, result));
      },
    }),
    projectOperation("PATCH /insights/:id/", writeScopes, {
      summary: "Change an insight, add it to dashboards, delete or restore it",
      put: "Change an insight, as PATCH does",
      // A deleted insight is found, too, so that it can be restored.
      find: (request) => find(request, true),
      body: insightBody,
      replies: insightReply,
      answer: ({ access, found, body }) => changeInsight(parts, found, access.user.id, body),
    }),
    projectOperation("DELETE /insights/:id/", "insight:write", {
      summary: "Delete an insight; PATCH with deleted: false restores it",
      find: (request) => find(request),
      replies: gone,
      answer: async ({ access, project, found }) => {
        const actor = { project_id: project.id, user_id: access.user.id };
        if (!(await store.removeInsight(sql, found.id, actor))) throw notFound();
      },
    }),
  ];
}

const description =
  "`id` is its number or its short id. A short id of digits alone is not issued. Lines of trends and rows of tables " +
  "are a table with `format=csv`, or at `/insights/:id.csv`.";

const tooManyRefreshed =
  `With results, a page has at most ${refreshedRowsMax} insights. ` + `Use limit=${refreshedRowsMax}.`;

async function changeInsight(
  { sql, queries }: InsightParts,
  { id, project_id, deleted }: store.InsightRow,
  user_id: number,
  changes: InsightUpdate,
): Promise<Insight> {
  if (deleted && changes.deleted !== false) throw notFound();
  const checked = changes.query === undefined ? undefined : queries.check(changes.query);
  if (checked) await queries.read(project_id, checked.stored);
  const { derived_name = null, ...others } = changes;
  const named = derived_name ?? checked?.title;
  const stored = {
    ...others,
    ...(named !== undefined && { derived_name: named }),
    ...(checked && { query: checked.stored }),
  };
  await store.updateInsight(sql, id, stored, { project_id, user_id });
  return store.presentInsight(present(await store.getInsight(sql, project_id, id, true)));
}
