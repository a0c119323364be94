// Links to insights and dashboards on a server as it is started: what they show, to whom, and until when.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { sharingLimits } from "../../src/sharing/limits.ts";
import { addStranger, type Answer, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, projectKey, rested, type Server, startServer, storesOf, until } from "../support/server.ts";
import { storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp);

let server: Server;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  await pay("ann@example.com", 3);
}, storesStartMsMax);

async function pay(distinct_id: string, times: number): Promise<void> {
  const batch = Array.from({ length: times }, () => ({
    event: "paid",
    distinct_id,
    properties: { secret: "behind the figure", $set: { email: "ann@example.com" } },
  }));
  expect((await post(server, "/batch/", { api_key: projectKey, batch })).status).toBe(200);
  await rested(server);
}

const api = (method: string, path: string, body?: object, key?: string): Promise<Answer> =>
  ask(server, method, `/api/projects/1/${path}`, body, key);

const trend = {
  kind: "TrendsQuery",
  series: [{ event: "paid", properties: [{ key: "secret", value: "behind the figure", type: "event" }] }],
};

async function madeInsight(more: object = {}): Promise<number> {
  const { body } = await api("POST", "insights/", { name: "Sales", query: trend, ...more });
  return Number(body["id"]);
}

async function shared(path: string): Promise<string> {
  const { status, body } = await api("PATCH", `${path}/sharing/`, { enabled: true });
  expect([status, body["enabled"]]).toEqual([200, true]);
  return String(body["access_token"]);
}

