// Queries in the background over HTTP: asked, polled, cancelled, and ended with the right to ask them.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { issueKey, revokeKey } from "../../../src/personal_api_keys/store.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { addStranger, type Answer, ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { storesOf, until } from "../../support/server.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
let stores: Stores;
beforeAll(async () => {
  app = await startApp();
  stores = await storesOf(app);
}, startMsMax);

const home = "/api/projects/1/query";

async function addKey(...scopes: string[]): Promise<{ id: string; value: string; user_id: number }> {
  const [user] = await stores.sql<{ id: number }[]>`SELECT min(id) AS id FROM users`;
  return { ...(await issueKey(stores.sql, user!.id, { label: "some", scopes })), user_id: user!.id };
}

const begin = (query: string, more: object = { async: true }, key?: string): Promise<Answer> =>
  ask(app, "POST", `${home}/`, { query: { kind: "HogQLQuery", query }, ...more }, key);
const poll = (id: string, key?: string): Promise<Answer> => ask(app, "GET", `${home}/${id}/`, undefined, key);
const idOf = ({ body }: Answer): string => (body["query_status"] as { id: string }).id;

async function ended(id: string, key?: string): Promise<Answer> {
  let answer = await poll(id, key);
  await until(async () => (answer = await poll(id, key)).status !== 202);
  return answer;
}

/** It would run for minutes. */
const slow =
  "select count() from numbers(1000000) a join numbers(1000000) b on 1 = 1 where a.number * b.number = 7";

async function running(): Promise<number> {
  const [row] = await stores.clickhouse.query<{ count: string }>(
    "SELECT count() AS count FROM system.processes WHERE query LIKE '%numbers(%' AND query NOT LIKE '%system.processes%'",
  );
  return Number(row!.count);
}

test("a query in the background has a status at once, and its whole answer under its id", async () => {
  const begun = await begin("select 1 as one, 'a' as a");
  expect([begun.status, begun.body]).toEqual([
    202,
    {
      query_status: {
        id: expect.any(String),
        team_id: 1,
        query_async: true,
        complete: false,
        error: false,
        error_message: null,
        results: null,
        start_time: expect.stringMatching(/Z$/),
        end_time: null,
        expiration_time: null,
        insight_id: null,
        dashboard_id: null,
        labels: null,
        pickup_time: null,
        query_progress: null,
        task_id: null,
      },
    },
  ]);
  const { status, body } = await ended(idOf(begun));
  const waited = await begin("select 1 as one, 'a' as a", { refresh: "force_blocking" });
  const { results, complete, error, end_time, expiration_time } = body["query_status"] as Record<
    string,
    string
  >;
  expect([status, complete, error]).toEqual([200, true, false] as never);
  expect(Date.parse(expiration_time!) - Date.parse(end_time!)).toBe(600_000);
  const computed = { last_refresh: expect.any(String), timings: expect.any(Array) };
  expect(results).toEqual({ ...waited.body, ...computed } as never);
});

test("PostHog's modes that are not waited for are answered so, others are waited for", async () => {
  for (const refresh of ["async", "lazy_async", "force_async"]) {
    // Of the same query a result may be kept already.
    const { status, body } = await begin(`select '${refresh}'`, { refresh });
    expect([refresh, status, body["query_status"]]).toMatchObject([refresh, 202, { complete: false }]);
  }
  for (const refresh of [
    "blocking",
    "async_except_on_cache_miss",
    "force_cache",
    "force_blocking",
    true,
    false,
    null,
  ]) {
    const { status, body } = await begin("select 1", { refresh });
    expect([refresh, status, body["results"]]).toEqual([refresh, 200, [[1]]]);
  }
  expect((await begin("select 1", { async: false })).status).toBe(200);
  const trend = { kind: "TrendsQuery", series: [{}] };
  const begun = await ask(app, "POST", `${home}/`, { query: trend, async: true });
  expect((await ended(idOf(begun))).body["query_status"]).toMatchObject({
    results: { results: [{ count: 0 }] },
  });
});

