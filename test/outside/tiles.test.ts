// Dashboards and their tiles: further assertions of PostHog's test_dashboard.py, test_dashboard_tiles.py,
// test_dashboard_delete_tile.py, test_dashboard_duplication.py and test_run_insights.py; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp();
}, startMsMax);
afterAll(cleanUp, startMsMax);

const home = "/api/projects/1/";
const query = { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "visit" }] };
interface Tile {
  id: number;
  layouts: { sm?: object; xs?: object };
  color: string | null;
  order: number;
  insight: { id: number; name: string | null; short_id: string } | null;
  text: { id: number; body: string } | null;
}

const createBoard = async (fields: object = {}): Promise<Answer> =>
  await ask(app, "POST", `${home}dashboards/`, { name: "board", ...fields });
const makeBoard = async (fields: object = {}): Promise<number> =>
  (await createBoard(fields)).body["id"] as number;
const makeInsight = async (dashboards: number[], name: string | null = "i"): Promise<number> =>
  (await ask(app, "POST", `${home}insights/`, { name, query, dashboards })).body["id"] as number;
const change = async (id: number, fields: object): Promise<Answer> =>
  await ask(app, "PATCH", `${home}dashboards/${id}/`, fields);
const read = async (id: number) => (await ask(app, "GET", `${home}dashboards/${id}/`)).body;
const listTiles = async (id: number): Promise<Tile[]> => (await read(id))["tiles"] as Tile[];
const act = async (id: number, name: string, body: object, method = "POST"): Promise<Answer> =>
  await ask(app, method, `${home}dashboards/${id}/${name}/`, body);
const list = async (search: string) =>
  ((await ask(app, "GET", `${home}dashboards/?${search}`)).body["results"] as {
    id: number;
    name: string;
  }[]) ?? [];

// test_retrieve_dashboard, test_create_basic_dashboard: what a dashboard says of itself.
test.each([
  ["creation_mode", "default"],
  ["restriction_level", 21],
  ["effective_restriction_level", 21],
  ["effective_privilege_level", 37],
  ["is_shared", false],
  ["team_id", 1],
  ["filters", {}],
  ["access_control_version", "v2"],
])("a dashboard's %s is %j", async (name, expected) => {
  expect((await createBoard()).body[name]).toEqual(expected);
});

// test_dashboard_creation_mode, test_dashboard_duplication.
test("a copy says that it is one, and is listed so", async () => {
  const original = await makeBoard({ name: "original" });
  const copy = (await createBoard({ name: "copy", use_dashboard: original })).body;
  expect(copy["creation_mode"]).toBe("duplicate");
  const copies = await list("creation_mode=duplicate");
  expect(copies.map(({ id }) => id)).toContain(copy["id"] as number);
  expect(copies.map(({ id }) => id)).not.toContain(original);
});

// test_retrieve_dashboard_list: by name; pinned ones first.
test("dashboards are listed by name, pinned ones first", async () => {
  const project = (await ask(app, "POST", "/api/projects/", { name: "ordered" })).body["id"] as number;
  for (const [name, pinned] of [
    ["b dashboard", false],
    ["a dashboard", false],
    ["z dashboard", true],
  ])
    await ask(app, "POST", `/api/projects/${project}/dashboards/`, { name, pinned });
  const { body } = await ask(app, "GET", `/api/projects/${project}/dashboards/`);
  expect((body["results"] as { name: string }[]).map(({ name }) => name)).toEqual([
    "z dashboard",
    "a dashboard",
    "b dashboard",
  ]);
});

// Dashboard.is_sharing_enabled.
test("a dashboard with a link is shared", async () => {
  const id = await makeBoard();
  await ask(app, "PATCH", `${home}dashboards/${id}/sharing/`, { enabled: true });
  expect((await read(id))["is_shared"]).toBe(true);
  await ask(app, "PATCH", `${home}dashboards/${id}/sharing/`, { enabled: false });
  expect((await read(id))["is_shared"]).toBe(false);
});

