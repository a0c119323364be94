// Exports to a Postgres, an HTTP listener and a folder, by a real server process.

import { beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "../../src/core/log.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { attachPostgres, type Stores } from "../../src/storage/stores.ts";
import { azureAccount, azureKey, startAzure } from "../support/azure.ts";
import { cleanUpEach, later } from "../support/cleanup.ts";
import { endedRuns, makeBackfill, makeExport, runIn, type SeenRun } from "../support/exports.ts";
import { makeFolder } from "../support/folder.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { post, projectKey, rested, type Server, startServer, storesOf, until } from "../support/server.ts";

cleanUpEach();

let server: Server;
let stores: Stores;
let target: Postgres;
let place: Record<string, unknown>;
let login: { user: string; password: string };
const folder = makeFolder();
const sent = new Map<string, { event: string; properties: Record<string, unknown> }>();
let span: { start: Date; end: Date };

beforeAll(async () => {
  server = await startServer({
    FLUSH_INTERVAL_MS: "50",
    ALLOW_PRIVATE_DESTINATIONS: "1",
    EXPORT_FILE_DIR: folder,
  });
  stores = await storesOf(server);
  const attached = await attachPostgres({ dataDir: await makeStoresFolder(["postgres"]), log: silentLog });
  later(() => attached.close());
  target = attached.sql;
  const { host, port, user, pass, database } = target.options as unknown as {
    host: string[];
    port: number[];
    user: string;
    pass: string;
    database: string;
  };
  place = { host: host[0], port: port[0], database };
  login = { user, password: pass };
  const batch = Array.from({ length: 2500 }, (_, i) => ({
    event: i % 2 ? "bought" : "seen",
    distinct_id: `d${i % 7}`,
    uuid: crypto.randomUUID(),
    timestamp: new Date(Date.UTC(2023, i % 5, 1, 0, 0, i % 60)).toISOString(),
    properties: i % 5 === 0 ? {} : { i, text: "\t \\ ' \" ü \n", $ip: "1.2.3.4", $set: { a: [i] } },
  }));
  for (const event of batch) sent.set(event.uuid, event);
  const text = JSON.stringify({ api_key: projectKey, historical_migration: true, batch }, null, 1);
  expect((await post(server, "/batch/", text)).status).toBe(200);
  await rested(server);
  const end = new Date(Math.ceil(Date.now() / 1000) * 1000);
  span = { start: new Date(end.getTime() - 3_600_000), end };
});

async function begun(made: Parameters<typeof makeExport>[2]): Promise<string> {
  const id = await makeExport(stores, server, made);
  await makeBackfill(stores, id, "hour", span);
  return id;
}

async function exported(made: Parameters<typeof makeExport>[2]): Promise<SeenRun> {
  const [run] = await endedRuns(stores, await begun(made));
  return run!;
}

const toTable = (config: object = {}, secrets: Record<string, unknown> = login) => ({
  type: "Postgres",
  config: { ...place, ...config },
  secrets,
});

test("a Postgres table is made, filled, and filled again without a row twice", async () => {
  for (let round = 0; round < 2; round++) {
    const run = await exported(toTable());
    expect([run.latest_error, run.records_completed]).toEqual([null, 2500]);
    const rows = await target<
      { uuid: string; event: string; properties: unknown; set: unknown; ip: string | null }[]
    >`
      SELECT uuid, event, properties, "set", ip FROM events`;
    expect(rows.map(({ uuid }) => uuid).toSorted()).toEqual([...sent.keys()].toSorted());
    for (const { uuid, event, properties, set, ip } of rows) {
      const { $set = null, $ip = null } = sent.get(uuid)!.properties;
      expect({ event, properties, set, ip }).toEqual({
        event: sent.get(uuid)!.event,
        properties: sent.get(uuid)!.properties,
        set: $set,
        ip: $ip as string | null,
      });
    }
  }
});

test("two exports into one table at once leave every row once", async () => {
  const runs = await Promise.all([
    exported(toTable({ table_name: "both" })),
    exported(toTable({ table_name: "both" })),
  ]);
  expect(runs.map(({ latest_error }) => latest_error)).toEqual([null, null]);
  const [counted] = await target<{ rows: number; uuids: number }[]>`
    SELECT count(*)::integer AS rows, count(DISTINCT uuid)::integer AS uuids FROM "both"`;
  expect(counted).toEqual({ rows: 2500, uuids: 2500 });
});

test("a table somebody else made is filled by its own types", async () => {
  await target`CREATE TABLE theirs (uuid varchar(200), event varchar(200), properties jsonb, elements jsonb,
    set jsonb, set_once jsonb, distinct_id varchar(200), team_id integer, ip varchar(200), site_url varchar(200),
    timestamp timestamptz, more integer DEFAULT 7)`;
  const run = await exported(toTable({ table_name: "theirs" }));
  expect([run.latest_error, run.records_completed]).toEqual([null, 2500]);
  const [row] = await target<{ rows: number }[]>`SELECT count(*)::integer AS rows FROM theirs WHERE more = 7`;
  expect(row?.rows).toBe(2500);
});

// PostHog/posthog#39557
test("a table with fewer columns is filled with those that it has", async () => {
  await target`CREATE TABLE fewer (uuid uuid, event text, distinct_id text, timestamp timestamptz)`;
  for (let round = 0; round < 2; round++) {
    const run = await exported(toTable({ table_name: "fewer" }));
    expect([run.latest_error, run.records_completed]).toEqual([null, 2500]);
  }
  const [row] = await target<
    { rows: number }[]
  >`SELECT count(*)::integer AS rows FROM fewer WHERE event = 'seen'`;
  expect(row?.rows).toBe(1250);
});

test("a wrong password, database or table ends a run at once", async () => {
  await target`CREATE TABLE odd (uuid uuid, something integer)`;
  const runs = await Promise.all([
    exported(toTable({}, { ...login, password: "not-the-password" })),
    exported(toTable({ database: "nowhere" })),
    exported(toTable({ table_name: "odd" })),
  ]);
  expect(runs.map(({ status, attempts }) => [status, attempts])).toEqual(runs.map(() => ["Failed", 1]));
  expect(runs[0]!.latest_error).toContain("password");
  expect(runs[0]!.latest_error).not.toContain("not-the-password");
  expect(runs[1]!.latest_error).toContain("does not exist");
  expect(runs[2]!.latest_error).toContain("does not exist");
});

/** A listener that takes batches, as told. */
function startListener(answer: (request: number, uuids: string[]) => Response | undefined = () => undefined) {
  const bodies: { api_key: string; historical_migration: boolean; batch: Record<string, unknown>[] }[] = [];
  const keys: string[] = [];
  let requests = 0;
  const listener = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const body = (await request.json()) as (typeof bodies)[0];
      const refused = answer(
        requests++,
        body.batch.map(({ uuid }) => String(uuid)),
      );
      if (refused) return refused;
      keys.push(request.headers.get("idempotency-key") ?? "");
      bodies.push(body);
      return Response.json({ status: "Ok" });
    },
  });
  later(() => listener.stop(true));
  return { url: `http://127.0.0.1:${listener.port}/batch/`, bodies, keys, listener };
}

