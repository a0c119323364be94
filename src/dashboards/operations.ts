// Dashboards over HTTP: insights side by side.

import type { Gate } from "../access/gate.ts";
import { requireScopes } from "../access/scope.ts";
import { limits } from "../core/limits.ts";
import { fieldFault, notFound, parseRowId, present } from "../http/fields/field_fault.ts";
import { namesParameter, referencesParameter } from "../http/fields/list_parameters.ts";
import {
  choiceParameter,
  flagParameter,
  pageParameters,
  refreshParameter,
  searchParameter,
} from "../http/fields/query.ts";
import { listSchema, reply } from "../http/fields/schema.ts";
import { tagsRecord } from "../http/fields/tags.ts";
import { mounted, projectOperation } from "../http/operation.ts";
import { pageReply } from "../http/pages/page.ts";
import { slicedJson } from "../http/pages/sliced.ts";
import { toCaller } from "../query/permits.ts";
import { type Shareable, sharingOperations } from "../sharing/operations.ts";
import type { SharingParts } from "../sharing/tokens.ts";
import { dashboardLimits } from "./limits.ts";
import * as model from "./model.ts";
import { recordRead } from "./read_store.ts";
import { type DashboardParts, showDashboard } from "./show.ts";
import { createDashboard, getDashboard, listDashboards, removeDashboard, updateDashboard } from "./store.ts";
import { tileOperations } from "./tile_operations.ts";

const shownOne = reply("The dashboard.", model.dashboardModel);
/** Levels below a dashboard where rows of results lie: tiles, tile, insight, result, row. */
const rowsBelow = 5;

export function dashboardRoutes(parts: DashboardParts & { gate: Gate; sharing: SharingParts }) {
  return mounted(parts.gate, "Dashboards", [
    ...listOperations(parts),
    ...oneOperations(parts),
    ...tileOperations(parts),
    ...sharingOperations(parts.sharing, shareableDashboards(parts)),
  ]);
}

/** A link shows results, too, which the sharing user must be allowed to see. */
function shareableDashboards({ sql, sharedProperties }: DashboardParts): Shareable<"dashboards"> {
  return {
    kind: "dashboard",
    things: "dashboards",
    noun: "a dashboard",
    scopes: ["dashboard:read", "insight:read"],
    find: async (project_id, id) => String(present(await getDashboard(sql, project_id, parseRowId(id))).id),
    listProperties: async (project_id, target) => await sharedProperties(project_id, Number(target)),
  };
}

function listOperations(parts: DashboardParts) {
  const { sql } = parts;
  return [
    projectOperation("GET /dashboards/", "dashboard:read", {
      summary: "List dashboards, pinned ones first, then by name",
      query: {
        search: searchParameter(
          "Only those with this text in their name, description or a tag.",
          limits.searchCharsMax,
        ),
        tags: namesParameter("Only those with one of these tags.", limits.tagsMax, { maxLength: 255 }),
        pinned: flagParameter("true: only pinned ones; false: only others."),
        exclude_generated: flagParameter("No effect: PostHog makes such dashboards itself."),
        creation_mode: choiceParameter("Only those made so.", ["default", "duplicate"]),
        created_by: referencesParameter("Only those of these users.", dashboardLimits.filterItemsMax),
        ordering: choiceParameter(
          "Descending with a minus before it; by default pinned ones first, then by name.",
          model.dashboardOrders,
        ),
        ...pageParameters("Rows"),
      },
      replies: { 200: reply("The dashboards.", listSchema(model.dashboardRowModel)) },
      answer: async ({ project, query, url }) =>
        pageReply(url, query, await listDashboards(sql, project.id, query, query)),
    }),
    projectOperation("POST /dashboards/bulk_update_tags/", "dashboard:write", tagsRecord(sql, "dashboards")),
    projectOperation("POST /dashboards/", "dashboard:write", {
      summary: "Create a dashboard",
      description: "Insights are added by their `dashboards`, or copied from `use_dashboard`.",
      body: model.dashboardBody,
      replies: { 201: shownOne },
      answer: async ({ access, project, body }) => {
        if (body.duplicate_tiles) requireScopes(access.key.scopes, ["insight:write"]);
        const id = await createDashboard(sql, body, { project_id: project.id, user_id: access.user.id });
        return await showDashboard(parts, project.id, id);
      },
    }),
  ];
}

function oneOperations(parts: DashboardParts) {
  const { sql } = parts;
  type Named = { project: { id: number }; params: { id: string } };
  const find = async ({ project, params }: Named, deletedToo = false) =>
    present(await getDashboard(sql, project.id, parseRowId(params.id), deletedToo));
  return [
    projectOperation("GET /dashboards/:id/", "dashboard:read", {
      summary: "Get a dashboard and its insights",
      description: "With `refresh`, the key needs the scope `insight:read` as well.",
      query: {
        refresh: refreshParameter("true or blocking: with the insights' results, computed now."),
      },
      replies: { 200: shownOne },
      find: (request) => find(request),
      answer: async ({ access, project, found, query: { refresh = false }, request }) => {
        if (refresh) requireScopes(access.key.scopes, ["insight:read"]);
        await recordRead(sql, found.id);
        const caller = refresh ? { ...toCaller(access), abort: request.signal } : undefined;
        return await slicedJson(await showDashboard(parts, project.id, found.id, caller), rowsBelow);
      },
    }),
    projectOperation("PATCH /dashboards/:id/", "dashboard:write", {
      summary: "Change a dashboard and its tiles, delete or restore it",
      put: "Change a dashboard, as PATCH does",
      // A deleted dashboard is found too, so that it can be restored.
      find: (request) => find(request, true),
      body: model.dashboardChangeBody,
      replies: { 200: shownOne },
      answer: async ({ access, project, found, body }) => {
        if (found.deleted && body.deleted !== false) throw notFound();
        checkWhole(body.tiles, "tiles");
        checkWhole(body.duplicate_tiles, "duplicate_tiles");
        if (body.delete_insights || body.duplicate_tiles?.length)
          requireScopes(access.key.scopes, ["insight:write"]);
        const named = { project_id: project.id, id: found.id, user_id: access.user.id };
        await updateDashboard(sql, named, body);
        return await showDashboard(parts, project.id, found.id);
      },
    }),
    projectOperation("DELETE /dashboards/:id/", "dashboard:write", {
      summary: "Delete a dashboard; PATCH with deleted: false restores it",
      find: (request) => find(request),
      replies: { 204: { description: "It is deleted; its insights are not." } },
      answer: async ({ project, found }) => {
        if (!(await removeDashboard(sql, project.id, found.id))) throw notFound();
      },
    }),
  ];
}

/**
 * A change may omit fields at every depth, but a tile's position must have all its numbers.
 * @throws Fault required
 */
function checkWhole(tiles: readonly Partial<Pick<model.Tile, "layouts">>[] = [], attr: string): void {
  for (const [i, { layouts = {} }] of tiles.entries()) {
    for (const [width, layout] of Object.entries(layouts)) {
      const name = layout && ["x", "y", "w", "h"].find((field) => !Object.hasOwn(layout, field));
      const path = [attr, String(i), "layouts", width];
      if (name) throw fieldFault("required", "This field is required.", [...path, name]);
    }
  }
}