// test_dashboard_duplication_can_duplicate_tiles, …_without_editing_name_if_there_is_none.
test.each([
  ["the insight", "the insight (Copy)"],
  [null, null],
])("a deep copy of %j has insights of its own, called %j", async (name, expected) => {
  const id = await makeBoard();
  const insight = await makeInsight([id], name);
  await change(id, { tiles: [{ text: { body: "a text" } }] });
  const copy = await createBoard({ name: "another", use_dashboard: id, duplicate_tiles: true });
  const tiles = copy.body["tiles"] as Tile[];
  expect(tiles).toHaveLength(2);
  expect([tiles[0]!.insight!.name, tiles[1]!.text!.body]).toEqual([expected, "a text"]);
  expect(tiles[0]!.insight!.id).not.toBe(insight);
  expect(await listTiles(id)).toHaveLength(2);
});

// test_dashboard_duplication.py: a tile is copied within its dashboard.
test("a tile is copied within its dashboard, at the place that is named", async () => {
  const id = await makeBoard();
  await makeInsight([id], "one");
  const [tile] = await listTiles(id);
  const layouts = { sm: { x: 6, y: 0, w: 6, h: 5 } };
  const { status, body } = await change(id, { duplicate_tiles: [{ id: tile!.id, layouts }] });
  expect(status).toBe(200);
  const tiles = body["tiles"] as Tile[];
  expect(tiles.map((item) => item.insight!.name).toSorted()).toEqual(["one", "one (Copy)"]);
  expect(tiles.find((item) => item.id !== tile!.id)!.layouts).toEqual(layouts);
});

// test_dashboard_duplication_without_tile_duplicate_excludes_soft_deleted_tiles.
test("a removed tile is not copied", async () => {
  const id = await makeBoard();
  await makeInsight([id]);
  await makeInsight([id], "second");
  const [, second] = await listTiles(id);
  await change(id, { tiles: [{ id: second!.id, deleted: true }] });
  const copy = await createBoard({ use_dashboard: id });
  expect(copy.body["tiles"]).toHaveLength(1);
});

// test_can_move_tile_between_dashboards, by both names of the field and both methods.
test.each([
  ["PATCH", "toDashboard"],
  ["POST", "to_dashboard"],
])("%s moves a tile to another dashboard", async (method, field) => {
  const [from, to] = [await makeBoard(), await makeBoard()];
  const insight = await makeInsight([from]);
  const [tile] = await listTiles(from);
  const moved = await act(from, "move_tile", { tile, [field]: to }, method);
  expect([moved.status, moved.body["tiles"]]).toEqual([200, []]);
  expect((await listTiles(to)).map((item) => item.insight!.id)).toEqual([insight]);
  expect((await ask(app, "GET", `${home}insights/${insight}/?refresh=false`)).body["dashboards"]).toEqual([
    to,
  ]);
});

test("a tile is moved to what exists only", async () => {
  const [from, to] = [await makeBoard(), await makeBoard()];
  await makeInsight([from, to]);
  const [tile] = await listTiles(from);
  expect((await act(from, "move_tile", { tile, to_dashboard: 987_654 })).status).toBe(404);
  expect((await act(from, "move_tile", { tile: { id: 987_654 }, to_dashboard: to })).status).toBe(404);
  expect((await act(from, "move_tile", { tile, to_dashboard: to })).status).toBe(400);
  expect((await act(from, "move_tile", { tile })).status).toBe(400);
  expect(await listTiles(from)).toHaveLength(1);
});

// CopyDashboardTileRequestSerializer, copy_tile.
test("a tile is copied to another dashboard, once", async () => {
  const [from, to] = [await makeBoard(), await makeBoard()];
  const insight = await makeInsight([from]);
  await change(from, { tiles: [{ text: { body: "a text" } }] });
  const [tile, text] = await listTiles(from);
  const copied = await act(to, "copy_tile", { fromDashboardId: from, tileId: tile!.id });
  expect(copied.status).toBe(200);
  expect((copied.body["tiles"] as Tile[]).map((item) => item.insight!.id)).toEqual([insight]);
  expect(await listTiles(from)).toHaveLength(2);
  expect((await act(to, "copy_tile", { fromDashboardId: from, tileId: tile!.id })).status).toBe(400);
  expect((await act(from, "copy_tile", { fromDashboardId: from, tileId: tile!.id })).status).toBe(400);
  expect((await act(to, "copy_tile", { fromDashboardId: from, tileId: text!.id })).status).toBe(200);
  expect((await act(to, "copy_tile", { fromDashboardId: from, tileId: 987_654 })).status).toBe(404);
});

