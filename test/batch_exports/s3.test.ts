// Exports to an S3 server that checks signatures, by a real server process.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type { Stores } from "../../src/storage/stores.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import {
  endedRuns,
  linesOf,
  makeBackfill,
  makeExport,
  runIn,
  runsOf,
  type SeenRun,
} from "../support/exports.ts";
import { s3Error, s3Key, s3Secret, type S3Server, startS3 } from "../support/s3.ts";
import { post, projectKey, rested, type Server, startServer, storesOf, until } from "../support/server.ts";

afterAll(cleanUp);

let server: Server;
let stores: Stores;
let s3: S3Server;
const sent = new Map<string, Record<string, unknown>>();
/** An interval that all events of this file arrive in. */
let span: { start: Date; end: Date; interval: string };

beforeAll(async () => {
  s3 = await startS3("exports");
  server = await startServer({ FLUSH_INTERVAL_MS: "50", ALLOW_PRIVATE_DESTINATIONS: "1" });
  stores = await storesOf(server);
  const batch = Array.from({ length: 1200 }, (_, i) => ({
    event: ["$pageview", "bought", 'it\'s "odd"\n\\'][i % 3],
    distinct_id: `d${i % 7} é`,
    uuid: crypto.randomUUID(),
    timestamp: new Date(Date.UTC(2023, i % 5, 1 + (i % 3))).toISOString(),
    properties: {
      i,
      text: "ü \n \t \" \\ '",
      list: [1, { a: null }],
      $elements_chain: i % 3 ? "a;b" : undefined,
    },
  }));
  for (const event of batch) sent.set(event.uuid, JSON.parse(JSON.stringify(event)));
  // Line breaks between tokens are valid JSON.
  const text = JSON.stringify({ api_key: projectKey, historical_migration: true, batch }, null, 1);
  expect((await post(server, "/batch/", text)).status).toBe(200);
  await rested(server);
  const end = new Date(Math.ceil(Date.now() / 1000) * 1000);
  await until(async () => Date.now() > end.getTime());
  span = { start: new Date(end.getTime() - 3_600_000), end, interval: "hour" };
});

const secrets = { aws_access_key_id: s3Key, aws_secret_access_key: s3Secret };

/** Begins one run over everything that was sent. */
async function begun(config: Record<string, unknown>, made: object = {}): Promise<string> {
  const full = { bucket_name: "exports", region: "us-east-1", prefix: "p", endpoint_url: s3.url, ...config };
  const id = await makeExport(stores, server, { type: "S3", config: full, secrets, ...made });
  await makeBackfill(stores, id, span.interval, span);
  return id;
}

async function exported(config: Record<string, unknown>, made: object = {}): Promise<SeenRun> {
  const [run] = await endedRuns(stores, await begun(config, made));
  return run!;
}

function iso(date: Date): string {
  return date.toISOString().replace(/\.000Z$/, "+00:00");
}

/** The keys below a prefix, without it. */
function keysBelow(prefix: string): string[] {
  return s3
    .keys("exports")
    .flatMap((key) => (key.startsWith(`${prefix}/`) ? [key.slice(prefix.length + 1)] : []));
}

function linesIn(bytes: Uint8Array): Record<string, unknown>[] {
  const text = new TextDecoder().decode(bytes).trimEnd();
  return text.split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
}

function expectAll(rows: readonly Record<string, unknown>[]): void {
  expect(rows.map(({ uuid }) => String(uuid)).toSorted()).toEqual([...sent.keys()].toSorted());
  for (const row of rows) {
    const event = sent.get(String(row["uuid"]))!;
    const { properties } = row;
    expect(typeof properties === "string" ? JSON.parse(properties) : properties).toEqual(event["properties"]);
    expect([row["event"], row["distinct_id"]]).toEqual([event["event"], event["distinct_id"]]);
    const { $elements_chain: chain = "" } = event["properties"] as Record<string, unknown>;
    expect(row["elements_chain"]).toBe(chain);
  }
}