const open = (token: string, more = "", headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${server.url}/shared/${token}/${more}`, { headers });

interface Board {
  kind: string;
  name: string;
  computed_at: string;
  tiles: { id: number; name?: string; text?: string; results: { count: number }[]; error?: string }[];
}

async function boardOf(token: string): Promise<Board> {
  const reply = await open(token);
  expect(reply.status).toBe(200);
  return (await reply.json()) as Board;
}

test("an insight has one token from the first question on, which opens nothing until it is shared", async () => {
  const path = `insights/${await madeInsight()}`;
  const first = await api("GET", `${path}/sharing/`);
  expect([first.status, Object.keys(first.body).toSorted()]).toEqual([
    200,
    [
      "access_token",
      "created_at",
      "enabled",
      "expires_at",
      "not_shown",
      "password_required",
      "properties_to_confirm",
      "share_passwords",
      "shown_properties",
    ],
  ]);
  expect(String(first.body["access_token"])).toMatch(/^[0-9A-Za-z]{43}$/);
  expect(first.body["enabled"]).toBe(false);
  expect((await api("GET", `${path}/sharing/`)).body).toEqual(first.body);
  expect((await open(String(first.body["access_token"]))).status).toBe(404);
  expect(await shared(path)).toBe(String(first.body["access_token"]));
});

test("Postgres has neither the token nor anything that opens the link by itself", async () => {
  const token = await shared(`insights/${await madeInsight()}`);
  const { sql } = await storesOf(server);
  const rows = await sql<{ text: string }[]>`SELECT to_jsonb(s)::text AS text FROM sharing_configurations s`;
  expect(rows.length).toBeGreaterThan(0);
  for (const { text } of rows) expect(text).not.toContain(token);
  const [found] = await sql<{ token_hash: string }[]>`
    SELECT token_hash FROM sharing_configurations
    WHERE token_hash = ${`sha256$${new Bun.CryptoHasher("sha256").update(token).digest("hex")}`}`;
  expect((await open(found!.token_hash)).status).toBe(404);
});

test("a link shows the insight's numbers, and nothing of what is behind them", async () => {
  const token = await shared(`insights/${await madeInsight({ description: "What was paid" })}`);
  const reply = await open(token);
  const text = await reply.text();
  const board = JSON.parse(text) as Board;
  expect(board).toMatchObject({ kind: "insight", name: "Sales", description: "What was paid" });
  expect(board.tiles.map(({ name, results }) => [name, results[0]?.count])).toEqual([["Sales", 3]]);
  for (const hidden of ["ann@", "behind the figure", "secret", "properties", "insight_id", "filter"])
    expect([hidden, text.includes(hidden)]).toEqual([hidden, false]);
});

test("a link names the type of its results, and shows a site's figures by their names", async () => {
  const token = await shared(`insights/${await madeInsight({ query: { kind: "WebOverviewQuery" } })}`);
  const [tile] = (await boardOf(token)).tiles;
  expect(tile).toMatchObject({ type: "figures" });
  expect(tile!.results[0]).toMatchObject({ key: "visitors", kind: "unit", previous: null });
});

test("answers are for no cache, no index and no other origin's scripts, refusals too", async () => {
  const token = await shared(`insights/${await madeInsight()}`);
  const origin = { origin: "https://elsewhere.example" };
  for (const [address, accept, status] of [
    [token, "application/json", 200],
    [token, "text/html", 200],
    ["guessed", "application/json", 404],
    ["guessed", "text/html", 404],
  ] as const) {
    const reply = await open(address, "", { ...origin, accept });
    const at = (name: string) => reply.headers.get(name);
    expect([address, accept, reply.status]).toEqual([address, accept, status]);
    expect([at("referrer-policy"), at("x-robots-tag")]).toEqual(["no-referrer", "noindex, nofollow"]);
    expect([at("cache-control"), at("access-control-allow-origin")]).toEqual(["no-store", null]);
    if (accept === "text/html") expect(at("content-security-policy")).toContain("frame-ancestors 'none'");
  }
});

test("a visitor chooses nothing: every parameter is refused", async () => {
  const token = await shared(`insights/${await madeInsight()}`);
  for (const query of ["date_from=-90d", "refresh=true&filters={}", "variables_override=1"]) {
    const reply = await open(token, `?${query}`);
    // Harmless parameters are not what is refused.
    const { attr } = (await reply.json()) as { attr: string };
    expect([query, reply.status, query.includes(attr)]).toEqual([query, 400, true]);
  }
  expect((await open(token, "snapshots/")).status).toBe(404);
});

test("results are computed once for all who open a link together, and not again for a while", async () => {
  const token = await shared(`insights/${await madeInsight()}`);
  const boards = await Promise.all(Array.from({ length: 20 }, () => boardOf(token)));
  expect(new Set(boards.map(({ computed_at }) => computed_at)).size).toBe(1);
  await pay("ben", 2);
  const later = await boardOf(token);
  expect([later.computed_at, later.tiles[0]?.results[0]?.count]).toEqual([boards[0]!.computed_at, 3]);
  const etag = (await open(token)).headers.get("etag") ?? "";
  expect((await open(token, "", { "if-none-match": etag })).status).toBe(304);
  // Fifteen minutes later, as the clock of the table has it.
  const { sql } = await storesOf(server);
  await sql`UPDATE shared_results SET computed_at = r.at, marked_at = r.at
    FROM (SELECT sharing_id, computed_at - interval '16 minutes' AS at FROM shared_results) r
    WHERE r.sharing_id = shared_results.sharing_id`;
  await until(async () => (await boardOf(token)).tiles[0]?.results[0]?.count === 5);
});

test("a link ends at once when it is disabled, and its token never works again", async () => {
  const path = `insights/${await madeInsight()}`;
  const token = await shared(path);
  expect((await open(token)).status).toBe(200);
  const disabled = await api("PATCH", `${path}/sharing/`, { enabled: false });
  expect(disabled.body["access_token"]).not.toBe(token);
  expect((await open(token)).status).toBe(404);
  const again = await shared(path);
  expect(again).toBe(String(disabled.body["access_token"]));
  expect([(await open(token)).status, (await open(again)).status]).toEqual([404, 200]);
});

test("a token is replaced on its own", async () => {
  const path = `insights/${await madeInsight()}`;
  const token = await shared(path);
  const renewed = await api("POST", `${path}/sharing/refresh/`);
  expect([renewed.status, renewed.body["enabled"]]).toEqual([200, true]);
  expect((await open(token)).status).toBe(404);
  expect((await open(String(renewed.body["access_token"]))).status).toBe(200);
});

test("a link that another process revokes is over within five seconds", async () => {
  const token = await shared(`insights/${await madeInsight()}`);
  expect((await open(token)).status).toBe(200);
  const { sql } = await storesOf(server);
  await sql`UPDATE sharing_configurations SET enabled = false`;
  await until(async () => (await open(token)).status === 404);
  // What is kept of a link is read again after this time.
  expect(sharingLimits.foundAgeMsMax).toBeLessThan(5000);
});

test("a dashboard's link shows its tiles, and a tile that was taken off or deleted no more", async () => {
  const board = Number((await api("POST", "dashboards/", { name: "Shop" })).body["id"]);
  const byMail = {
    kind: "TrendsQuery",
    series: [{ event: "bought" }],
    breakdownFilter: { breakdown: "email", breakdown_type: "person" },
  };
  const [one, two, list] = [
    await madeInsight({ name: "One", dashboards: [board] }),
    await madeInsight({ name: "Two", dashboards: [board] }),
    await madeInsight({
      name: "List",
      dashboards: [board],
      query: { kind: "EventsQuery", select: ["*"], after: "-7d" },
    }),
  ];
  await madeInsight({ name: "Mails", dashboards: [board], query: byMail });
  const token = await shared(`dashboards/${board}`);
  await api("PATCH", `dashboards/${board}/`, { tiles: [{ text: { body: "# Words" } }] });
  const names = async () => (await boardOf(token)).tiles.map(({ name, text }) => name ?? text);
  const shown = await boardOf(token);
  expect([shown.kind, shown.name, await names()]).toEqual([
    "dashboard",
    "Shop",
    ["One", "Two", "List", "Mails", "# Words"],
  ]);
  for (const tile of shown.tiles.slice(2, 4))
    expect(tile).toMatchObject({ results: [], error: "This insight is not shown by a link." });
  expect(JSON.stringify(shown)).not.toContain("ann@");
  await api("PATCH", `insights/${one}/`, { dashboards: [] });
  await until(async () => (await names()).join() === "Two,List,Mails,# Words");
  await api("DELETE", `insights/${two}/`);
  await until(async () => (await names()).join() === "List,Mails,# Words");
  await api("DELETE", `dashboards/${board}/`);
  await until(async () => (await open(token)).status === 404);
  expect((await api("GET", `dashboards/${board}/sharing/`)).status).toBe(404);
  expect(list).toBeGreaterThan(0);
});

test("a deleted insight and a deleted project end their links", async () => {
  const id = await madeInsight();
  const token = await shared(`insights/${id}`);
  await boardOf(token);
  await api("DELETE", `insights/${id}/`);
  await until(async () => (await open(token)).status === 404);
  const { body } = await ask(server, "POST", "/api/projects/", { name: "Short-lived" });
  const home = `/api/projects/${Number(body["id"])}`;
  const made = await ask(server, "POST", `${home}/insights/`, { query: trend });
  const path = `${home}/insights/${Number(made.body["id"])}/sharing/`;
  const theirs = String((await ask(server, "PATCH", path, { enabled: true })).body["access_token"]);
  expect((await open(theirs)).status).toBe(200);
  expect((await ask(server, "DELETE", `${home}/`)).status).toBe(204);
  await until(async () => (await open(theirs)).status === 404);
});

test("what a link cannot do is refused by name", async () => {
  const events = await madeInsight({ query: { kind: "EventsQuery", select: ["*"] } });
  const refused = await api("PATCH", `insights/${events}/sharing/`, { enabled: true });
  expect([refused.status, refused.body["attr"]]).toEqual([400, "enabled"]);
  const path = `insights/${await madeInsight()}/sharing/`;
  for (const [body, attr] of [
    [{ enabled: true, password_required: "maybe" }, "password_required"],
    [{ settings: { whitelabel: true } }, "settings"],
    [{ enabled: "perhaps" }, "enabled"],
    [{ enabled: true, password: "x" }, "password"],
    [{ enabled: true, expires_at: "soon" }, "expires_at"],
  ] as const) {
    const answer = await api("PATCH", path, body);
    expect([answer.status, answer.body["attr"]]).toEqual([400, attr]);
  }
  const { body: shown } = await api("GET", path);
  const whole = { ...shown, password_required: false, settings: {}, share_passwords: [] };
  expect((await api("PATCH", path, whole)).status).toBe(200);
  expect((await api("GET", path)).body["enabled"]).toBe(false);
});

test("a stranger neither sees nor changes how anything is shared", async () => {
  const path = `insights/${await madeInsight()}/sharing/`;
  const { sql } = await storesOf(server);
  const { key } = await addStranger(sql);
  for (const [method, at] of [
    ["GET", path],
    ["PATCH", path],
    ["POST", `${path}refresh/`],
  ] as const) {
    expect(problemOf(await api(method, at, method === "GET" ? undefined : {}, key))[0]).toBe(403);
  }
  for (const at of ["insights/999999/sharing/", "dashboards/999999/sharing/"])
    expect((await api("GET", at)).status).toBe(404);
});

test("a link shows as many requests a minute as hundreds of open pages make, and guesses load no one", async () => {
  const token = await shared(`insights/${await madeInsight()}`);
  await boardOf(token);
  const guesses = Array.from({ length: 200 }, (_, i) => open(`${"x".repeat(40)}${i}`));
  const statuses = new Set((await Promise.all([...guesses, open(token)])).map(({ status }) => status));
  expect([...statuses].toSorted()).toEqual([200, 404]);
});