const toListener = (url: string) => ({ type: "HTTP", config: { url }, secrets: { token: "phc_theirs" } });

test("an HTTP listener gets every event once, in batches as capture takes them", async () => {
  const { url, bodies, keys } = startListener((request) =>
    request === 1 ? new Response("busy", { status: 503, headers: { "retry-after": "0" } }) : undefined,
  );
  const run = await exported(toListener(url));
  expect([run.latest_error, run.records_completed]).toEqual([null, 2500]);
  expect(bodies.map(({ api_key, historical_migration }) => [api_key, historical_migration])).toEqual(
    bodies.map(() => ["phc_theirs", true]),
  );
  expect(bodies.length).toBe(3);
  expect(new Set(keys).size).toBe(3);
  const events = bodies.flatMap(({ batch }) => batch);
  expect(events.map(({ uuid }) => String(uuid)).toSorted()).toEqual([...sent.keys()].toSorted());
  for (const { uuid, event, properties } of events) {
    const { $geoip_disable, ...rest } = properties as Record<string, unknown>;
    expect({ event, properties: rest, $geoip_disable }).toEqual({
      event: sent.get(String(uuid))!.event,
      properties: sent.get(String(uuid))!.properties,
      $geoip_disable: true,
    });
  }
});

test("a listener that refuses ends a run at once, one that is unavailable is tried again", async () => {
  const refusing = startListener(() => new Response("no such key", { status: 401 }));
  const refused = await exported(toListener(refusing.url));
  expect([refused.status, refused.attempts]).toEqual(["Failed", 1]);
  expect(refused.latest_error).toMatch(/^127\.0\.0\.1:\d+ answered 401: no such key$/);
  const moved = startListener(() => Response.redirect("http://127.0.0.1:1/", 307));
  expect((await exported(toListener(moved.url))).latest_error).toContain("answered 307");
  const { listener, url } = startListener();
  await listener.stop(true);
  const id = await begun(toListener(url));
  const waiting = await runIn(stores, id, "FailedRetryable");
  expect(waiting.latest_error).toContain("could not be reached");
  const back = Bun.serve({
    port: Number(new URL(url).port),
    hostname: "127.0.0.1",
    fetch: () => new Response(""),
  });
  later(() => back.stop(true));
  const [run] = await endedRuns(stores, id);
  expect([run!.status, run!.records_completed]).toEqual(["Completed", 2500]);
});

