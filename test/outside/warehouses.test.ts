// Syncs to warehouses as strangers expect them, after public threads: each test names those that it stands for; the
// inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { silentLog } from "../../src/core/log.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { attachPostgres, type Stores } from "../../src/storage/stores.ts";
import { ask } from "../support/ask.ts";
import { azureAccount, azureKey, type AzureServer, startAzure } from "../support/azure.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { endedRuns, type MadeExport, makeBackfill, makeExport, type SeenRun } from "../support/exports.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { s3Key, s3Secret, type S3Server, startS3 } from "../support/s3.ts";
import { post, projectKey, rested, type Server, startServer, storesOf, until } from "../support/server.ts";

afterAll(cleanUp);

let server: Server;
let stores: Stores;
let s3: S3Server;
let azure: AzureServer;
let target: Postgres;
let span: { start: Date; end: Date };
const began = Date.now() - 1000;
const uuidOf = (i: number) => `00000000-0000-4000-8000-0000000000${String(i).padStart(2, "0")}`;
const list = [1, "two", null, [3.5, { four: "é" }]];
const sent = Array.from({ length: 12 }, (_, i) => ({
  uuid: uuidOf(i),
  event: i === 3 ? "é".repeat(100) : "bought",
  distinct_id: i === 4 ? "ü".repeat(100) : `d${i}`,
  properties: { i, list, quoted: `"a" 'b' \\c`, $set: { name: `n${i}` } },
}));

async function send(batch: object[]): Promise<void> {
  const body = JSON.stringify({ api_key: projectKey, batch });
  expect((await post(server, "/batch/", body)).status).toBe(200);
  await rested(server);
}

beforeAll(async () => {
  s3 = await startS3("lake");
  azure = startAzure("lake");
  server = await startServer({ FLUSH_INTERVAL_MS: "50", ALLOW_PRIVATE_DESTINATIONS: "1" });
  stores = await storesOf(server);
  const attached = await attachPostgres({ dataDir: await makeStoresFolder(["postgres"]), log: silentLog });
  later(() => attached.close());
  target = attached.sql;
  await send(sent);
  // A client's retry, of all and of a part.
  await send(sent);
  await send(sent.slice(0, 5));
  const end = new Date(Math.ceil(Date.now() / 1000) * 1000);
  await until(async () => Date.now() > end.getTime());
  span = { start: new Date(end.getTime() - 3_600_000), end };
});

async function run(made: MadeExport, range = span): Promise<[string, SeenRun]> {
  const id = await makeExport(stores, server, made);
  await makeBackfill(stores, id, "hour", range);
  const [ended] = await endedRuns(stores, id);
  return [id, ended!];
}

async function exported(made: MadeExport, range = span): Promise<string> {
  const [id, { status, latest_error }] = await run(made, range);
  expect([status, latest_error]).toEqual(["Completed", null]);
  return id;
}

const s3Secrets = { aws_access_key_id: s3Key, aws_secret_access_key: s3Secret };
const bucket = (prefix: string, more: object = {}, made: Partial<MadeExport> = {}): MadeExport => ({
  type: "S3",
  config: { bucket_name: "lake", region: "us-east-1", endpoint_url: s3.url, prefix, ...more },
  secrets: s3Secrets,
  ...made,
});
const container = (prefix: string, made: Partial<MadeExport> = {}): MadeExport => ({
  type: "AzureBlob",
  config: { account_name: azureAccount, container_name: "lake", prefix, endpoint_url: azure.url },
  secrets: { account_key: azureKey },
  ...made,
});
function table(table_name: string, made: Partial<MadeExport> = {}): MadeExport {
  const { host, port, user, pass, database } = target.options as unknown as Record<string, unknown>;
  const config = { host: [host].flat()[0], port: [port].flat()[0], database, table_name };
  return { type: "Postgres", config, secrets: { user, password: pass }, ...made };
}

