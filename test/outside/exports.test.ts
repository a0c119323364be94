// Batch exports as strangers expect them. Each test names the public threads that it stands for; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { silentLog } from "../../src/core/log.ts";
import { attachPostgres } from "../../src/storage/stores.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { until } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", ALLOW_PRIVATE_DESTINATIONS: "1" });
}, startMsMax);
afterAll(cleanUp, startMsMax);

const path = "/api/projects/1/batch_exports/";
const s3 = {
  bucket_name: "lake",
  prefix: "events",
  aws_access_key_id: "id",
  aws_secret_access_key: "secret",
  endpoint_url: "http://127.0.0.1:9",
};

async function create(type: string, config: object, more: object = {}) {
  const destination = { type, config };
  return await ask(app, "POST", path, { name: "e", interval: "hour", paused: true, destination, ...more });
}

// langfuse/langfuse#15617, cosmo0920/fluent-bit-go-s3#27: both runs were green, and the bucket held the files of one.
test("two exports of other events that would write the same objects are refused", async () => {
  expect((await create("S3", s3)).status).toBe(201);
  const detail = "Another batch export writes its files there. Choose another path or prefix.";
  const refused = [400, "validation_error", "invalid_input", detail, "destination__config__prefix"];
  expect(problemOf(await create("S3", { ...s3, include_events: ["A"] }))).toEqual(refused);
  expect(problemOf(await create("S3", { ...s3, prefix: "/events/", exclude_events: ["A"] }))).toEqual(
    refused,
  );
  expect(
    problemOf(await create("S3", { ...s3, endpoint_url: "http://127.0.0.1:9/", include_events: ["C"] })),
  ).toEqual(refused);
  for (const other of [
    { ...s3, prefix: "{table}/{year}" },
    { ...s3, prefix: "Events" },
    { ...s3, bucket_name: "other" },
    { ...s3, file_format: "Parquet" },
    { ...s3, compression: "gzip" },
  ])
    expect((await create("S3", other)).status).toBe(201);
  expect((await create("S3", s3, { interval: "day" })).status).toBe(201);
  const id = (await create("S3", { ...s3, prefix: "later", include_events: ["B"] })).body["id"];
  const moved = await ask(app, "PATCH", `${path}${id}/`, { destination: { config: { prefix: "events" } } });
  expect(problemOf(moved)).toEqual(refused);
  expect((await ask(app, "PATCH", `${path}${id}/`, { name: "named anew" })).status).toBe(200);
  const account_key = Buffer.from("key").toString("base64");
  const azure = { account_name: "lake", container_name: "events", account_key };
  expect((await create("AzureBlob", azure)).status).toBe(201);
  expect(problemOf(await create("AzureBlob", { ...azure, include_events: ["A"] }))).toEqual(refused);
  // Terraform and scripts make the same one twice.
  expect((await create("S3", { ...s3, include_events: [], exclude_events: [] })).status).toBe(201);
  const list = ["B", "A", "B"];
  const listed = await create("S3", { ...s3, prefix: "listed", include_events: list });
  expect((await create("S3", { ...s3, prefix: "listed", include_events: ["A", "B"] })).status).toBe(201);
  const narrowed = { destination: { config: { include_events: ["A"] } } };
  expect(problemOf(await ask(app, "PATCH", `${path}${listed.body["id"]}/`, narrowed))).toEqual(refused);
  const split = { ...s3, prefix: "split", max_file_size_mb: 1 };
  expect((await create("S3", split)).status).toBe(201);
  expect(problemOf(await create("S3", { ...split, max_file_size_mb: 2 }))).toEqual(refused);
  expect((await create("AzureBlob", { ...azure, container_name: "others" })).status).toBe(201);
});

// Another project of the organization: PostHog's exports have no other sign of it in their names.
test("an export of another project's rows to the same objects is refused", async () => {
  const made = await ask(app, "POST", "/api/projects/", { name: "Staging" });
  expect((await create("S3", { ...s3, prefix: "projects" })).status).toBe(201);
  const destination = { type: "S3", config: { ...s3, prefix: "projects" } };
  const body = { name: "e", interval: "hour", destination };
  const other = await ask(app, "POST", `/api/projects/${String(made.body["id"])}/batch_exports/`, body);
  expect([other.status, other.body["attr"]]).toEqual([400, "destination__config__prefix"]);
});

// PostHog/posthog#18114, #27699: a backfill off the grid shifted all of its intervals, so that no file was overwritten.
test("a backfill has the intervals of the schedule, wherever its range begins and ends", async () => {
  const minute = 60_000;
  const first = Math.floor(Date.now() / minute) * minute - 120 * minute;
  const iso = (at: number) => new Date(at).toISOString().replace(".000", "");
  const { id } = (await create("NoOp", {}, { interval: "every 1 minutes" })).body;
  const range = { start_at: iso(first + 30_000), end_at: iso(first + 150_000) };
  expect((await ask(app, "POST", `${path}${id}/backfills/`, range)).status).toBe(201);
  const readRuns = async () => {
    const { body } = await ask(app, "GET", `${path}${id}/runs/`);
    return (body["results"] as Record<string, string>[]).map((run) =>
      [run["data_interval_start"], run["data_interval_end"]].map((at) => new Date(at!).getTime() - first),
    );
  };
  await until(async () => (await readRuns()).length === 3);
  expect((await readRuns()).toSorted(([one], [other]) => one! - other!)).toEqual([
    [30_000, minute],
    [minute, 2 * minute],
    [2 * minute, 150_000],
  ]);
});

