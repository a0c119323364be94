// PostHog's operations on single tiles of a dashboard. Each is a change of the dashboard.

import { fieldFault, parseRowId, present } from "../http/fields/field_fault.ts";
import { reply } from "../http/fields/schema.ts";
import { projectOperation } from "../http/operation.ts";
import { arrangeTiles } from "./arrange.ts";
import * as model from "./model.ts";
import { type DashboardParts, showDashboard } from "./show.ts";
import { getDashboard, transferTileBetween, updateDashboard } from "./store.ts";
import { listTiles } from "./tile_store.ts";

const dashboardReply = { 200: reply("The dashboard.", model.dashboardModel) };

interface TileRequest {
  project: { id: number };
  access: { user: { id: number } };
  found: { id: number };
}

export function tileOperations(parts: DashboardParts) {
  const tools = openTools(parts);
  return [...placeOperations(tools), ...textOperations(tools)];
}

/** Reads and changes that the operations share. */
function openTools(parts: DashboardParts) {
  const { sql } = parts;
  const find = async ({ project, params }: { project: { id: number }; params: { id: string } }) =>
    present(await getDashboard(sql, project.id, parseRowId(params.id)));
  const show = async ({ project, found }: TileRequest) => await showDashboard(parts, project.id, found.id);
  const change = async (
    { project, access, found }: TileRequest,
    tiles: NonNullable<model.DashboardUpdate["tiles"]>,
  ) =>
    await updateDashboard(sql, { project_id: project.id, id: found.id, user_id: access.user.id }, { tiles });
  const showTile = async (request: TileRequest, id: number | undefined) =>
    present((await show(request)).tiles.find((tile) => tile.id === id));
  const requireTile = async ({ found }: TileRequest, id: number) =>
    present((await listTiles(sql, found.id)).find((tile) => tile.id === id));
  const transfer = async (
    { project, access }: TileRequest,
    tile: Omit<Transferred, "project_id" | "user_id">,
  ) => {
    await transferTileBetween(sql, { ...tile, project_id: project.id, user_id: access.user.id });
  };
  return { sql, find, show, change, showTile, requireTile, transfer };
}

type Tools = ReturnType<typeof openTools>;

function placeOperations({ sql, find, show, change, transfer }: Tools) {
  const moving = {
    summary: "Move a tile to another dashboard",
    find,
    body: model.movedTileBody,
    replies: dashboardReply,
    answer: async ({ body, ...request }: TileRequest & { body: model.MovedTile }) => {
      // As of every PATCH, an empty body changes nothing.
      if (Object.keys(body).length === 0) return await show(request);
      const to = body.to_dashboard ?? body.toDashboard;
      if (to === undefined) throw fieldFault("required", "This field is required.", ["to_dashboard"]);
      const id = body.tile?.id;
      if (id === undefined) throw fieldFault("required", "This field is required.", ["tile", "id"]);
      await transfer(request, { from: request.found.id, to, id, isMoved: true });
      return await show(request);
    },
  };
  return [
    projectOperation("PATCH /dashboards/:id/move_tile/", "dashboard:write", moving),
    projectOperation("POST /dashboards/:id/move_tile/", "dashboard:write", moving),
    projectOperation("POST /dashboards/:id/copy_tile/", "dashboard:write", {
      summary: "Copy a tile of another dashboard to this one",
      find,
      body: model.copiedTileBody,
      replies: dashboardReply,
      answer: async ({ body: { fromDashboardId: from, tileId: id }, ...request }) => {
        await transfer(request, { from, to: request.found.id, id, isMoved: false });
        return await show(request);
      },
    }),
    projectOperation("POST /dashboards/:id/reorder_tiles/", "dashboard:write", {
      summary: "Arrange the tiles of a dashboard in an order",
      find,
      body: model.tileOrderBody,
      replies: dashboardReply,
      answer: async ({ body: { tile_order, layout }, ...request }) => {
        if (new Set(tile_order).size < tile_order.length)
          throw fieldFault("invalid_input", "tile_order must contain unique tile IDs", ["tile_order"]);
        const tiles = new Map((await listTiles(sql, request.found.id)).map((tile) => [tile.id, tile]));
        const ordered = tile_order.map((id) => present(tiles.get(id)));
        await change(request, arrangeTiles(ordered, layout));
        return await show(request);
      },
    }),
  ];
}

function textOperations({ find, change, showTile, requireTile }: Tools) {
  return [
    projectOperation("POST /dashboards/:id/create_text_tile/", "dashboard:write", {
      summary: "Add a text to a dashboard",
      find,
      body: model.newTextBody,
      replies: { 201: reply("The tile.", model.tileModel) },
      answer: async ({ body: { body, ...look }, ...request }) => {
        const [id] = await change(request, [{ ...look, text: { body } }]);
        return await showTile(request, id);
      },
    }),
    projectOperation("POST /dashboards/:id/update_text_tile/", "dashboard:write", {
      summary: "Change a text of a dashboard",
      find,
      body: model.changedTextBody,
      replies: { 200: reply("The tile.", model.tileModel) },
      answer: async ({ body: { tile_id: id, body, ...look }, ...request }) => {
        const { text } = await requireTile(request, id);
        if (!text) throw fieldFault("invalid_input", "Tile is not a text tile.", ["tile_id"]);
        await change(request, [{ ...look, id, ...(body !== undefined && { text: { body } }) }]);
        return await showTile(request, id);
      },
    }),
    projectOperation("POST /dashboards/:id/delete_tile/", "dashboard:write", {
      summary: "Remove a tile of a dashboard, not its insight",
      find,
      body: model.removedTileBody,
      replies: { 204: { description: "It is removed." } },
      answer: async ({ body: { tile_id: id }, ...request }) => {
        await requireTile(request, id);
        await change(request, [{ id, deleted: true }]);
      },
    }),
  ];
}

type Transferred = Parameters<typeof transferTileBetween>[1];