type Line = Record<string, unknown> & { uuid: string };
const parse = (bytes: Uint8Array | undefined): Line[] =>
  new TextDecoder()
    .decode(bytes)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
const linesBelow = (prefix: string): Line[] =>
  s3
    .keys("lake")
    .filter((key) => key.startsWith(`${prefix}/`))
    .flatMap((key) => parse(s3.read("lake", key)));
const uuids = (lines: readonly Line[]) => lines.map(({ uuid }) => uuid).toSorted();
const all = sent.map(({ uuid }) => uuid);

// mitodl/ol-data-platform#2642, PostHog/posthog#16354, #29207: rows were there twice, and each reader removed them.
// PostHog/posthog#25027: a run of another interval had them once more.
test("a row that a client sent three times is in one file once, and in no other interval", async () => {
  await exported(bucket("once"));
  expect(uuids(linesBelow("once"))).toEqual(all);
  const before = { start: new Date(span.start.getTime() - 3_600_000), end: span.start };
  await exported(bucket("before"), before);
  expect(linesBelow("before")).toEqual([]);
});

// PostHog/posthog#9386, #27019, #26516: files had no timestamp of some events, nor when they had arrived.
test("each line has its times, with offset, also of an event that was sent without one", async () => {
  await exported(bucket("times"));
  for (const line of linesBelow("times"))
    for (const name of ["timestamp", "created_at", "_inserted_at"]) {
      expect([name, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/.test(String(line[name]))]).toEqual([
        name,
        true,
      ]);
      expect([name, Date.parse(String(line[name])) >= began]).toEqual([name, true]);
    }
});

// PostHog/posthog#26644, #27408: persons had no created_at.
test("persons have created_at in a bucket, a container and a table", async () => {
  const persons = { model: "persons" };
  await exported(bucket("persons", {}, persons));
  await exported(container("persons", persons));
  await exported(table("persons", persons));
  const blobs = [...azure.blobs].filter(([name]) => name.startsWith("lake/persons/"));
  const rows = await target`SELECT distinct_id, created_at::text AS created_at FROM persons`;
  for (const found of [linesBelow("persons"), blobs.flatMap(([, bytes]) => parse(bytes)), [...rows]]) {
    expect(found.length).toBe(sent.length);
    for (const row of found) expect(String(row["created_at"])).toMatch(/^20\d\d-\d\d-\d\d[T ]/);
  }
});

// airbytehq/airbyte#34986, #9698, #20050, #4583: lists became null, or failed the sync; quotes broke JSON.
test("lists and quotes within properties arrive as they were sent, in lines and in a table", async () => {
  await exported(bucket("lists"));
  await exported(table("lists"));
  const rows = await target<
    { properties: { list: unknown; quoted: string } }[]
  >`SELECT properties FROM lists`;
  const found = [...linesBelow("lists"), ...rows] as { properties: { list: unknown; quoted: string } }[];
  expect(found.length).toBe(2 * sent.length);
  for (const { properties } of found)
    expect([properties.list, properties.quoted]).toEqual([list, `"a" 'b' \\c`]);
});

// airbytehq/airbyte#14343: text columns became varchar(256), of bytes. PostHog/posthog#46177: types of a table that is
// made by hand.
test("a hundred letters of two bytes fit, also into a table made by hand with other types", async () => {
  await target`
    CREATE TABLE by_hand (uuid varchar(36), event varchar(100), distinct_id text, properties text,
      "timestamp" timestamptz, more integer DEFAULT 7)`;
  await exported(table("by_hand"));
  const rows = await target<{ uuid: string; event: string; distinct_id: string }[]>`
    SELECT uuid, event, distinct_id FROM by_hand ORDER BY uuid`;
  expect(rows.map(({ uuid, event, distinct_id }) => ({ uuid, event, distinct_id }))).toEqual(
    sent.map(({ uuid, event, distinct_id }) => ({ uuid, event, distinct_id })),
  );
});