test("client_query_id is the id, the same query by it is one, and another is a conflict", async () => {
  const more = { async: true, client_query_id: "mine / ünd" };
  const begun = await begin(slow, more);
  const path = encodeURIComponent("mine / ünd");
  expect([begun.status, idOf(begun)]).toEqual([202, "mine / ünd"]);
  expect((await begin(slow, more)).status).toBe(202);
  const other = await begin("select 1", more);
  expect([other.status, other.body["code"], other.body["attr"]]).toEqual([
    409,
    "conflict",
    "client_query_id",
  ]);
  expect((await poll(path)).status).toBe(202);
  expect((await ask(app, "DELETE", `${home}/${path}/`)).status).toBe(204);
  expect((await poll(path)).status).toBe(404);
  const long = await begin("select 1", { client_query_id: "x".repeat(201) });
  expect([long.status, long.body["attr"]]).toEqual([400, "client_query_id"]);
});

test("a query that is wrong in its form is refused at once, one that fails says why in PostHog's shape", async () => {
  const refused = await ask(app, "POST", `${home}/`, { query: { kind: "TeamTaxonomyQuery" }, async: true });
  expect([refused.status, refused.body["code"]]).toEqual([400, "not_supported"]);
  const { status, body } = await ended(idOf(await begin("select evnt from events")));
  expect([status, body]).toMatchObject([
    400,
    {
      type: "validation_error",
      code: "invalid_input",
      attr: "query__query",
      query_status: { complete: true, error: true, results: null, error_message: body["detail"] },
    },
  ]);
  expect(body["detail"]).toContain("evnt");
});

test("DELETE ends the statement in the engine, in the background and waited for", async () => {
  const id = idOf(await begin(slow));
  await until(async () => (await running()) > 0);
  expect((await ask(app, "DELETE", `${home}/${id}/`)).status).toBe(204);
  await until(async () => (await running()) === 0);
  expect((await ask(app, "DELETE", `${home}/${id}/`)).status).toBe(404);
  const waited = begin(slow, { client_query_id: "waited" });
  await until(async () => (await running()) > 0);
  expect((await ask(app, "DELETE", `${home}/waited/`)).status).toBe(204);
  const { status, body } = await waited;
  expect([status, body["code"]]).toEqual([409, "conflict"]);
  await until(async () => (await running()) === 0);
});

test("another project's, another key's and a key without the scope see nothing of it", async () => {
  const id = idOf(await begin("select count() from persons"));
  await ended(id);
  const other = await addKey("*");
  expect((await poll(id, other.value)).status).toBe(404);
  const bare = await addKey("person:read");
  expect((await poll(id, bare.value)).status).toBe(403);
  const stranger = await addStranger(stores.sql);
  expect((await poll(id, stranger.key)).status).toBe(403);
  const theirs = await ask(app, "GET", `/api/projects/@current/query/${id}/`, undefined, stranger.key);
  expect(theirs.status).toBe(404);
});

test("a key's queries end when it is revoked, and with its project", async () => {
  const key = await addKey("query:read");
  const id = idOf(await begin(slow, { async: true }, key.value));
  await until(async () => (await running()) > 0);
  await revokeKey(stores.sql, key.id, key.user_id);
  await until(async () => (await running()) === 0);
  expect((await poll(id, key.value)).status).toBe(401);
  const stranger = await addStranger(stores.sql);
  const path = "/api/projects/@current/";
  const body = { query: { kind: "HogQLQuery", query: slow }, async: true };
  expect((await ask(app, "POST", `${path}query/`, body, stranger.key)).status).toBe(202);
  await until(async () => (await running()) > 0);
  expect((await ask(app, "DELETE", path, undefined, stranger.key)).status).toBeLessThan(300);
  await until(async () => (await running()) === 0);
});

test("parameters that would have an effect are refused by name, others change nothing", async () => {
  const id = idOf(await begin("select 1"));
  await ended(id);
  expect((await ask(app, "GET", `${home}/${id}/?show_progress=true`)).status).toBe(200);
  const refused = await ask(app, "DELETE", `${home}/${id}/?dequeue_only=true`);
  expect([refused.status, refused.body["attr"]]).toEqual([400, "dequeue_only"]);
});
