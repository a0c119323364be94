// SQL behind links: what it shows once properties are confirmed, and that nothing else leaves the server.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, projectKey, rested, type Server, startServer, storesOf, until } from "../support/server.ts";
import { storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp);

let server: Server;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  const batch = [
    ["ann", "gold", 3],
    ["ann", "gold", 4],
    ["bob", "blue", 5],
  ].map(([distinct_id, plan, amount]) => ({
    event: "paid",
    distinct_id,
    timestamp: "2026-03-04T10:00:00Z",
    properties: { plan, amount, email: `${distinct_id}@example.com` },
  }));
  await post(server, "/batch/", { api_key: projectKey, historical_migration: true, batch });
  await rested(server);
}, storesStartMsMax);

const api = (method: string, path: string, body?: object) =>
  ask(server, method, `/api/projects/1/${path}`, body);

async function save(query: string, more: object = {}): Promise<number> {
  const { body } = await api("POST", "insights/", {
    name: "SQL",
    query: { kind: "HogQLQuery", query },
    ...more,
  });
  return Number(body["id"]);
}

async function read(token: unknown) {
  const reply = await fetch(`${server.url}/shared/${String(token)}/`);
  return { text: await reply.clone().text(), tiles: ((await reply.json()) as { tiles: object[] }).tiles };
}

const hidden = "This insight is not shown by a link.";

const revenue =
  "select properties.plan as plan, count(), sum(properties.amount) as sum from events group by plan order by plan";

test("revenue by plan is shown once its properties are confirmed, and no longer when one is taken back", async () => {
  const path = `insights/${await save(revenue)}/sharing/`;
  const names = ["properties.plan", "properties.amount"];
  expect((await api("GET", path)).body).toMatchObject({ shown_properties: [], properties_to_confirm: names });
  const refused = await api("PATCH", path, { enabled: true, shown_properties: names.slice(1) });
  expect([refused.status, refused.body["attr"]]).toEqual([400, "enabled"]);
  expect(String(refused.body["detail"])).toContain('"properties.plan" was not confirmed for this link.');
  const { status, body } = await api("PATCH", path, { enabled: true, shown_properties: names });
  expect([status, body]).toMatchObject([200, { shown_properties: names, properties_to_confirm: [] }]);
  expect((await read(body["access_token"])).tiles).toMatchObject([
    {
      type: "table",
      columns: [
        ["plan", "Nullable(String)"],
        ["Column 2", "UInt64"],
        ["sum", "Nullable(Float64)"],
      ],
      results: [
        ["blue", 1, 5],
        ["gold", 2, 7],
      ],
    },
  ]);
  await api("PATCH", path, { shown_properties: ["properties.amount"] });
  await until(async () => !(await read(body["access_token"])).text.includes("gold"));
  expect((await read(body["access_token"])).tiles).toMatchObject([{ results: [], error: hidden }]);
});

test("on a dashboard each query in SQL is shown or has its reason, and no value of a person is in the reply", async () => {
  const board = Number((await api("POST", "dashboards/", { name: "Board" })).body["id"]);
  const on = { dashboards: [board] };
  await save(
    "select toStartOfWeek(timestamp) as week, uniq(person_id) as visitors from events group by week",
    on,
  );
  await save(revenue, on);
  await save("select groupArray(distinct_id) from events", on);
  await save("select max(properties.email) from events", on);
  await save("select max(properties.plan) as most from events", on);
  const path = `dashboards/${board}/sharing/`;
  const { body } = await api("PATCH", path, { enabled: true, shown_properties: ["properties.plan"] });
  expect(body["properties_to_confirm"]).toEqual(["properties.amount"]);
  const { tiles, text } = await read(body["access_token"]);
  expect(tiles).toMatchObject([
    {
      columns: [
        ["week", expect.anything()],
        ["visitors", "UInt64"],
      ],
      results: [[expect.stringContaining("2026-03-01"), 2]],
    },
    ...Array.from({ length: 4 }, () => ({ error: hidden })),
  ]);
  // Neither a value nor what a query names.
  expect(text).not.toMatch(/ann|bob|example\.com|gold|properties|groupArray/);
  const told = (await api("GET", path)).body["not_shown"];
  expect(told).toMatchObject([
    { name: "SQL", reason: expect.stringContaining('"properties.amount" was not confirmed') },
    { name: "SQL", reason: expect.stringContaining("groupArray() is not among the figures") },
    { name: "SQL", reason: expect.stringContaining('"properties.email" is called like an id') },
    { name: "SQL", reason: expect.stringContaining("A figure of this query is no number") },
  ]);
  const { sql } = await storesOf(server);
  const stored = await sql<{ result: string }[]>`SELECT result FROM shared_results`;
  for (const { result } of stored) expect(result).not.toMatch(/properties|groupArray/);
});

test("more properties than a link may show are refused", async () => {
  const path = `insights/${await save("select count() from events")}/sharing/`;
  const names = Array.from({ length: 101 }, (_, i) => `properties.p${i}`);
  expect((await api("PATCH", path, { shown_properties: names })).status).toBe(400);
  expect((await api("PATCH", path, { shown_properties: ["x".repeat(401)] })).status).toBe(400);
});

test("other kinds show no values of SQL that were not confirmed, nor what is called like an id", async () => {
  const series = [{ kind: "EventsNode", event: "paid" }];
  const trend = (breakdownFilter: object) => ({ kind: "TrendsQuery", series, breakdownFilter });
  const queries: [query: object, reason: string][] = [
    [trend({ breakdown_type: "hogql", breakdown: "distinct_id" }), '"distinct_id" is not shown'],
    [
      trend({ breakdown_type: "hogql", breakdown: "lower(properties.plan)" }),
      '"properties.plan" was not confirmed',
    ],
    [trend({ breakdown_type: "hogql", breakdown: "properties.email" }), "is called like an id"],
    [
      {
        kind: "TrendsQuery",
        series: [{ ...series[0], math: "hogql", math_hogql: "max(toInt(properties.phone))" }],
      },
      "is called like an id",
    ],
    [
      {
        kind: "PathsQuery",
        pathsFilter: { includeEventTypes: ["hogql"], pathsHogQLExpression: "toString(person_id)" },
      },
      '"person_id" is not shown',
    ],
  ];
  for (const [query, reason] of queries) {
    const { body: saved } = await api("POST", "insights/", { name: "other", query });
    const path = `insights/${String(saved["id"])}/sharing/`;
    const refused = await api("PATCH", path, { enabled: true });
    expect([refused.status, refused.body["attr"]]).toEqual([400, "enabled"]);
    expect(String(refused.body["detail"])).toContain(reason);
  }
  const { body: saved } = await api("POST", "insights/", {
    name: "plans",
    query: trend({ breakdown: "plan" }),
  });
  expect((await api("PATCH", `insights/${String(saved["id"])}/sharing/`, { enabled: true })).status).toBe(
    200,
  );
});