test("JSON lines hold every event once, its properties as they were sent", async () => {
  const id = await begun({ prefix: "whole" });
  const [run] = await endedRuns(stores, id);
  expect([run!.status, run!.latest_error]).toEqual(["Completed", null]);
  expect([run!.records_completed, run!.records_total_count]).toEqual([1200, 1200]);
  const key = `${iso(span.start)}-${iso(span.end)}.jsonl`;
  expect(keysBelow("whole")).toEqual([key]);
  const rows = linesIn(s3.read("exports", `whole/${key}`));
  expectAll(rows);
  expect(Object.keys(rows[0]!).join()).toBe(
    "uuid,event,distinct_id,person_id,properties,person_properties,elements_chain,timestamp,created_at,_inserted_at",
  );
  const { uuid, timestamp } = rows[0]!;
  expect(new Date(String(timestamp)).toISOString()).toBe(String(sent.get(String(uuid))!["timestamp"]));
  const range = `range ${iso(span.start)} - ${iso(span.end)}`;
  // The last one is said when nothing is left to run.
  await until(async () => (await linesOf(stores, id)).some(({ message }) => message.startsWith("Backfill")));
  expect(await linesOf(stores, id)).toEqual([
    { level: "INFO", message: `Starting batch export for ${range}` },
    { level: "INFO", message: `Batch export for ${range} finished successfully with 1200 records exported` },
    { level: "INFO", message: "Backfill finished: 1 of 1 runs completed" },
  ]);
});

test("files are compressed as configured", async () => {
  const [gzip, brotli, csv] = await Promise.all([
    exported({ prefix: "gz", compression: "gzip" }),
    exported({ prefix: "br", compression: "brotli" }),
    exported({ prefix: "csv", file_format: "CSV", compression: "gzip" }),
  ]);
  expect([gzip.latest_error, brotli.latest_error, csv.latest_error]).toEqual([null, null, null]);
  const [zipped, pressed, table] = ["gz", "br", "csv"].map((prefix) => {
    const [key] = keysBelow(prefix);
    return { key: key!, bytes: s3.read("exports", `${prefix}/${key}`) };
  });
  expect([zipped!.key, pressed!.key, table!.key].map((key) => key.replace(/^.*\+00:00\./, ""))).toEqual([
    "jsonl.gz",
    "jsonl.br",
    "csv.gz",
  ]);
  expectAll(linesIn(gunzipSync(zipped!.bytes)));
  expectAll(linesIn(brotliDecompressSync(pressed!.bytes)));
  const text = gunzipSync(table!.bytes).toString();
  expect(text.split("\n")[0]).toBe(
    '"uuid","event","distinct_id","person_id","properties","person_properties","elements_chain","timestamp","created_at","_inserted_at"',
  );
  expect(text).toContain('"it\'s ""odd""\n\\"');
});

test("Parquet holds text and moments, whatever it is compressed with", async () => {
  const methods = ["zstd", "lz4", "snappy", "gzip", "brotli", null];
  const runs = await Promise.all(
    methods.map((compression) =>
      exported({ prefix: `pq-${compression}`, file_format: "Parquet", compression }),
    ),
  );
  expect(runs.map(({ latest_error }) => latest_error)).toEqual(methods.map(() => null));
  for (const method of methods) {
    const [key] = keysBelow(`pq-${method}`);
    expect(key).toEndWith(".parquet");
    const url = `${s3.url}/exports/pq-${method}/${encodeURIComponent(key!)}`;
    const rows = await stores.clickhouse.query<Record<string, unknown>>(
      "SELECT *, toTypeName(timestamp) AS type FROM s3({url:String}, {key:String}, {secret:String}, 'Parquet')",
      { url, key: s3Key, secret: s3Secret },
    );
    expectAll(rows);
    expect(rows[0]!["type"]).toContain("DateTime64(6");
  }
});

