// Insights over HTTP: saved queries.

import type { Gate } from "../access/gate.ts";
import {
  flagParameter,
  pageParameters,
  referenceParameter,
  refreshParameter,
  searchParameter,
  textParameter,
} from "../http/fields/query.ts";
import { gone, listSchema, reply } from "../http/fields/schema.ts";
import { notFound, present, rowIdOf } from "../http/found.ts";
import { mounted, projectOperation } from "../http/operation.ts";
import { pageReply } from "../http/pages/page.ts";
import { slicedJson } from "../http/pages/sliced.ts";
import { type Insight, insightBody, type InsightUpdate, insightModel } from "./model.ts";
import { type InsightParts, resultOf } from "./show.ts";
import {
  createInsight,
  getInsight,
  type InsightRow,
  listInsights,
  presentInsight,
  removeInsight,
  updateInsight,
} from "./store.ts";

/** Whoever reads an insight sees what its query answers: whoever writes one must be allowed to query. */
const writing = ["insight:write", "query:read"] as const;
const shownOne = { 200: reply("The insight.", insightModel) };

export function insightRoutes({ gate, ...parts }: InsightParts & { gate: Gate }) {
  return mounted(gate, "Insights", [...listOperations(parts), ...oneOperations(parts)]);
}

function listOperations({ sql, queries }: InsightParts) {
  return [
    projectOperation({
      method: "GET",
      path: "insights/",
      scope: "insight:read",
      summary: "List insights, newest first, without their results",
      query: {
        short_id: textParameter("Only the one with this short_id."),
        search: searchParameter("Only those with this in their name or description."),
        favorited: flagParameter("true: only favorites; false: only others."),
        dashboard: referenceParameter("Only those that this dashboard shows."),
        ...pageParameters("Insights"),
      },
      replies: { 200: reply("The insights.", listSchema(insightModel)) },
      answer: async ({ project, query, url }) => {
        const { count, rows } = await listInsights(sql, project.id, query, query);
        return pageReply(url, query, count, rows);
      },
    }),
    projectOperation({
      method: "POST",
      path: "insights/",
      scope: writing,
      summary: "Save a query as an insight",
      description: "The query is checked, and run when the insight is read.",
      body: insightBody,
      replies: { 201: reply("The insight.", insightModel) },
      answer: async ({ access, project, body }) => {
        const { title } = queries.check(body.query);
        const maker = { project_id: project.id, user_id: access.user.id, derived_name: title };
        const id = await createInsight(sql, body, maker);
        return presentInsight(present(await getInsight(sql, project.id, id, { deletedToo: true })));
      },
    }),
  ];
}

function oneOperations(parts: InsightParts) {
  const { sql, queries } = parts;
  const path = "insights/:id/";
  return [
    projectOperation({
      method: "GET",
      path,
      scope: "insight:read",
      summary: "Get an insight and its result, computed now",
      query: { refresh: refreshParameter("false or force_cache: without computing its result.") },
      replies: shownOne,
      answer: async ({ project, params, query: { refresh }, request }) => {
        const row = present(await getInsight(sql, project.id, rowIdOf(params.id)));
        const result = refresh === false ? undefined : await resultOf(queries, row, request.signal);
        return await slicedJson(presentInsight(row, result));
      },
    }),
    projectOperation({
      method: "PATCH",
      path,
      scope: writing,
      summary: "Change an insight, put it on dashboards, delete it or bring it back",
      put: "Change an insight, as PATCH does",
      // A deleted one is there to be brought back.
      find: async ({ project, params }) =>
        present(await getInsight(sql, project.id, rowIdOf(params.id), { deletedToo: true })),
      body: insightBody,
      replies: shownOne,
      answer: ({ access, found, body }) => changeInsight(parts, found, access.user.id, body),
    }),
    projectOperation({
      method: "DELETE",
      path,
      scope: "insight:write",
      summary: "Delete an insight; PATCH with deleted: false brings it back",
      replies: gone,
      answer: async ({ access, project, params }) => {
        const remover = { project_id: project.id, user_id: access.user.id };
        if (!(await removeInsight(sql, rowIdOf(params.id), remover))) throw notFound();
      },
    }),
  ];
}

async function changeInsight(
  { sql, queries }: InsightParts,
  { id, project_id, deleted }: InsightRow,
  user_id: number,
  changes: InsightUpdate,
): Promise<Insight> {
  if (deleted && changes.deleted !== false) throw notFound();
  const derived = changes.query !== undefined && { derived_name: queries.check(changes.query).title };
  await updateInsight(sql, id, changes, { project_id, user_id, ...derived });
  return presentInsight(present(await getInsight(sql, project_id, id, { deletedToo: true })));
}
