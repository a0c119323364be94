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
  return askServer(app as never, method, `/api/environments/1/${path}`, body);
}

interface Tile {
  id: number;
  layouts: object;
  insight: { id: number; name: string; result: unknown[] | null; query_status: { error: boolean } | null };
}

const trend = { kind: "TrendsQuery", series: [{ event: "seen" }], dateRange: { date_from: "-1d" } };

async function make(name = "Board"): Promise<number> {
  const { status, body } = await ask("POST", "dashboards/", { name, tags: ["t"], pinned: false });
  expect([status, body["tiles"]]).toEqual([201, []]);
  return Number(body["id"]);
}

async function put(dashboard: number, name: string, query: unknown = trend): Promise<number> {
  const { body } = await ask("POST", "insights/", { name, query, dashboards: [dashboard] });
  return Number(body["id"]);
}

async function tilesOf(id: number, search = ""): Promise<Tile[]> {
  return (await ask("GET", `dashboards/${id}/${search}`)).body["tiles"] as Tile[];
}

test("a dashboard shows its insights in the order they came, with results where they are requested", async () => {
  const id = await make();
  await put(id, "one");
  await put(id, "two", { ...trend, dateRange: { date_from: "2024-03-02", date_to: "2024-03-01" } });
  const plain = await tilesOf(id);
  expect(plain.map(({ insight }) => [insight.name, insight.result])).toEqual([
    ["one", null],
    ["two", null],
  ]);
  const [one, two] = await tilesOf(id, "?refresh=blocking");
  expect(one?.insight.result).toMatchObject([{ label: "seen", data: [0, 0] }]);
  // One that fails does not take the others with it.
  expect([two?.insight.result, two?.insight.query_status?.error]).toEqual([null, true]);
});

test("a deleted insight leaves its dashboard, and returns with its tile", async () => {
  const id = await make();
  const insight = await put(id, "one");
  const [tile] = await tilesOf(id);
  await ask("DELETE", `insights/${insight}/`);
  expect(await tilesOf(id)).toEqual([]);
  await ask("PATCH", `insights/${insight}/`, { deleted: false });
  expect((await tilesOf(id)).map((one) => one.id)).toEqual([tile?.id ?? 0]);
});

test("a deleted dashboard is gone for its insights too, and comes back with them", async () => {
  const id = await make("Gone");
  const insight = await put(id, "one");
  expect((await ask("DELETE", `dashboards/${id}/`)).status).toBe(204);
  expect((await ask("DELETE", `dashboards/${id}/`)).status).toBe(404);
  expect((await ask("GET", `dashboards/${id}/`)).status).toBe(404);
  expect((await ask("PATCH", `dashboards/${id}/`, { name: "x" })).status).toBe(404);
  expect((await ask("GET", `insights/${insight}/`)).body["dashboards"]).toEqual([]);
  expect((await ask("PATCH", `insights/${insight}/`, { dashboards: [id] })).status).toBe(400);
  const back = await ask("PATCH", `dashboards/${id}/`, { deleted: false });
  expect((back.body["tiles"] as Tile[]).map((one) => one.insight.id)).toEqual([insight]);
});

test("dashboards are listed pinned ones first, then by name", async () => {
  const [a, b, c] = [await make("Ac"), await make("Ab"), await make("Aa")];
  await ask("PATCH", `dashboards/${a}/`, { pinned: true });
  const { body } = await ask("GET", "dashboards/?limit=3");
  expect((body["results"] as { id: number }[]).map(({ id }) => id)).toEqual([a, c, b]);
  expect(body["next"]).toContain("offset=3");
});

test("a dashboard changes only in the fields sent, and not at all by an empty body", async () => {
  const id = await make("Before");
  const before = (await ask("GET", `dashboards/${id}/`)).body;
  expect((await ask("PATCH", `dashboards/${id}/`, {})).body).toEqual(before);
  expect((await ask("PATCH", `dashboards/${id}/`, { tags: ["a", "b"] })).body["tags"]).toEqual(["a", "b"]);
  expect((await ask("PATCH", `dashboards/${id}/`, { tags: ["t"] })).body["tags"]).toEqual(["t"]);
  const { body } = await ask("PATCH", `dashboards/${id}/`, { name: "After" });
  expect(body).toMatchObject({ name: "After", tags: ["t"], created_at: before["created_at"] });
});

