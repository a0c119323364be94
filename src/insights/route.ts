// Insights over HTTP: queries that are kept. Never shows one of another project.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../access/gate.ts";
import { Fault } from "../core/fault.ts";
import { readChanges, readFields, readReplacement } from "../http/body.ts";
import { pageReply, readPage, requestUrl } from "../http/pages/page.ts";
import { rowIdOf } from "../http/row_id.ts";
import {
  flagParameter,
  listSchema,
  pageParameters,
  queryParameter,
  referenceParameter,
  reply,
  requestBody,
} from "../http/fields/schema.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { type Insight, insightBody, type InsightUpdate, insightModel } from "./model.ts";
import { shownInTurns, slicedJson } from "../http/pages/sliced.ts";
import { type InsightQueries, presentInsight, resultOf } from "./show.ts";
import {
  createInsight,
  getInsight,
  type InsightFilter,
  type InsightRow,
  listInsights,
  removeInsight,
  updateInsight,
} from "./store.ts";

/** An insight's reader gets what its query answers: a writer of queries must be allowed to ask them. */
const writing: ["insight:write", "query:read"] = ["insight:write", "query:read"];

export interface InsightRoutes {
  gate: Gate;
  sql: Postgres;
  queries: InsightQueries;
}

export function insightRoutes(parts: InsightRoutes) {
  const app = new Elysia({ name: "insights", tags: ["Insights"] });
  for (const home of projectHomes) {
    app.use(listRoutes(parts, `${home}/insights/`)).use(oneRoutes(parts, `${home}/insights/:id/`));
  }
  return app;
}

function listRoutes(
  { gate, sql, queries }: InsightRoutes,
  path: `${(typeof projectHomes)[number]}/insights/`,
) {
  return new Elysia({ name: path, tags: ["Insights"] })
    .use(gate)
    .get(
      path,
      async ({ project, request }) => {
        const url = requestUrl(request);
        const page = readPage(url.searchParams);
        const { count, insights } = await listInsights(sql, project.id, filterOf(url.searchParams), page);
        const shown = await shownInTurns(insights, (row) => presentInsight(row));
        return pageReply(url, page, count, shown);
      },
      {
        project_scope: "insight:read",
        detail: {
          summary: "List insights, newest first, without their results",
          parameters: [
            queryParameter("short_id", "Only the one with this short_id."),
            queryParameter("search", "Only those with this in their name or description."),
            flagParameter("favorited", "true: only favorites."),
            referenceParameter("dashboard", "Only those that this dashboard shows."),
            ...pageParameters("Insights"),
          ],
          responses: { 200: reply("The insights.", listSchema(insightModel)) },
        },
      },
    )
    .post(
      path,
      async ({ access, project, request, status }) => {
        const input = await readFields(request, insightBody);
        const { title } = queries.check(input.query);
        const maker = { project_id: project.id, user_id: access.user.id, derived_name: title };
        const id = await createInsight(sql, input, maker);
        const made = await getInsight(sql, project.id, id, { deletedToo: true });
        return status(201, presentInsight(present(made)));
      },
      {
        project_scope: writing,
        detail: {
          summary: "Save a query as an insight",
          description: "The query is checked, and run when the insight is read.",
          requestBody: requestBody(insightBody),
          responses: { 201: reply("The insight.", insightModel) },
        },
      },
    );
}

function oneRoutes(parts: InsightRoutes, path: `${(typeof projectHomes)[number]}/insights/:id/`) {
  const { gate, sql, queries } = parts;
  return new Elysia({ name: path, tags: ["Insights"] })
    .use(gate)
    .get(
      path,
      async ({ project, params, request }) => {
        const row = present(await getInsight(sql, project.id, rowIdOf(params.id)));
        const refresh = requestUrl(request).searchParams.get("refresh");
        const skip = refresh === "false" || refresh === "force_cache";
        return await slicedJson(
          presentInsight(row, skip ? undefined : await resultOf(queries, row, request.signal)),
        );
      },
      {
        project_scope: "insight:read",
        detail: {
          summary: "Get an insight and its result, computed now",
          parameters: [queryParameter("refresh", "false or force_cache: without computing its result.")],
          responses: { 200: shownOne },
        },
      },
    )
    .patch(
      path,
      async ({ access, project, params, request }) =>
        await changeInsight(parts, params.id, { project_id: project.id, user_id: access.user.id }, () =>
          readChanges(request, insightBody),
        ),
      {
        project_scope: writing,
        detail: {
          summary: "Change an insight, put it on dashboards, delete it or bring it back",
          requestBody: requestBody(insightBody, { partial: true }),
          responses: { 200: shownOne },
        },
      },
    )
    .put(
      path,
      async ({ access, project, params, request }) =>
        await changeInsight(parts, params.id, { project_id: project.id, user_id: access.user.id }, () =>
          readReplacement(request, insightBody),
        ),
      {
        project_scope: writing,
        detail: {
          summary: "Change an insight, as PATCH does",
          requestBody: requestBody(insightBody),
          responses: { 200: shownOne },
        },
      },
    )
    .delete(
      path,
      async ({ access, project, params, status }) => {
        const remover = { project_id: project.id, user_id: access.user.id };
        if (!(await removeInsight(sql, rowIdOf(params.id), remover))) throw notFound();
        return status(204);
      },
      {
        project_scope: "insight:write",
        detail: {
          summary: "Delete an insight; PATCH with deleted: false brings it back",
          responses: { 204: { description: "It is gone." } },
        },
      },
    );
}

/** What is not there is said before what is wrong with the body; a deleted one is there to be brought back. */
async function changeInsight(
  { sql, queries }: InsightRoutes,
  param: string,
  maker: { project_id: number; user_id: number },
  read: () => Promise<InsightUpdate>,
): Promise<Insight> {
  const id = rowIdOf(param);
  const old = present(await getInsight(sql, maker.project_id, id, { deletedToo: true }));
  const changes = await read();
  if (old.deleted && changes.deleted !== false) throw notFound();
  const derived = changes.query !== undefined && { derived_name: queries.check(changes.query).title };
  await updateInsight(sql, id, changes, { ...maker, ...derived });
  return presentInsight(present(await getInsight(sql, maker.project_id, id, { deletedToo: true })));
}

const shownOne = reply("The insight.", insightModel);

function filterOf(query: URLSearchParams): InsightFilter {
  const dashboard = query.get("dashboard");
  const search = query.get("search")?.replaceAll("\0", "");
  return {
    short_id: query.get("short_id")?.replaceAll("\0", "") || undefined,
    search: search || undefined,
    favorited: query.get("favorited") === "true" ? true : undefined,
    dashboard: dashboard !== null && /^\d{1,9}$/.test(dashboard) ? Number(dashboard) : undefined,
  };
}

function present(row: InsightRow | undefined): InsightRow {
  if (!row) throw notFound();
  return row;
}

function notFound(): Fault {
  return new Fault("not_found", "Not found.");
}
