// Text tiles, as PostHog's clients make, change and remove them.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask as askServer } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;

beforeAll(async () => {
  app = await startApp();
}, startMsMax);

function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  return askServer(app as never, method, `/api/projects/1/${path}`, body);
}

interface Tile {
  id: number;
  order: number;
  color: string | null;
  layouts: object;
  insight: { id: number } | null;
  text: { id: number; body: string; last_modified_by: object | null; last_modified_at: string } | null;
}

const trend = { kind: "TrendsQuery", series: [{ event: "seen" }] };
const at = (y: number) => ({ sm: { x: 0, y, w: 12, h: 2 } });

async function make(): Promise<number> {
  return Number((await ask("POST", "dashboards/", { name: "Board" })).body["id"]);
}

async function change(id: number, tiles: unknown): Promise<Tile[]> {
  const { status, body } = await ask("PATCH", `dashboards/${id}/`, { tiles });
  expect([status, body["detail"]]).toEqual([200, undefined]);
  return body["tiles"] as Tile[];
}

async function tilesOf(id: number): Promise<Tile[]> {
  return (await ask("GET", `dashboards/${id}/`)).body["tiles"] as Tile[];
}

test("a text without an id becomes a tile, among those of insights, in the order of their places", async () => {
  const id = await make();
  const insight = (await ask("POST", "insights/", { query: trend, dashboards: [id] })).body["id"] as number;
  const [own] = await tilesOf(id);
  const tiles = await change(id, [
    { text: { body: "## Key Metrics" }, layouts: at(0), color: "blue" },
    { id: own!.id, layouts: at(2) },
    { text: { body: "Without a place" } },
  ]);
  expect(tiles.map(({ order, insight: one, text }) => [order, one?.id ?? null, text?.body ?? null])).toEqual([
    [0, null, "## Key Metrics"],
    [1, insight, null],
    [2, null, "Without a place"],
  ]);
  expect(tiles[0]).toMatchObject({ color: "blue", layouts: at(0), last_refresh: null, is_cached: false });
  expect(tiles[0]?.text).toMatchObject({ id: tiles[0]!.id, created_by: { id: 1 }, last_modified_by: null });
  expect(await tilesOf(id)).toEqual(tiles);
  expect((await ask("GET", `insights/${insight}/?refresh=false`)).body["dashboards"]).toEqual([id]);
});

test("a text is changed by its tile's id, and the same again changes nothing", async () => {
  const id = await make();
  const [made] = await change(id, [{ text: { body: "One" }, layouts: at(0), color: "" }]);
  expect(await change(id, [{ id: made!.id, text: { body: "One" }, layouts: at(0), color: "" }])).toEqual([
    made!,
  ]);
  const [changed] = await change(id, [{ id: made!.id, text: { body: "Two" } }]);
  expect(changed).toMatchObject({
    id: made!.id,
    layouts: at(0),
    text: { body: "Two", last_modified_by: { id: 1 } },
  });
  // Whole tiles are sent back by PostHog's pages.
  expect(await change(id, [changed])).toEqual([changed!]);
  expect((await change(id, [{ id: made!.id, text: { body: null } }]))[0]?.text?.body).toBe("");
});

test("a deleted tile is gone: of an insight its place, of a text the text", async () => {
  const id = await make();
  const insight = (await ask("POST", "insights/", { query: trend, dashboards: [id] })).body["id"] as number;
  const tiles = await change(id, [{ text: { body: "x" } }]);
  expect(
    await change(
      id,
      tiles.map((tile) => ({ id: tile.id, deleted: true })),
    ),
  ).toEqual([]);
  const { body } = await ask("GET", `insights/${insight}/?refresh=false`);
  expect([body["deleted"], body["dashboards"]]).toEqual([false, []]);
});

test("a wrong tile changes nothing", async () => {
  const [id, other] = [await make(), await make()];
  const insight = (await ask("POST", "insights/", { query: trend, dashboards: [id] })).body["id"];
  const tiles = await change(id, [{ text: { body: "mine" } }]);
  const [own, text] = [tiles.find((one) => one.insight)!, tiles.find((one) => one.text)!];
  const [foreign] = await change(other, [{ text: { body: "theirs" } }]);
  const refused = async (...requested: unknown[]) => {
    const { status, body } = await ask("PATCH", `dashboards/${id}/`, { name: "No", tiles: requested });
    return [status, body["attr"]];
  };
  expect(await refused({ id: foreign!.id, text: { body: "x" } })).toEqual([400, "tiles"]);
  expect(await refused({ id: foreign!.id, deleted: true })).toEqual([400, "tiles"]);
  expect(await refused({ id: text.id, deleted: true }, { id: text.id, color: "blue" })).toEqual([
    400,
    "tiles",
  ]);
  expect(await refused({ id: own.id, text: { body: "x" } })).toEqual([400, "tiles__0__text"]);
  expect(await refused({ id: text.id, text: { id: foreign!.id, body: "x" } })).toEqual([
    400,
    "tiles__0__text",
  ]);
  expect(await refused({ layouts: at(0) })).toEqual([400, "tiles__0__text"]);
  expect(await refused({ insight: { id: insight } })).toEqual([400, "tiles__0__text"]);
  expect(await refused({ text: { body: "x" }, deleted: true })).toEqual([400, "tiles__0__id"]);
  expect(await refused({ text: { body: "ü".repeat(4001) } })).toEqual([400, "tiles__0__text__body"]);
  expect(await refused({ text: { body: "a\0b" } })).toEqual([400, "tiles__0__text__body"]);
  expect(await refused({ text: { body: "x" }, color: "c".repeat(401) })).toEqual([400, "tiles__0__color"]);
  expect(await refused({ button_tile: { url: "/", text: "x" } })).toEqual([400, "tiles__0__button_tile"]);
  expect(await refused({ id: own.id, filters_overrides: { date_from: "-7d" } })).toEqual([
    400,
    "tiles__0__filters_overrides",
  ]);
  const full = Array.from({ length: 100 }, () => ({ text: { body: "x" } }));
  expect(await refused(...full)).toEqual([400, "tiles"]);
  expect((await ask("GET", `dashboards/${id}/`)).body["name"]).toBe("Board");
  expect(await tilesOf(id)).toEqual(tiles);
});

test("as many texts as a dashboard may have fit, each as long as one may be", async () => {
  const id = await make();
  const body = "ü".repeat(4000);
  const tiles = await change(
    id,
    Array.from({ length: 100 }, () => ({ text: { body } })),
  );
  expect(tiles.filter(({ text }) => text?.body === body)).toHaveLength(100);
});