// PostHog/posthog#39557: the table of somebody else's events failed at the first run, and at each after it.
test("a table without the columns that an export needs is refused at creation, and a Postgres that does not answer is not", async () => {
  const { sql } = await attachPostgres({ dataDir: app.dataDir, log: silentLog });
  const { host, port, user, pass, database } = sql.options as unknown as Record<string, unknown>;
  await sql`CREATE SCHEMA exported`;
  await sql`CREATE TABLE exported.fewer (uuid uuid, event text, distinct_id text, timestamp timestamptz)`;
  await sql`CREATE TABLE exported.other (id bigint, event text)`;
  const place = {
    host: [host].flat()[0],
    port: [port].flat()[0],
    user,
    password: pass,
    database,
    schema: "exported",
  };
  const make = async (table_name: string, more: object = {}, config: object = place) =>
    problemOf(await create("Postgres", { ...config, table_name }, more)).filter((part) => part !== undefined);
  const attr = "destination__config__table_name";
  const refused = (detail: string) => [400, "validation_error", "invalid_input", detail, attr];
  expect(await make("none")).toEqual([201]);
  expect(await make("fewer")).toEqual([201]);
  const lacking = 'The table "exported"."other" has no column "uuid", "distinct_id", "timestamp".';
  expect(await make("other")).toEqual(refused(lacking));
  expect(await make("other", { model: "persons" })).toEqual(
    refused(
      'The table "exported"."other" has no column "team_id", "distinct_id", "person_id", "properties".',
    ),
  );
  const native_query = "SELECT uuid, event AS kind FROM events";
  expect(await make("fewer", { native_query })).toEqual(
    refused('The table "exported"."fewer" has no column "kind".'),
  );
  expect(await make("none", { native_query })).toEqual(
    refused('The table "exported"."none" does not exist, and the one of a native_query is not created.'),
  );
  expect(await make("other", {}, { ...place, password: "wrong", user: "nobody" })).toEqual([201]);
  const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } });
  expect(await make("other", {}, { ...place, port: silent.port })).toEqual([201]);
  silent.stop(true);
  const { body } = await create("Postgres", { ...place, table_name: "none" });
  const moved = { destination: { config: { table_name: "other" } } };
  expect(problemOf(await ask(app, "PATCH", `${path}${String(body["id"])}/`, moved))).toEqual(
    refused(lacking),
  );
  await sql.end();
});

// PostHog's products/batch_exports/backend/tests/api: test_create.py, test_update.py, backfills/test_create.py; #28731.
test("days and weeks begin on a zone's clock, and their backfills are asked for by dates", async () => {
  const shown = ({ status, body }: Awaited<ReturnType<typeof create>>) => [
    status,
    body["timezone"],
    body["offset_day"],
    body["offset_hour"],
  ];
  const make = (interval: string, more: object = {}) => create("NoOp", {}, { interval, ...more });
  expect(shown(await make("day"))).toEqual([201, "UTC", null, 0]);
  expect(shown(await make("week", { timezone: null }))).toEqual([201, "UTC", 0, 0]);
  expect(shown(await make("hour", { offset_day: null, offset_hour: null }))).toEqual([
    201,
    "UTC",
    null,
    null,
  ]);
  const daily = await make("day", { timezone: "US/Pacific", offset_hour: 1 });
  expect(shown(daily)).toEqual([201, "US/Pacific", null, 1]);
  const weekly = await make("week", { timezone: "Asia/Kathmandu", offset_day: 3, offset_hour: 20 });
  expect(shown(weekly)).toEqual([201, "Asia/Kathmandu", 3, 20]);
  for (const [interval, field, value] of [
    ["hour", "offset_hour", 3],
    ["day", "offset_day", 3],
    ["week", "offset_day", 7],
    ["day", "offset_hour", 24],
    ["day", "timezone", "Mars/Olympus"],
  ] as const) {
    const refused = problemOf(await make(interval, { [field]: value }));
    expect([refused[0], refused[4]]).toEqual([400, field]);
  }
  const backfill = (of: typeof daily, start_at: string, end_at: string) =>
    ask(app, "POST", `${path}${of.body["id"]}/backfills/`, { start_at, end_at });
  expect((await backfill(daily, "2026-01-01", "2026-01-02")).status).toBe(201);
  expect((await backfill(weekly, "2026-01-07", "2026-01-14")).status).toBe(201);
  expect((await backfill(weekly, "2026-01-04", "2026-01-11")).status).toBe(400);
  const kept = { ...weekly.body, interval: "day", offset_day: null };
  expect(shown(await ask(app, "PATCH", `${path}${weekly.body["id"]}/`, kept))).toEqual([
    200,
    "Asia/Kathmandu",
    null,
    20,
  ]);
});