// ReorderTilesRequestSerializer: sizes are kept unless the request says so.
test("tiles are arranged in an order", async () => {
  const id = await makeBoard();
  for (const name of ["a", "b", "c"]) await makeInsight([id], name);
  const ids = (await listTiles(id)).map((tile) => tile.id);
  await change(id, { tiles: [{ id: ids[2], layouts: { sm: { x: 0, y: 0, w: 12, h: 3 } } }] });
  const order = [ids[2]!, ids[0]!, ids[1]!];
  const { status, body } = await act(id, "reorder_tiles", { tile_order: order });
  expect(status).toBe(200);
  const tiles = body["tiles"] as Tile[];
  expect(tiles.map((tile) => tile.id)).toEqual(order);
  expect(tiles.map((tile) => tile.layouts.sm)).toEqual([
    { x: 0, y: 0, w: 12, h: 3 },
    { x: 0, y: 3, w: 6, h: 5 },
    { x: 6, y: 3, w: 6, h: 5 },
  ]);
  const wide = await act(id, "reorder_tiles", { tile_order: order, layout: "full_width" });
  expect((wide.body["tiles"] as Tile[]).map((tile) => tile.layouts.sm)).toEqual(
    [0, 5, 10].map((y) => ({ x: 0, y, w: 12, h: 5 })),
  );
  const two = await act(id, "reorder_tiles", { tile_order: order, layout: "two_column" });
  expect((two.body["tiles"] as Tile[]).map((tile) => tile.layouts)).toEqual([
    { sm: { x: 0, y: 0, w: 6, h: 5 }, xs: { x: 0, y: 0, w: 1, h: 5 } },
    { sm: { x: 6, y: 0, w: 6, h: 5 }, xs: { x: 0, y: 5, w: 1, h: 5 } },
    { sm: { x: 0, y: 5, w: 6, h: 5 }, xs: { x: 0, y: 10, w: 1, h: 5 } },
  ]);
});

test.each([
  [{ tile_order: [] }, 400],
  [{ tile_order: [987_654] }, 404],
  [{ tile_order: "first" }, 400],
  [{}, 400],
])("an order %j is a %i", async (body, status) => {
  expect((await act(await makeBoard(), "reorder_tiles", body)).status).toBe(status);
});

test("an order names a tile once", async () => {
  const id = await makeBoard();
  await makeInsight([id]);
  const [tile] = await listTiles(id);
  expect((await act(id, "reorder_tiles", { tile_order: [tile!.id, tile!.id] })).status).toBe(400);
});

// create_text_tile, update_text_tile, delete_tile.
test("a text is added, changed and removed by operations of its own", async () => {
  const id = await makeBoard();
  const added = await act(id, "create_text_tile", { body: "## Intro", color: "blue" });
  expect([added.status, added.body["color"], added.body["text"]]).toMatchObject([
    201,
    "blue",
    { body: "## Intro" },
  ]);
  const tile_id = added.body["id"];
  const changed = await act(id, "update_text_tile", { tile_id, body: "## Outro" });
  expect([changed.status, changed.body["text"]]).toMatchObject([200, { body: "## Outro" }]);
  expect(changed.body["color"]).toBe("blue");
  expect((await act(id, "delete_tile", { tile_id })).status).toBe(204);
  expect(await listTiles(id)).toEqual([]);
});

test.each([
  ["create_text_tile", { body: "" }, 400],
  ["create_text_tile", { body: "x".repeat(4001) }, 400],
  ["update_text_tile", { tile_id: 987_654, body: "x" }, 404],
  ["update_text_tile", { body: "x" }, 400],
  ["delete_tile", { tile_id: 987_654 }, 404],
  ["delete_tile", {}, 400],
])("%s, which is not whole, is refused", async (name, body, status) => {
  expect((await act(await makeBoard(), name, body)).status).toBe(status);
});