function filesBelow(path: string): string[] {
  return readdirSync(join(folder, path), { recursive: true, encoding: "utf8" }).toSorted();
}

test("files appear whole in the operator's folder, and nowhere else", async () => {
  const run = await exported({ type: "File", config: { path: "out", prefix: "{table}" } });
  expect([run.latest_error, run.records_completed]).toEqual([null, 2500]);
  const [, name, ...others] = filesBelow("out");
  expect(others).toEqual([]);
  const lines = readFileSync(join(folder, "out", name!), "utf8")
    .trimEnd()
    .split("\n");
  const uuids = lines.map((line) => (JSON.parse(line) as { uuid: string }).uuid);
  expect(uuids.toSorted()).toEqual([...sent.keys()].toSorted());
  const split = await exported({ type: "File", config: { path: "split", max_file_size_mb: 1 } });
  expect(split.latest_error).toBeNull();
  const endings = filesBelow("split").map((file) => file.replace(/^.*\+00:00/, ""));
  expect(endings).toEqual(["-0.jsonl", "-1.jsonl", "_manifest.json"]);
  const outside = makeFolder();
  symlinkSync(outside, join(folder, "link"));
  const escaped = await exported({ type: "File", config: { path: "link" } });
  expect([escaped.status, escaped.latest_error]).toEqual(["Failed", "The path leaves EXPORT_FILE_DIR"]);
  expect(readdirSync(outside)).toEqual([]);
});

test("a native query chooses rows and columns, and filters choose rows", async () => {
  const native_query =
    "SELECT event AS name, properties.i AS number, properties FROM events WHERE event = 'bought'";
  const run = await exported({ type: "File", config: { path: "own" }, native_query });
  expect([run.latest_error, run.records_completed]).toEqual([null, 1250]);
  const lines = readFileSync(join(folder, "own", filesBelow("own")[0]!), "utf8")
    .trimEnd()
    .split("\n");
  const rows = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(new Set(rows.map(({ name }) => name))).toEqual(new Set(["bought"]));
  expect(
    rows.some(({ number, properties }) => number === String((properties as { i: number }).i)),
  ).toBeTrue();
  const parquet = await exported({
    type: "File",
    config: { path: "pq", file_format: "Parquet" },
    native_query,
  });
  expect(parquet.latest_error).toBeNull();
  const filters = [{ key: "i", value: "11", operator: "exact", type: "event" }];
  const filtered = await exported({ type: "NoOp", config: {}, filters });
  expect([filtered.latest_error, filtered.records_completed]).toEqual([null, 1]);
  const ofPersons = [{ key: "a", value: "[2499]", type: "person" }];
  const theirs = await exported({ type: "NoOp", config: {}, filters: ofPersons });
  expect([theirs.latest_error, theirs.records_completed]).toEqual([null, 0]);
  const noGroup = { key: "size", type: "group", group_type_index: 0, operator: "is_not_set" };
  const without = await exported({ type: "NoOp", config: {}, filters: [...filters, noGroup] });
  expect([without.latest_error, without.records_completed]).toEqual([null, 1]);
}, 300_000);

test("Azure's blob store is written with signed requests, and a wrong key ends a run at once", async () => {
  const azure = startAzure("exports");
  const config = {
    account_name: azureAccount,
    container_name: "exports",
    prefix: "p/a b",
    endpoint_url: azure.url,
  };
  const toAzure = (more: object = {}, account_key: string = azureKey) => ({
    type: "AzureBlob",
    config: { ...config, ...more },
    secrets: { account_key },
  });
  const run = await exported(toAzure());
  expect([run.latest_error, run.records_completed]).toEqual([null, 2500]);
  const [name, bytes] = [...azure.blobs][0]!;
  expect(name).toMatch(/^exports\/p\/a b\/\S+\.jsonl$/);
  const lines = new TextDecoder().decode(bytes).trimEnd().split("\n");
  const uuids = lines.map((line) => (JSON.parse(line) as { uuid: string }).uuid);
  expect(uuids.toSorted()).toEqual([...sent.keys()].toSorted());
  const split = await exported(toAzure({ prefix: "s", file_format: "Parquet", max_file_size_mb: 1 }));
  expect(split.latest_error).toBeNull();
  expect([...azure.blobs.keys()].filter((key) => key.endsWith("_manifest.json"))).toHaveLength(1);
  const wrong = await exported(
    toAzure({}, Buffer.from("some other key entirely, of bytes").toString("base64")),
  );
  expect([wrong.status, wrong.attempts]).toEqual(["Failed", 1]);
  const missing = await exported(toAzure({ container_name: "missing" }));
  expect([missing.status, missing.attempts]).toEqual(["Failed", 1]);
});

