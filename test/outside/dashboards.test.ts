// Dashboards as PostHog's test_dashboard.py and test_dashboard_text_tiles.py manage them, and public threads.

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
  layouts: object;
  color: string | null;
  insight: { id: number; name: string; dashboards: number[] } | null;
  text: { id: number; body: string; last_modified_by: object | null } | null;
}

const createBoard = async (fields: object = {}): Promise<Answer> =>
  await ask(app, "POST", `${home}dashboards/`, { name: "board", ...fields });
const makeBoard = async (): Promise<number> => (await createBoard()).body["id"] as number;
const makeInsight = async (dashboards: number[], name = "i"): Promise<number> =>
  (await ask(app, "POST", `${home}insights/`, { name, query, dashboards })).body["id"] as number;
const change = async (id: number, fields: object): Promise<Answer> =>
  await ask(app, "PATCH", `${home}dashboards/${id}/`, fields);
const addText = async (id: number, body: string) => await change(id, { tiles: [{ text: { body } }] });
const tilesOf = async (id: number): Promise<Tile[]> =>
  (await ask(app, "GET", `${home}dashboards/${id}/`)).body["tiles"] as Tile[];
const insightStatus = async (id: number) => (await ask(app, "GET", `${home}insights/${id}/`)).status;

// test_create_basic_dashboard, test_retrieve_dashboard.
test.each([
  ["description", ""],
  ["tags", []],
  ["pinned", false],
  ["deleted", false],
])("a new dashboard's %s is %j", async (name, expected) => {
  expect((await createBoard({ description: "" })).body[name]).toEqual(expected);
});

// test_update_dashboard: how it was made stays as it is.
test("creation_mode in a change is ignored", async () => {
  const { status, body } = await change(await makeBoard(), { name: "new", creation_mode: "duplicate" });
  expect([status, body["name"]]).toEqual([200, "new"]);
});

// test_dashboard_endpoints, test_patch_api_as_form_data.
test("a text is a flag, and a form is a body", async () => {
  expect((await createBoard({ pinned: "true" })).body["pinned"]).toBe(true);
  const id = await makeBoard();
  const body = new URLSearchParams({ name: "replaced" });
  const headers = { authorization: `Bearer ${(await import("../support/server.ts")).personalKey}` };
  const reply = await fetch(`${app.url}${home}dashboards/${id}/`, { method: "PATCH", headers, body });
  expect([reply.status, ((await reply.json()) as { name: string }).name]).toEqual([200, "replaced"]);
});

// test_listing_dashboards_does_not_include_tiles.
test("a list of dashboards has no tiles", async () => {
  await makeInsight([await makeBoard()]);
  const { body } = await ask(app, "GET", `${home}dashboards/?limit=100`);
  expect((body["results"] as object[]).some((board) => "tiles" in board)).toBe(false);
});

// test_delete_dashboard_can_delete_tiles, test_delete_does_not_delete_insights_by_default.
test("a dashboard is deleted with the insights that no other dashboard shows, if the request says so", async () => {
  const [first, second] = [await makeBoard(), await makeBoard()];
  const [alone, shared] = [await makeInsight([first]), await makeInsight([first, second])];
  expect((await change(first, { deleted: true, delete_insights: true })).status).toBe(200);
  expect([await insightStatus(alone), await insightStatus(shared)]).toEqual([404, 200]);
  expect(await tilesOf(second)).toHaveLength(1);
  const kept = await makeInsight([second]);
  expect((await change(second, { deleted: true })).status).toBe(200);
  expect(await insightStatus(kept)).toBe(200);
});

// test_dashboard_items, test_dashboard_does_not_load_insight_that_was_deleted.
test("a deleted insight leaves its dashboards, and a deleted dashboard its insights", async () => {
  const [first, second] = [await makeBoard(), await makeBoard()];
  const insight = await makeInsight([first, second], "some item");
  expect((await tilesOf(first)).map((tile) => tile.insight!.name)).toEqual(["some item"]);
  await change(first, { deleted: true });
  const { body } = await ask(app, "GET", `${home}insights/${insight}/`);
  expect([body["dashboards"], body["deleted"]]).toEqual([[second], false]);
  expect((body["dashboard_tiles"] as { dashboard_id: number }[]).map((tile) => tile.dashboard_id)).toEqual([
    second,
  ]);
  expect((await tilesOf(second))[0]!.insight!.dashboards).toEqual([second]);
  await ask(app, "PATCH", `${home}insights/${insight}/`, { deleted: true });
  expect(await tilesOf(second)).toEqual([]);
  expect((await change(second, { deleted: true })).status).toBe(200);
});

// test_soft_delete_can_be_reversed_with_patch.
test("a dashboard that is back has its tiles", async () => {
  const id = await makeBoard();
  await makeInsight([id]);
  await addText(id, "hello");
  await change(id, { deleted: true });
  await change(id, { deleted: false });
  expect(await tilesOf(id)).toHaveLength(2);
});