// test_dashboard_delete_tile.py: the insight stays.
test("a removed tile leaves its insight, and a tile of an insight is no text", async () => {
  const id = await makeBoard();
  const insight = await makeInsight([id]);
  const [tile] = await listTiles(id);
  expect((await act(id, "update_text_tile", { tile_id: tile!.id, body: "x" })).status).toBe(400);
  expect((await act(id, "delete_tile", { tile_id: tile!.id })).status).toBe(204);
  expect(await listTiles(id)).toEqual([]);
  expect((await ask(app, "GET", `${home}insights/${insight}/?refresh=false`)).status).toBe(200);
});

// test_refresh_cache, test_no_cache_available.
test("without refresh a tile has no result, with it one", async () => {
  const id = await makeBoard();
  await makeInsight([id]);
  const [tile] = (await read(id))["tiles"] as { insight: { result: unknown }; last_refresh: unknown }[];
  expect([tile!.insight.result, tile!.last_refresh]).toEqual([null, null]);
  const fresh = await ask(app, "GET", `${home}dashboards/${id}/?refresh=true`);
  const [computed] = fresh.body["tiles"] as {
    insight: { result: { count: number }[] };
    last_refresh: string;
  }[];
  expect([computed!.insight.result[0]!.count, typeof computed!.last_refresh]).toEqual([0, "string"]);
});

// test_retrieve_dashboard_different_team.
test("another organization's dashboards are refused", async () => {
  expect((await ask(app, "GET", "/api/projects/987654/dashboards/1/")).status).toBeOneOf([403, 404]);
});

// test_search of dashboards: name, description, tags.
test("dashboards are found by words and tags", async () => {
  const id = await makeBoard({ name: "Zebra report", description: "of stripes", tags: ["savanna"] });
  for (const search of ["search=zebra", "search=STRIPES", "tags=savanna", "search=savanna"])
    expect([search, (await list(search)).map((board) => board.id)]).toEqual([search, [id]]);
});

// test_dashboard_delete_tile.py: a tile that was removed comes back by `deleted: false`.
test("a removed tile comes back as it was, text and insight", async () => {
  const id = await makeBoard();
  const insight = await makeInsight([id]);
  await change(id, { tiles: [{ text: { body: "kept" }, color: "purple" }] });
  const before = await listTiles(id);
  const removed = before.map((tile) => ({ id: tile.id, deleted: true }));
  expect((await change(id, { tiles: removed })).body["tiles"]).toEqual([]);
  const back = await change(id, { tiles: before.map((tile) => ({ id: tile.id, deleted: false })) });
  expect(back.status).toBe(200);
  const tiles = back.body["tiles"] as Tile[];
  expect(tiles.map((tile) => [tile.id, tile.color, tile.text?.body, tile.insight?.id])).toEqual(
    before.map((tile) => [tile.id, tile.color, tile.text?.body, tile.insight?.id]),
  );
  expect(tiles.map((tile) => tile.insight?.id)).toContain(insight);
});

test("a tile comes back to its own dashboard alone, and not where its insight has another", async () => {
  const [id, other] = [await makeBoard(), await makeBoard()];
  const insight = await makeInsight([id]);
  const [tile] = (await listTiles(id)) as [Tile];
  await change(id, { tiles: [{ id: tile.id, deleted: true }] });
  expect((await change(other, { tiles: [{ id: tile.id, deleted: false }] })).status).toBe(400);
  await ask(app, "PATCH", `${home}insights/${insight}/`, { dashboards: [id] });
  expect((await change(id, { tiles: [{ id: tile.id, deleted: false }] })).status).toBe(400);
  expect((await listTiles(id)).map((shown) => shown.insight?.id)).toEqual([insight]);
});

// test_can_create_a_single_text_tile: whose text it is.
test("a text names its project", async () => {
  const { body } = await change(await makeBoard(), { tiles: [{ text: { body: "hello" } }] });
  expect((body["tiles"] as { text: object }[])[0]?.text).toMatchObject({ body: "hello", team: 1 });
});

// test_adding_insights_is_not_nplus1_for_gets sends it.
test("no_items_field changes nothing", async () => {
  const { status } = await ask(app, "GET", `${home}dashboards/${await makeBoard()}/?no_items_field=true`);
  expect(status).toBe(200);
});