test("persons come as they are now, one row for every id, into files and tables", async () => {
  const batch = [
    {
      event: "$identify",
      distinct_id: "known",
      properties: { $anon_distinct_id: "before", $set: { plan: "pro" } },
    },
    { event: "e", distinct_id: "other", properties: { $set: { plan: "free", "odd key": [1, null] } } },
    { event: "e", distinct_id: "known", properties: { $set: { plan: "max" } } },
  ];
  expect((await post(server, "/batch/", { api_key: projectKey, batch })).status).toBe(200);
  await rested(server);
  const ids = ["before", "known", "other"];
  await until(async () => {
    const [row] = await stores.clickhouse.query<{ ids: string }>(
      "SELECT count() AS ids FROM persons WHERE has(distinct_ids, 'before') AND has(distinct_ids, 'known')",
    );
    return row?.ids === "1";
  });
  const end = new Date(Math.ceil(Date.now() / 1000) * 1000);
  const range = { start: new Date(end.getTime() - 3_600_000), end };
  const made = [
    { type: "File", config: { path: "persons", prefix: "{table}" } },
    toTable({ table_name: "people" }),
    toTable({ table_name: "people" }),
  ];
  for (const one of made) {
    const id = await makeExport(stores, server, { ...one, model: "persons" });
    await makeBackfill(stores, id, "hour", range);
    const [run] = await endedRuns(stores, id);
    expect([run!.latest_error, run!.records_completed]).toEqual([null, 10]);
  }
  const [, name] = filesBelow("persons");
  const lines = readFileSync(join(folder, "persons", name!), "utf8")
    .trimEnd()
    .split("\n");
  const rows = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const table = await target<Record<string, unknown>[]>`SELECT * FROM people`;
  for (const all of [rows, [...table]]) {
    const found = new Map(all.map((row) => [String(row["distinct_id"]), row]));
    expect(all.length).toBe(10);
    expect(ids.map((id) => found.get(id)?.["properties"])).toEqual([
      { plan: "max" },
      { plan: "max" },
      { plan: "free", "odd key": [1, null] },
    ]);
    expect(found.get("before")!["person_id"]).toBe(found.get("known")!["person_id"]);
    expect(found.get("before")!["team_id"]).toBe(1);
  }
});

test("a native query into a table must name the columns that identify its rows", async () => {
  await target`CREATE TABLE own (uuid uuid, name text)`;
  const select = (columns: string) => ({
    native_query: `SELECT ${columns} FROM events WHERE event = 'bought'`,
  });
  for (let round = 0; round < 2; round++) {
    const run = await exported({ ...toTable({ table_name: "own" }), ...select("event AS name, uuid") });
    expect([run.latest_error, run.records_completed]).toEqual([null, 1250]);
  }
  const [counted] = await target<
    { rows: number }[]
  >`SELECT count(*)::integer AS rows FROM own WHERE name = 'bought'`;
  expect(counted?.rows).toBe(1250);
  const without = await exported({ ...toTable({ table_name: "own" }), ...select("event AS name") });
  expect([without.status, without.latest_error]).toEqual([
    "Failed",
    expect.stringContaining("has to select uuid"),
  ]);
});

test("a server that may not reach private addresses says so and does not try", async () => {
  const closed = await startServer({ FLUSH_INTERVAL_MS: "50" });
  const theirs = await storesOf(closed);
  await post(closed, "/batch/", { api_key: projectKey, batch: [{ event: "e", distinct_id: "d" }] });
  await rested(closed);
  const { url, bodies } = startListener();
  const end = new Date(Math.ceil(Date.now() / 1000) * 1000);
  for (const made of [
    toListener(url),
    toTable(),
    { type: "S3", config: { bucket_name: "exports", region: "x", prefix: "", endpoint_url: url } },
  ]) {
    const id = await makeExport(theirs, closed, made);
    await makeBackfill(theirs, id, "hour", { start: new Date(end.getTime() - 3_600_000), end });
    await until(async () => (await endedRuns(theirs, id)).length > 0);
    const [run] = await endedRuns(theirs, id);
    expect([run!.status, run!.attempts, run!.latest_error]).toEqual([
      "Failed",
      1,
      expect.stringContaining("is a private or local address"),
    ]);
  }
  expect(bodies).toEqual([]);
});