// test_dashboard_tile_color_can_be_set_for_new_or_existing_tiles.
test("a tile has a colour", async () => {
  const id = await makeBoard();
  await makeInsight([id]);
  const [tile] = await tilesOf(id);
  const added = {
    color: "red",
    is_cached: true,
    text: { body: "an example" },
    layouts: {},
  };
  const { status } = await change(id, { tiles: [{ id: tile!.id, color: "red", is_cached: true }, added] });
  expect(status).toBe(200);
  expect((await tilesOf(id)).map(({ color }) => color)).toEqual(["red", "red"]);
});

// test_can_create_a_single_text_tile, test_can_update_a_single_text_tile, test_can_remove_text_tiles_from_dashboard.
test("texts are created, changed and removed one by one", async () => {
  const id = await makeBoard();
  for (const text of ["one", "two", "three"]) expect((await addText(id, text)).status).toBe(200);
  const [first, , third] = await tilesOf(id);
  expect([first!.layouts, first!.color, first!.text!.last_modified_by, first!.insight]).toEqual([
    {},
    null,
    null,
    null,
  ]);
  await change(id, { tiles: [{ ...first, text: { ...first!.text, body: "uno" } }] });
  await change(id, { tiles: [{ id: third!.id, deleted: true }] });
  const left = await tilesOf(id);
  expect(left.map((tile) => tile.text!.body)).toEqual(["uno", "two"]);
  expect(left.map((tile) => tile.text!.last_modified_by === null)).toEqual([false, true]);
  await addText(id, "four");
  expect((await tilesOf(id)).map((tile) => tile.text!.body)).toEqual(["uno", "two", "four"]);
});

// test_dashboard_duplication_…; PostHog/posthog#12749: layouts are those of the original.
test("a copy shows the same insights, and texts of its own", async () => {
  const id = await makeBoard();
  const insight = await makeInsight([id], "the insight");
  await addText(id, "a text");
  const [tile, text] = await tilesOf(id);
  const layouts = { sm: { x: 0, y: 0, w: 6, h: 5 } };
  await change(id, { tiles: [{ id: tile!.id, layouts }] });
  const same = await createBoard({ name: "another", use_dashboard: id, use_template: "" });
  expect(same.status).toBe(201);
  const shown = same.body["tiles"] as Tile[];
  expect(shown.map((item) => [item.insight?.id, item.text?.body])).toEqual([
    [insight, undefined],
    [undefined, "a text"],
  ]);
  expect(shown[0]!.layouts).toEqual(layouts);
  expect(shown.some((item) => [tile!.id, text!.id].includes(item.id))).toBe(false);
});

// test_invalid_dashboard_duplication, test_duplication_fail_for_different_team, test_dashboard_creation_validation.
test("only a dashboard of the project is copied", async () => {
  expect((await createBoard({ use_dashboard: 12_345 })).status).toBe(400);
  const other = (await ask(app, "POST", "/api/projects/", { name: "other" })).body["id"] as number;
  const strange = await ask(app, "POST", `/api/projects/${other}/dashboards/`, { name: "x" });
  expect((await createBoard({ use_dashboard: strange.body["id"] })).status).toBe(400);
  expect((await createBoard({ use_template: "DEFAULT_APP", use_dashboard: 1 })).status).toBe(400);
  expect((await createBoard({ use_template: "" })).status).toBe(201);
  expect((await ask(app, "GET", `${home}dashboards/${String(strange.body["id"])}/`)).status).toBe(404);
});

// PostHog/posthog#31317: a whole tile is sent back with its order; #24846, #28275: layouts of texts are kept.
test("a tile is sent back whole, with its place and its text", async () => {
  const id = await makeBoard();
  await addText(id, "one");
  const [tile] = await tilesOf(id);
  const layouts = { sm: { x: 6, y: 0, w: 6, h: 2, minW: 1, minH: 1, moved: false, static: false } };
  const { status } = await change(id, {
    tiles: [{ ...tile, layouts, text: { ...tile!.text, body: "uno" } }],
  });
  expect(status).toBe(200);
  const [kept] = await tilesOf(id);
  expect([kept!.text!.body, kept!.layouts]).toEqual([
    "uno",
    { sm: { x: 6, y: 0, w: 6, h: 2, minW: 1, minH: 1 } },
  ] as never);
});

// test_cannot_update_dashboard_with_invalid_filters.
test("filters that are no object are refused", async () => {
  expect(
    (await change(await makeBoard(), { filters: [{ key: "brand", value: ["1"], type: "event" }] })).status,
  ).toBe(400);
  expect((await createBoard({ filters: {} })).status).toBe(201);
});