// airbytehq/airbyte#62500, #24986: a connection that the server ended failed a sync for good, or left a part of it.
test("a connection that the server ends is tried again, and every row is there once", async () => {
  await exported(table("ended"));
  const id = await makeExport(stores, server, table("ended"));
  await target.begin(async (holder) => {
    await holder`LOCK TABLE ended IN ACCESS EXCLUSIVE MODE`;
    await makeBackfill(stores, id, "hour", span);
    await until(async () => {
      const ends = await target`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'sluice' AND wait_event_type = 'Lock'`;
      return ends.length > 0;
    });
  });
  const [ended] = await endedRuns(stores, id);
  expect([ended?.status, ended?.attempts, ended?.records_completed]).toEqual(["Completed", 1, sent.length]);
  expect((await target`SELECT 1 FROM ended`).length).toBe(sent.length);
});

// aloneguid/stowage#15, #20, Genbox/SimpleS3#61: a port or a region that the signature left out. go-gitea/gitea#23770,
// minio/minio-dotnet#1370: checksums that others do not know. danny-avila/LibreChat#11894: the bucket as a host.
test("a bucket of another service takes files: by path, port and region, without checksums of Amazon's own", async () => {
  s3.region = "eu-central-2";
  const before = s3.requests.length;
  await exported(bucket("service", { region: "eu-central-2" }));
  s3.region = undefined;
  expect(uuids(linesBelow("service"))).toEqual(all);
  const asked = s3.requests.slice(before);
  expect(asked.every(({ path }) => path.startsWith("/lake"))).toBe(true);
  const names = new Set(asked.flatMap(({ headers }) => Object.keys(headers)));
  expect([...names].filter((name) => /checksum|trailer/.test(name))).toEqual([]);
});

// Azure-Samples/azure-batch-samples#43, pivotal-cf/azure-blobstore-resource#37, fluent/fluent-bit#10439: blocks of two
// writers, or of an earlier try, made the list of blocks invalid.
test("two exports that write into a container at once leave both files whole", async () => {
  await Promise.all([exported(container("left")), exported(container("right"))]);
  for (const side of ["left", "right"]) {
    const blobs = [...azure.blobs].filter(([name]) => name.startsWith(`lake/${side}/`));
    expect([side, uuids(blobs.flatMap(([, bytes]) => parse(bytes)))]).toEqual([side, all]);
  }
});

function openSink(answer: (n: number, request: Request) => Response | Promise<Response>) {
  let n = 0;
  const sink = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: (request) => answer(n++, request),
  });
  later(() => sink.stop(true));
  return { type: "HTTP", config: { url: `http://127.0.0.1:${sink.port}/` }, secrets: { token: "t" } };
}

// hyperdxio/hyperdx#2534: what was accepted before a proxy's 502 came again as something new.
test("what is sent again after a lost answer has the key of the first time", async () => {
  const keys: [string | null, string][] = [];
  const sink = openSink(async (n, request) => {
    keys.push([request.headers.get("idempotency-key"), await request.text()]);
    return new Response("", { status: [502, 504, 503, 200][n] ?? 200, headers: { "retry-after": "0" } });
  });
  await exported(sink);
  expect(keys.length).toBe(4);
  expect(new Set(keys.map(String)).size).toBe(1);
  expect(keys[0]![0]).toBeString();
});

// safe-global/safe-docs#859, nyaruka/goflow#818: what a repetition cannot cure was repeated.
test("a receiver that does not know the token is asked once, and its answer is shown", async () => {
  let requests = 0;
  const sink = openSink(() => {
    requests++;
    return new Response("who are you", { status: 401 });
  });
  const [, { status, latest_error }] = await run(sink);
  expect([status, latest_error?.includes("401"), requests]).toEqual(["Failed", true, 1]);
});

