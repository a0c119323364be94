// Dashboards over HTTP: insights side by side. Never shows one of another project.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../access/gate.ts";
import { requireScopes } from "../access/scope.ts";
import { Fault } from "../core/fault.ts";
import { readChanges, readFields, readReplacement } from "../http/body.ts";
import { pageReply, readPage, requestUrl } from "../http/pages/page.ts";
import { rowIdOf } from "../http/row_id.ts";
import { listSchema, reply, requestBody } from "../http/fields/schema.ts";
import { slicedJson } from "../http/pages/sliced.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import {
  type Dashboard,
  dashboardBody,
  type DashboardUpdate,
  dashboardModel,
  dashboardRowModel,
} from "./model.ts";
import {
  createDashboard,
  getDashboard,
  listDashboards,
  listTiles,
  removeDashboard,
  updateDashboard,
} from "./store.ts";

export interface DashboardRoutes {
  gate: Gate;
  sql: Postgres;
  /** Shows insights of a project by id, as their room does; `run`: with their results. */
  insights: (project_id: number, ids: readonly number[], run: boolean) => Promise<Map<number, object>>;
}

type ListPath = `${(typeof projectHomes)[number]}/dashboards/`;
type OnePath = `${ListPath}:id/`;

export function dashboardRoutes(parts: DashboardRoutes) {
  const app = new Elysia({ name: "dashboards", tags: ["Dashboards"] });
  for (const home of projectHomes) {
    app.use(listRoutes(parts, `${home}/dashboards/`)).use(oneRoutes(parts, `${home}/dashboards/:id/`));
  }
  return app;
}

function listRoutes(parts: DashboardRoutes, path: ListPath) {
  const { gate, sql } = parts;
  return new Elysia({ name: path, tags: ["Dashboards"] })
    .use(gate)
    .get(
      path,
      async ({ project, request }) => {
        const url = requestUrl(request);
        const page = readPage(url.searchParams);
        const { count, dashboards } = await listDashboards(sql, project.id, page);
        return pageReply(url, page, count, dashboards);
      },
      {
        project_scope: "dashboard:read",
        detail: {
          summary: "List dashboards, pinned ones first, then newest first",
          responses: { 200: reply("The dashboards.", listSchema(dashboardRowModel)) },
        },
      },
    )
    .post(
      path,
      async ({ access, project, request, status }) => {
        const input = await readFields(request, dashboardBody);
        const id = await createDashboard(sql, input, { project_id: project.id, user_id: access.user.id });
        return status(201, await show(parts, project.id, id, false));
      },
      {
        project_scope: "dashboard:write",
        detail: {
          summary: "Create a dashboard",
          description: "Insights come onto it by their own `dashboards`.",
          requestBody: requestBody(dashboardBody),
          responses: { 201: shownOne },
        },
      },
    );
}

function oneRoutes(parts: DashboardRoutes, path: OnePath) {
  const { gate, sql } = parts;
  return new Elysia({ name: path, tags: ["Dashboards"] })
    .use(gate)
    .get(
      path,
      async ({ access, project, params, request }) => {
        const run = isRefreshed(request);
        if (run) requireScopes(access.key.scopes, ["insight:read"]);
        const id = rowIdOf(params.id);
        present(await getDashboard(sql, project.id, id));
        return await slicedJson(await show(parts, project.id, id, run), rowsBelow);
      },
      {
        project_scope: "dashboard:read",
        detail: {
          summary: "Get a dashboard and its insights",
          description: "With `refresh`, the key needs the scope `insight:read` as well.",
          parameters: [refreshParameter],
          responses: { 200: shownOne },
        },
      },
    )
    .patch(
      path,
      async ({ project, params, request }) =>
        await change(parts, project.id, params.id, () => readChanges(request, dashboardBody)),
      {
        project_scope: "dashboard:write",
        detail: {
          summary: "Change a dashboard, delete it or bring it back",
          requestBody: requestBody(dashboardBody, { partial: true }),
          responses: { 200: shownOne },
        },
      },
    )
    .put(
      path,
      async ({ project, params, request }) =>
        await change(parts, project.id, params.id, () => readReplacement(request, dashboardBody)),
      {
        project_scope: "dashboard:write",
        detail: {
          summary: "Change a dashboard, as PATCH does",
          requestBody: requestBody(dashboardBody),
          responses: { 200: shownOne },
        },
      },
    )
    .delete(
      path,
      async ({ project, params, status }) => {
        if (!(await removeDashboard(sql, project.id, rowIdOf(params.id)))) throw notFound();
        return status(204);
      },
      {
        project_scope: "dashboard:write",
        detail: {
          summary: "Delete a dashboard; PATCH with deleted: false brings it back",
          responses: { 204: { description: "It is gone. Its insights are not." } },
        },
      },
    );
}

const shownOne = reply("The dashboard.", dashboardModel);

const refreshParameter = {
  name: "refresh",
  in: "query",
  required: false,
  description: "true or blocking: with the insights' results, computed now.",
  schema: { type: "string" as const },
};

/** Whether the request asks for results. */
function isRefreshed(request: Request): boolean {
  const refresh = requestUrl(request).searchParams.get("refresh");
  return refresh !== null && !["false", "force_cache"].includes(refresh);
}

/** What is not there is said before what is wrong with the body; a deleted one is there to be brought back. */
async function change(
  parts: DashboardRoutes,
  project_id: number,
  param: string,
  read: () => Promise<DashboardUpdate>,
) {
  const id = rowIdOf(param);
  const old = present(await getDashboard(parts.sql, project_id, id, { deletedToo: true }));
  const changes = await read();
  if (old.deleted && changes.deleted !== false) throw notFound();
  await updateDashboard(parts.sql, project_id, id, changes);
  return await show(parts, project_id, id, false);
}

async function show({ sql, insights }: DashboardRoutes, project_id: number, id: number, run: boolean) {
  const dashboard = present(await getDashboard(sql, project_id, id, { deletedToo: true }));
  const tiles = await listTiles(sql, id);
  const ids = tiles.map(({ insight_id }) => insight_id);
  const shown = await insights(project_id, ids, run);
  return {
    ...dashboard,
    tiles: tiles.flatMap(({ id: tile_id, insight_id }) => {
      const insight = shown.get(insight_id);
      return insight ? [{ id: tile_id, insight }] : [];
    }),
  };
}

/** Levels below a dashboard where rows of results lie: tiles, tile, insight, result, row. */
const rowsBelow = 5;

function present(dashboard: Dashboard | undefined): Dashboard {
  if (!dashboard) throw notFound();
  return dashboard;
}

function notFound(): Fault {
  return new Fault("not_found", "Not found.");
}