test("files are split by size, and a list of them is written last", async () => {
  const config = { prefix: "split", max_file_size_mb: 1 };
  // The only way to have files of a megabyte is to send megabytes.
  const filler = Array.from({ length: 250 }, (_, i) => ({
    event: "big",
    distinct_id: "big",
    uuid: crypto.randomUUID(),
    timestamp: new Date(Date.UTC(2024, 0, 1)).toISOString(),
    properties: { i, filler: "x".repeat(20_000) },
  }));
  const reply = await post(server, "/batch/", {
    api_key: projectKey,
    historical_migration: true,
    batch: filler,
  });
  expect(reply.status).toBe(200);
  await rested(server);
  const end = new Date(Math.ceil(Date.now() / 1000) * 1000);
  const id = await makeExport(stores, server, {
    type: "S3",
    config: {
      bucket_name: "exports",
      region: "us-east-1",
      endpoint_url: s3.url,
      include_events: ["big"],
      ...config,
    },
    secrets,
  });
  await makeBackfill(stores, id, "hour", { start: new Date(end.getTime() - 3_600_000), end });
  const [run] = await endedRuns(stores, id);
  expect([run!.latest_error, run!.records_completed]).toEqual([null, 250]);
  const keys = keysBelow("split");
  const list = keys.find((key) => key.endsWith("_manifest.json"))!;
  const { files } = JSON.parse(new TextDecoder().decode(s3.read("exports", `split/${list}`))) as {
    files: string[];
  };
  expect(files.toSorted()).toEqual(keys.filter((key) => key !== list).map((key) => `split/${key}`));
  expect(files.length).toBeGreaterThanOrEqual(5);
  expect(files[0]).toEndWith("-0.jsonl");
  const sizes = files.map((key) => s3.read("exports", key).length);
  expect(Math.max(...sizes)).toBeLessThan(1.5 * 1024 * 1024);
  const rows = files.flatMap((key) => linesIn(s3.read("exports", key)));
  expect(rows.map(({ uuid }) => uuid).toSorted()).toEqual(filler.map(({ uuid }) => uuid).toSorted());
  const written = s3.requests.filter(({ method, path }) => method === "PUT" && path.includes("/split/"));
  expect(written.at(-1)!.path).toContain("_manifest.json");
});

test("only the chosen events are exported", async () => {
  const run = await exported({
    prefix: "chosen",
    include_events: ["bought", "$pageview"],
    exclude_events: ["bought"],
  });
  expect([run.status, run.records_completed]).toEqual(["Completed", 400]);
  const none = await exported({ prefix: "none", include_events: ["never"] });
  expect([none.status, none.records_completed, none.records_total_count]).toEqual(["Completed", 0, 0]);
  expect(keysBelow("none")).toEqual([]);
});

test("keys contain the parts of their template, encoded as the server expects them", async () => {
  const prefix = "/a b+c/%41/é'(1)&=#/{year}/{table}/";
  const run = await exported({ prefix });
  expect(run.latest_error).toBeNull();
  expect(keysBelow(`a b+c/%41/é'(1)&=#/${span.end.getUTCFullYear()}/events`)).toHaveLength(1);
  const wrong = await exported({ prefix: "a/{yaer}" });
  expect([wrong.status, wrong.latest_error]).toEqual([
    "Failed",
    "An invalid S3 key was provided: 'yaer' is unknown",
  ]);
});

test("encryption is requested in signed headers", async () => {
  const config = { encryption: "aws:kms", kms_key_id: "key-1", prefix: "sse" };
  expect((await exported(config)).latest_error).toBeNull();
  const { headers } = s3.requests.findLast(({ path }) => path.includes("/sse/"))!;
  expect(headers["x-amz-server-side-encryption"]).toBe("aws:kms");
  expect(headers["x-amz-server-side-encryption-aws-kms-key-id"]).toBe("key-1");
});