// botiverse/hands#348: an answer without an end held the sender.
test("an answer that never ends holds no run", async () => {
  const sink = openSink(() => {
    const body = new ReadableStream({
      pull: async (controller) => {
        controller.enqueue(new Uint8Array(1024));
        await Bun.sleep(1);
      },
    });
    return new Response(body, { status: 200 });
  });
  const id = await makeExport(stores, server, sink);
  await makeBackfill(stores, id, "hour", span);
  await until(async () => {
    const [found] = await stores.sql<{ status: string; attempts: number }[]>`
      SELECT status, attempts FROM batch_export_runs WHERE batch_export_id = ${id}`;
    return found !== undefined && (found.status === "Completed" || found.attempts > 0);
  });
  await stores.sql`DELETE FROM batch_export_runs WHERE batch_export_id = ${id}`;
});

// PostHog/posthog#25850, #26542: events at the border of two intervals were in neither, or in both.
test("an event at the border of two intervals is in the later one alone", async () => {
  const border = Math.floor(began / 3_600_000) * 3_600_000 - 7_200_000;
  await stores.clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch, _row)
     SELECT generateUUIDv4(), 1, 'border', toString(micros), '{}', moment, moment, 90000, number
     FROM (SELECT number, arrayElement([-1, 0, 1], number + 1) AS micros,
             fromUnixTimestamp64Micro({border:Int64} + micros, 'UTC') AS moment FROM numbers(3))`,
    { border: border * 1000 },
  );
  const at = (hours: number) => new Date(border + hours * 3_600_000);
  await exported(bucket("earlier"), { start: at(-1), end: at(0) });
  await exported(bucket("later"), { start: at(0), end: at(1) });
  const ids = (prefix: string) => linesBelow(prefix).map((line) => line["distinct_id"]);
  expect([ids("earlier"), ids("later").toSorted()]).toEqual([["-1"], ["0", "1"]]);
});

// PostHog/posthog#64215: times of a table were moved by the zone of its database.
test("times and texts of a table are those of the events, whatever zone, dates and encoding its database has", async () => {
  const { database } = target.options as { database: string };
  const usual = { timezone: "Asia/Kolkata", datestyle: "German, DMY", client_encoding: "LATIN1" };
  for (const [name, value] of Object.entries({ ...usual, standard_conforming_strings: "off" }))
    await target.unsafe(`ALTER DATABASE "${database}" SET ${name} = '${value}'`);
  await exported(table("zoned"));
  const rows = await target<{ at: number; distinct_id: string; quoted: string }[]>`
    SELECT extract(epoch FROM "timestamp")::float8 AS at, distinct_id, properties ->> 'quoted' AS quoted
    FROM zoned ORDER BY uuid`;
  expect(rows.map(({ distinct_id }) => distinct_id)).toEqual(sent.map(({ distinct_id }) => distinct_id));
  expect(new Set(rows.map(({ quoted }) => quoted))).toEqual(new Set([sent[0]!.properties.quoted]));
  for (const { at } of rows) expect([at * 1000 > began, at * 1000 < Date.now()]).toEqual([true, true]);
});

// PostHog/posthog#25395: a backfill whose dates had another offset was not found again, to be read or cancelled.
test("a backfill asked for by the clock of another zone is found by its id, in UTC", async () => {
  const id = await makeExport(stores, server, bucket("zones"));
  const path = `/api/projects/1/batch_exports/${id}/backfills/`;
  const local = (at: number) => new Date(at + 19_800_000).toISOString().replace(/\.\d+Z$/, "+05:30");
  const from = Math.floor(began / 3_600_000) * 3_600_000;
  const asked = { start_at: local(from - 7_200_000), end_at: local(from) };
  const made = await ask(server, "POST", path, asked);
  expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  const { body } = await ask(server, "GET", `${path}${String(made.body["backfill_id"])}/`);
  expect([Date.parse(String(body["start_at"])), Date.parse(String(body["end_at"]))]).toEqual([
    from - 7_200_000,
    from,
  ]);
  const { status } = await ask(server, "POST", `${path}${String(made.body["backfill_id"])}/cancel/`, {});
  expect([200, 400]).toContain(status);
});