test("tiles stand where they were put, and tiles that are not named stay where they are", async () => {
  const id = await make();
  await put(id, "one");
  await put(id, "two");
  const [one, two] = await tilesOf(id);
  expect([one?.layouts, two?.layouts]).toEqual([{}, {}]);
  const right = { sm: { x: 6, y: 0, w: 6, h: 5 } };
  const wide = { sm: { x: 0, y: 5, w: 12, h: 10 }, xs: { x: 0, y: 5, w: 1, h: 5 } };
  const moved = await ask("PATCH", `dashboards/${id}/`, { tiles: [{ id: one?.id, layouts: right }] });
  expect([moved.status, moved.body["name"]]).toEqual([200, "Board"]);
  await ask("PATCH", `dashboards/${id}/`, { name: "Moved", tiles: [{ id: two?.id, layouts: wide }] });
  expect((await tilesOf(id)).map(({ layouts }) => layouts)).toEqual([right, wide]);
  // Fields that drawing libraries add are dropped.
  const least = { sm: { ...right.sm, minW: 3, minH: 2 } };
  await ask("PATCH", `dashboards/${id}/`, {
    tiles: [{ id: one?.id, layouts: { sm: { ...least.sm, i: "1" }, xl: right.sm } }],
  });
  expect((await tilesOf(id)).map(({ layouts }) => layouts)).toEqual([least, wide]);
});

test("a layout that is none, and a tile of another dashboard, change nothing", async () => {
  const [id, other] = [await make(), await make()];
  await put(id, "one");
  await put(other, "two");
  const [tile] = await tilesOf(id);
  const [foreign] = await tilesOf(other);
  const layouts = { sm: { x: 0, y: 0, w: 6, h: 5 } };
  const refused = async (tiles: unknown) => {
    const { status, body } = await ask("PATCH", `dashboards/${id}/`, { name: "No", tiles });
    return [status, body["attr"]];
  };
  expect(await refused([{ id: foreign?.id, layouts }])).toEqual([400, "tiles"]);
  expect(await refused([{ id: tile?.id, layouts: { xs: { x: 0, y: 0, w: 6 } } }])).toEqual([
    400,
    "tiles__0__layouts__xs__h",
  ]);
  expect(await refused([{ id: tile?.id, layouts: { sm: { x: -1, y: 0, w: 6, h: 5 } } }])).toEqual([
    400,
    "tiles__0__layouts__sm__x",
  ]);
  expect(await refused(Array.from({ length: 201 }, () => ({ id: tile?.id, layouts })))).toEqual([
    400,
    "tiles",
  ]);
  expect((await ask("GET", `dashboards/${id}/`)).body["name"]).toBe("Board");
  expect((await tilesOf(other)).map((one) => one.layouts)).toEqual([{}]);
});

test("dashboards are found by words, tags, their maker and being pinned", async () => {
  const found = async (search: string) => {
    const { status, body } = await ask("GET", `dashboards/?${search}`);
    return [status, ...((body["results"] as { name: string }[] | undefined) ?? []).map(({ name }) => name)];
  };
  await ask("POST", "dashboards/", { name: "Weekly 100%", tags: ["kpi"], pinned: true });
  await ask("POST", "dashboards/", { name: "Costs", description: "of the week", tags: ["money", "kpi"] });
  expect(await found("search=WEEK")).toEqual([200, "Weekly 100%", "Costs"]);
  expect(await found("search=0%25")).toEqual([200, "Weekly 100%"]);
  expect(await found("search=mon")).toEqual([200, "Costs"]);
  expect(await found("tags=money&tags=none")).toEqual([200, "Costs"]);
  expect(await found('tags=["kpi"]&pinned=false')).toEqual([200, "Costs"]);
  expect(await found("created_by=[999]")).toEqual([200]);
  expect(await found("created_by=1&tags=kpi")).toEqual([200, "Weekly 100%", "Costs"]);
  for (const wrong of ["pinned=maybe", "created_by=me", "creation_mode=template"])
    expect(await found(wrong)).toEqual([400]);
});

test("what a dashboard cannot do is refused, not dropped", async () => {
  const id = await make();
  const refused = async (method: string, path: string, body: object) => {
    const { status, body: problem } = await ask(method, path, body);
    return [status, problem["attr"]];
  };
  const both = { use_template: "kpi", restriction_level: 37, variables: { a: 1 } };
  for (const [name, value] of Object.entries(both)) {
    expect(await refused("POST", "dashboards/", { name: "x", [name]: value })).toEqual([400, name]);
    expect(await refused("PATCH", `dashboards/${id}/`, { [name]: value })).toEqual([400, name]);
  }
  expect(await refused("POST", "dashboards/", { tiles: [{ text: { body: "x" } }] })).toEqual([400, "tiles"]);
  expect(await refused("PATCH", `dashboards/${id}/`, { filters: { date_from: "-7d" } })).toEqual([
    400,
    "filters",
  ]);
  const none = { filters: {}, variables: null, delete_insights: false, restriction_level: 21 };
  expect((await ask("PATCH", `dashboards/${id}/`, none)).status).toBe(200);
});