test("wrong keys, a wrong secret and a missing bucket end a run at once", async () => {
  const wrongKey = { secrets: { ...secrets, aws_access_key_id: "AKIAWRONG" } };
  const wrongSecret = { secrets: { ...secrets, aws_secret_access_key: "wrong-secret-0123" } };
  const [key, secret, bucket] = await Promise.all([
    exported({}, wrongKey),
    exported({}, wrongSecret),
    exported({ bucket_name: "missing" }),
  ]);
  expect([key, secret, bucket].map(({ status, attempts }) => [status, attempts])).toEqual([
    ["Failed", 1],
    ["Failed", 1],
    ["Failed", 1],
  ]);
  expect(key.latest_error).toContain("InvalidAccessKeyId");
  expect(secret.latest_error).toContain("SignatureDoesNotMatch");
  expect(secret.latest_error).not.toContain("wrong-secret-0123");
  expect(bucket.latest_error).toContain("bucket does not exist");
});

test("a bucket that is revoked ends a run at once", async () => {
  s3.answer = () => s3Error(403, "AccessDenied", "Access Denied");
  const denied = await exported({});
  s3.answer = undefined;
  expect([denied.status, denied.attempts]).toEqual(["Failed", 1]);
  expect(denied.latest_error).toContain("Access Denied");
});

test("a server that refuses and says no more ends a run at once, one that fails so is tried again", async () => {
  for (const status of [401, 403, 404]) {
    s3.answer = () => new Response("", { status });
    const refused = await exported({});
    expect([refused.status, refused.attempts]).toEqual(["Failed", 1]);
    expect(refused.latest_error).toStartWith(`The server answered ${status} without a known error code`);
  }
  s3.answer = () => new Response("<html>Forbidden</html>", { status: 403 });
  expect((await exported({})).latest_error).toStartWith("The server answered 403 without a known error code");
  s3.answer = () => new Response("", { status: 500 });
  const id = await begun({ prefix: "failed" });
  const waiting = await runIn(stores, id, "FailedRetryable");
  expect(waiting.latest_error).toContain("No response body");
  s3.answer = undefined;
  const [run] = await endedRuns(stores, id);
  expect([run!.id, run!.status]).toEqual([waiting.id, "Completed"]);
});

test("a server with a region of its own is signed for as soon as it says which", async () => {
  s3.region = "garage";
  const before = s3.requests.length;
  const run = await exported({ prefix: "far", region: "garage" });
  expect([run.latest_error, run.records_completed]).toEqual([null, 1200]);
  expect(new Set(s3.requests.slice(before).map(({ region }) => region))).toEqual(new Set(["garage"]));
  s3.region = undefined;
  s3.answer = () => s3Error(403, "SignatureDoesNotMatch");
  const silent = await exported({ region: "garage" });
  s3.answer = undefined;
  expect([silent.status, silent.latest_error]).toEqual([
    "Failed",
    expect.stringContaining('ClickHouse signs for "us-east-1" until a server reports its region'),
  ]);
});

test("a server that is down is tried again until it is back", async () => {
  await s3.stop();
  const id = await begun({ prefix: "later" });
  const waiting = await runIn(stores, id, "FailedRetryable");
  expect(waiting.latest_error).toMatch(/refused/i);
  expect([waiting.finished_at, waiting.records_completed]).toEqual([null, null]);
  s3.start();
  const [run] = await endedRuns(stores, id);
  expect([run!.id, run!.status, run!.latest_error]).toEqual([waiting.id, "Completed", null]);
  expectAll(linesIn(s3.read("exports", `later/${keysBelow("later")[0]}`)));
});

