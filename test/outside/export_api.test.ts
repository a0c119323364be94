// Batch exports over HTTP: the assertions of PostHog's test_pause.py, test_runs.py, test_create_s3.py, test_update.py,
// backfills/test_list.py and backfills/test_cancel.py, and public threads.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, projectKey, rested } from "../support/server.ts";

let app: RunningApp;
let other: string;
beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  other = `/api/projects/${String((await ask(app, "POST", "/api/projects/", { name: "other" })).body["id"])}/batch_exports/`;
  const batch = [{ event: "old", distinct_id: "a", timestamp: "2021-01-01T00:30:00Z" }];
  await post({ url: app.url }, "/batch/", { api_key: projectKey, batch, historical_migration: true });
  await rested({ url: app.url });
}, startMsMax);
afterAll(cleanUp, startMsMax);

const home = "/api/projects/1/batch_exports/";
let places = 0;
const config = (more: object = {}) => ({
  bucket_name: "my-bucket",
  region: "us-east-1",
  prefix: `events-${places++}/`,
  aws_access_key_id: "key",
  aws_secret_access_key: "secret",
  ...more,
});
const create = async (type: string, settings: object, more: object = {}, at = home): Promise<Answer> =>
  await ask(app, "POST", at, {
    name: "e",
    interval: "hour",
    destination: { type, config: settings },
    ...more,
  });
const makeExport = async (more: object = {}): Promise<string> =>
  String((await create("NoOp", {}, { interval: "day", ...more })).body["id"]);
const get = async (id: string) => (await ask(app, "GET", `${home}${id}/`)).body;
const act = async (id: string, name: string, body?: object, at = home) =>
  await ask(app, "POST", `${at}${id}/${name}/`, body);

// test_pause_and_unpause_batch_export, test_pause_batch_export_that_is_already_paused; PostHog/posthog#17298, #21706.
test("a pause is kept, and the same again changes nothing", async () => {
  const id = await makeExport();
  const fresh = await get(id);
  expect(fresh["paused"]).toBe(false);
  expect((await act(id, "unpause")).status).toBe(200);
  expect((await get(id))["last_updated_at"]).toBe(fresh["last_updated_at"]);
  expect((await act(id, "pause")).status).toBe(200);
  const paused = await get(id);
  expect(paused["paused"]).toBe(true);
  expect(String(paused["last_updated_at"]) > String(fresh["last_updated_at"])).toBe(true);
  expect((await act(id, "pause")).status).toBe(200);
  expect((await get(id))["last_updated_at"]).toBe(paused["last_updated_at"]);
  expect((await act(id, "unpause")).status).toBe(200);
  expect((await get(id))["paused"]).toBe(false);
});

// test_unpause_can_trigger_a_backfill; PostHog/posthog#16269.
test("an export is resumed with a backfill of its pause", async () => {
  const id = await makeExport();
  await act(id, "pause");
  const { status } = await act(id, "unpause", { backfill: true });
  expect([status, (await get(id))["paused"]]).toEqual([200, false]);
});

// test_pause_and_unpause_are_partitioned_by_team_id, test_batch_exports_are_partitioned_by_team.
test("another project has none of it", async () => {
  const id = await makeExport();
  for (const name of ["pause", "unpause"]) expect((await act(id, name, undefined, other)).status).toBe(404);
  expect((await ask(app, "GET", `${other}${id}/`)).status).toBe(404);
  expect((await ask(app, "GET", `${home}${id}/runs/`)).status).toBe(200);
  expect((await get(id))["paused"]).toBe(false);
  expect((await act(crypto.randomUUID(), "pause")).status).toBe(404);
});

// backfills/test_list.py, backfills/test_get.py, backfills/test_cancel.py; PostHog/posthog#27788, #25501.
test("backfills are listed, found and cancelled", async () => {
  const id = await makeExport({ paused: true });
  const range = { start_at: "2021-01-01T00:00:00+00:00", end_at: "2021-01-02T00:00:00+00:00" };
  const made = await act(id, "backfills", range);
  expect(made.status).toBe(201);
  const list = await ask(app, "GET", `${home}${id}/backfills/`);
  const results = list.body["results"] as Record<string, unknown>[];
  expect([list.status, results.length]).toEqual([200, 1]);
  const one = `${home}${id}/backfills/${String(results[0]!["id"])}/`;
  const found = await ask(app, "GET", one);
  expect([found.status, found.body["id"], found.body["start_at"]]).toEqual([
    200,
    results[0]!["id"],
    "2021-01-01T00:00:00Z",
  ]);
  const cancelled = await act(id, `backfills/${String(results[0]!["id"])}/cancel`);
  // What has ended by then is a 400.
  expect([200, 400]).toContain(cancelled.status);
  if (cancelled.status === 200) expect(cancelled.body["cancelled"]).toBe(true);
});

