// SQL over persons, groups and recordings asks for their scopes, also when it is saved as an insight.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { issueKey } from "../../../src/personal_api_keys/store.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { type Answer, ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { storesOf } from "../../support/server.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
let stores: Stores;
beforeAll(async () => {
  app = await startApp();
  stores = await storesOf(app);
}, startMsMax);

async function keyWith(...scopes: string[]): Promise<string> {
  const [user] = await stores.sql<{ id: number }[]>`SELECT min(id) AS id FROM users`;
  return (await issueKey(stores.sql, user!.id, { label: "some", scopes })).value;
}

const send = (key: string | undefined, method: string, path: string, body?: object): Promise<Answer> =>
  ask({ url: app.url } as never, method, `/api/projects/1/${path}`, body, key);

const texts: [query: string, scope: string][] = [
  ["select count() from persons", "person:read"],
  ["select distinct_id from person_distinct_ids", "person:read"],
  ["select person.properties.x from events", "person:read"],
  ["select count() from events where distinct_id in (select toString(id) from persons)", "person:read"],
  ["select count() from groups", "group:read"],
  ["select group_0.properties.name from events", "group:read"],
  ["select count() from session_recordings", "session_recording:read"],
  ["select count() from raw_session_replay_events", "session_recording:read"],
  ["select 1 as one union all select count() from session_replay_events", "session_recording:read"],
];

test("a key without a required scope is refused by its name, one with it is answered", async () => {
  const bare = await keyWith("query:read");
  for (const [query, scope] of texts) {
    const body = { query: { kind: "HogQLQuery", query } };
    const refused = await send(bare, "POST", "query/", body);
    const detail = `API key missing required scope '${scope}'`;
    expect([query, refused.status, refused.body["detail"]]).toEqual([query, 403, detail]);
    const answered = await send(await keyWith("query:read", scope), "POST", "query/", body);
    expect([query, answered.status, answered.body["error"]]).toEqual([query, 200, null]);
  }
});

test("filters, math and breakdowns in SQL require theirs", async () => {
  const bare = await keyWith("query:read");
  const trend = { kind: "TrendsQuery", series: [{ event: "seen" }] };
  const key = "person.properties.x = 'y'";
  const queries: object[] = [
    { ...trend, properties: [{ type: "hogql", key }] },
    { ...trend, series: [{ math: "hogql", math_hogql: `countIf(${key})` }] },
    { ...trend, breakdownFilter: { breakdown: key, breakdown_type: "hogql" } },
    { kind: "EventsQuery", select: ["event"], properties: [{ type: "hogql", key }] },
  ];
  for (const query of queries) {
    const refused = await send(bare, "POST", "query/", { query });
    const detail = "API key missing required scope 'person:read'";
    expect([query, refused.status, refused.body["detail"]]).toEqual([query, 403, detail]);
    const answered = await send(await keyWith("query:read", "person:read"), "POST", "query/", { query });
    expect([query, answered.status, answered.body["error"]]).toEqual([query, 200, null]);
  }
});

test("breakdowns by properties of persons and groups require theirs", async () => {
  const bare = await keyWith("query:read");
  const trend = { kind: "TrendsQuery", series: [{ event: "seen" }] };
  const funnel = { kind: "FunnelsQuery", series: [{ event: "seen" }, { event: "bought" }] };
  for (const query of [trend, funnel]) {
    for (const type of ["person", "group"]) {
      const breakdowns = [{ property: "plan" }, { property: "email", type, group_type_index: 0 }];
      const body = { query: { ...query, breakdownFilter: { breakdowns } } };
      const refused = await send(bare, "POST", "query/", body);
      const detail = `API key missing required scope '${type}:read'`;
      expect([type, refused.status, refused.body["detail"]]).toEqual([type, 403, detail]);
      expect((await send(await keyWith("query:read", `${type}:read`), "POST", "query/", body)).status).toBe(
        200,
      );
    }
    const body = { query: { ...query, breakdownFilter: { breakdowns: [{ property: "plan" }] } } };
    expect((await send(bare, "POST", "query/", body)).status).toBe(200);
  }
});

test("events require no further scope", async () => {
  const query = { kind: "HogQLQuery", query: "select *, person_id from events" };
  const { status, body } = await send(await keyWith("query:read"), "POST", "query/", { query });
  expect([status, body["results"]]).toEqual([200, []]);
  // The statement is for keys that may do everything.
  expect(body).not.toHaveProperty("clickhouse");
});

test("a saved query is answered to keys with its scopes, alone, in a list and on a dashboard", async () => {
  const query = { kind: "HogQLQuery", query: "select count() from persons" };
  const { body: dashboard } = await send(undefined, "POST", "dashboards/", { name: "of SQL" });
  const { body: saved } = await send(undefined, "POST", "insights/", {
    query,
    dashboards: [dashboard["id"]],
  });
  const resultsOf = async (key: string | undefined): Promise<unknown[]> => {
    const one = await send(key, "GET", `insights/${saved["id"]}/`);
    const list = await send(key, "GET", "insights/?refresh=true&limit=1");
    const board = await send(key, "GET", `dashboards/${dashboard["id"]}/?refresh=true`);
    const [row] = list.body["results"] as Record<string, unknown>[];
    const [tile] = board.body["tiles"] as { insight: Record<string, unknown> }[];
    return [one.body, row!, tile!.insight].map((insight) => {
      const { error_message } = (insight["query_status"] ?? {}) as Record<string, unknown>;
      return error_message ?? insight["result"];
    });
  };
  const readers = ["insight:read", "dashboard:read"];
  expect(await resultsOf(undefined)).toEqual([[[0]], [[0]], [[0]]]);
  expect(await resultsOf(await keyWith(...readers, "person:read"))).toEqual([[[0]], [[0]], [[0]]]);
  const refusal = "API key missing required scope 'person:read'";
  expect(await resultsOf(await keyWith(...readers))).toEqual([refusal, refusal, refusal]);
});