test("a cancelled run stops, and writes nothing more", async () => {
  let asked = 0;
  const gate = Promise.withResolvers<void>();
  s3.answer = async () => {
    asked++;
    await gate.promise;
    return s3Error(503, "SlowDown");
  };
  const id = await begun({ prefix: "cancelled" });
  const run = await runIn(stores, id, "Running");
  while (asked === 0) await Bun.sleep(10);
  const at = new Date();
  await stores.sql`
    UPDATE batch_export_runs SET status = 'Cancelled', finished_at = ${at}, last_updated_at = ${at}
    WHERE id = ${run.id}`;
  const busy = async () =>
    await stores.clickhouse.query(
      "SELECT 1 FROM system.processes WHERE Settings['log_comment'] = {id:String}",
      {
        id: `sluice export run ${run.id}`,
      },
    );
  // The engine notices when the request that is under way ends.
  setTimeout(() => gate.resolve(), 3000);
  while ((await busy()).length > 0) await Bun.sleep(50);
  s3.answer = undefined;
  expect((await runsOf(stores, id)).map(({ status }) => status)).toEqual(["Cancelled"]);
  expect(keysBelow("cancelled")).toEqual([]);
});

test("over HTTP, a dry run tests the destination, a backfill begins at once, a run can be cancelled", async () => {
  const config = {
    bucket_name: "exports",
    region: "us-east-1",
    prefix: "http/{table}",
    endpoint_url: s3.url,
    ...secrets,
  };
  const input = { name: "asked", interval: "hour", paused: true, destination: { type: "S3", config } };
  const base = "/api/projects/1/batch_exports/";
  const dry = await ask(server, "POST", `${base}?dry_run=1`, input);
  expect(dry.status).toBeLessThan(300);
  expect(keysBelow("http")).toEqual(["sluice-check/connection.txt"]);
  const wrong = { ...input, destination: { type: "S3", config: { ...config, aws_secret_access_key: "no" } } };
  const refused = await ask(server, "POST", `${base}?dry_run=1`, wrong);
  expect([refused.status, refused.body["attr"]]).toEqual([400, "destination"]);
  expect(String(refused.body["detail"])).toContain("SignatureDoesNotMatch");
  const made = await ask(server, "POST", base, input);
  const path = `${base}${String(made.body["id"])}/`;
  const range = { start_at: "2023-01-01T00:00:00Z", end_at: "2023-01-01T01:00:00Z" };
  expect((await ask(server, "POST", `${path}backfills/`, range)).status).toBe(201);
  await until(async () => keysBelow("http").length === 2);
  await s3.stop();
  await ask(server, "POST", `${path}backfills/`, range);
  const waiting = await runIn(stores, String(made.body["id"]), "FailedRetryable");
  s3.start();
  expect((await ask(server, "POST", `${path}runs/${waiting.id}/cancel/`)).body).toEqual({ cancelled: true });
  expect((await ask(server, "GET", `${path}runs/${waiting.id}/`)).body["status"]).toBe("Cancelled");
});

test("a file of many parts is put together, in a region of its own as well", async () => {
  s3.region = "garage";
  const { clickhouse } = stores;
  const start = Date.parse("2024-02-01T00:00:00Z");
  await clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch, _row)
     SELECT generateUUIDv4(), 1, 'long', 'd', concat('{"text":"', repeat(hex(SHA256(toString(number))), 400), '"}'),
       fromUnixTimestamp64Milli({at:Int64}, 'UTC'), fromUnixTimestamp64Milli({at:Int64}, 'UTC'), 1, 1
     FROM numbers(3000)`,
    { at: start },
  );
  const config = { bucket_name: "exports", region: "us-east-1", prefix: "parts", endpoint_url: s3.url };
  const id = await makeExport(stores, server, { type: "S3", config, secrets, paused: true });
  await makeBackfill(stores, id, "hour", { start: new Date(start), end: new Date(start + 3_600_000) });
  const [run] = await endedRuns(stores, id);
  expect([run!.latest_error, run!.records_completed]).toEqual([null, 3000]);
  const bytes = s3.read("exports", `parts/${keysBelow("parts")[0]}`);
  expect(bytes.length).toBeGreaterThan(64 * 1024 * 1024);
  expect(new Set(linesIn(bytes).map(({ uuid }) => uuid)).size).toBe(3000);
  expect(s3.requests.filter(({ path }) => /partNumber=\d+/.test(path)).length).toBeGreaterThan(2);
});