// PostHog/posthog#27687: a wrong range is refused, and the next one is not.
test.each([
  [{ start_at: "2021-01-03T00:00:00Z", end_at: "2021-01-02T00:00:00Z" }, 400],
  [{ start_at: "2021-01-01T00:00:00Z", end_at: "2021-01-01T00:00:00Z" }, 400],
  [{ start_at: "x", end_at: "2021-01-02T00:00:00Z" }, 400],
  [{ start_at: "2021-01-01T00:00:00+00:00", end_at: "2999-01-02T00:00:00+00:00" }, 400],
  [{ start_at: "2021-01-01T00:00:00+00:00", end_at: "2021-01-02T00:00:00+00:00" }, 201],
])("a backfill of %j is answered %d", async (range, expected) => {
  expect((await act(await makeExport({ paused: true }), "backfills", range)).status).toBe(expected);
});

// test_create_s3.py: formats and compressions.
test.each([
  ["JSONLines", null, 201],
  ["JSONLines", "gzip", 201],
  ["JSONLines", "brotli", 201],
  ["JSONLines", "zstd", 400],
  ["Parquet", null, 201],
  ["Parquet", "gzip", 201],
  ["Parquet", "brotli", 201],
  ["Parquet", "zstd", 201],
  ["Parquet", "lz4", 201],
  ["Parquet", "snappy", 201],
  ["Parquet", "unknown", 400],
  ["unknown", "gzip", 400],
])("files as %s with %p are answered %d", async (file_format, compression, expected) => {
  const { status, text } = await create("S3", config({ file_format, compression }));
  expect([status, status === expected ? "" : text]).toEqual([expected, ""]);
});

// test_create_s3.py: the family of S3, its fields, and addresses of one's own network.
test.each([
  ["S3", {}, 201],
  ["S3", { endpoint_url: "https://storage.example.com" }, 201],
  ["S3", { encryption: "AES256" }, 201],
  ["S3", { aws_access_key_id: "", aws_secret_access_key: "" }, 400],
  ["S3", { endpoint_url: "https://192.168.1.1" }, 400],
  ["S3", { endpoint_url: "http://127.0.0.1" }, 400],
  ["S3", { endpoint_url: "http://[::1]/" }, 400],
  ["S3", { endpoint_url: "http://10.0.0.1:9000/" }, 400],
  ["S3", { endpoint_url: "http://169.254.0.0:8080/data" }, 400],
  ["S3", { endpoint_url: "http://localhost" }, 400],
])("%s with %j is answered %d", async (type, more, expected) => {
  const { status, text } = await create(type, config(more));
  expect([status, status === expected ? "" : text]).toEqual([expected, ""]);
});

// test_can_put_config, test_can_patch_config.
test("a PUT needs every field, and a PATCH keeps the secrets", async () => {
  const settings = config();
  const id = String((await create("S3", settings)).body["id"]);
  const { aws_access_key_id: _, aws_secret_access_key: __, ...open } = settings;
  const put = await ask(app, "PUT", `${home}${id}/`, { name: "e", interval: "hour" });
  expect(put.status).toBe(400);
  const destination = { type: "S3", config: { ...open, prefix: "elsewhere/" } };
  const patched = await ask(app, "PATCH", `${home}${id}/`, { name: "e", destination });
  expect([patched.status, patched.body["interval"]]).toEqual([200, "hour"]);
  expect((patched.body["destination"] as { config: object }).config).toMatchObject({ prefix: "elsewhere/" });
  const whole = {
    name: "e",
    interval: "day",
    start_at: "2022-07-19 00:00:00",
    destination: { type: "S3", config: settings },
  };
  const replaced = await ask(app, "PUT", `${home}${id}/`, whole);
  expect([replaced.status, replaced.body["interval"]]).toEqual([200, "day"]);
});

// test_can_patch_hogql_query, test_patch_returns_error_on_unsupported_hogql_query.
test("an export's query is changed, and a wrong one is refused", async () => {
  const id = await makeExport();
  const hogql_query = "select toString(uuid) as uuid, 'test' as test, toInt(1+1) as n from events";
  const patched = await ask(app, "PATCH", `${home}${id}/`, { hogql_query });
  expect([patched.status, patched.body["interval"]]).toEqual([200, "day"]);
  const wrong = await ask(app, "PATCH", `${home}${id}/`, {
    hogql_query: "select noSuchFunction(1) as n from events",
  });
  expect(wrong.status).toBe(400);
});

// test_delete.py.
test("a deleted export is gone", async () => {
  const id = await makeExport();
  expect((await ask(app, "DELETE", `${home}${id}/`)).status).toBe(204);
  expect((await ask(app, "GET", `${home}${id}/`)).status).toBe(404);
  expect((await ask(app, "DELETE", `${home}${id}/`)).status).toBe(404);
});
