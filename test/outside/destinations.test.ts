// What destinations receive, as strangers read it back. Each test names the public threads that it stands for; inputs
// are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "../../src/core/log.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { attachPostgres, type Stores } from "../../src/storage/stores.ts";
import { azureAccount, azureKey, type AzureServer, startAzure } from "../support/azure.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { endedRuns, type MadeExport, makeBackfill, makeExport } from "../support/exports.ts";
import { makeFolder } from "../support/folder.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { s3Key, s3Secret, type S3Server, startS3 } from "../support/s3.ts";
import { post, projectKey, rested, type Server, startServer, storesOf, until } from "../support/server.ts";

afterAll(cleanUp);

const folder = makeFolder();
let server: Server;
let stores: Stores;
let s3: S3Server;
let azure: AzureServer;
let target: Postgres;
let span: { start: Date; end: Date };

const texts = [
  "C:\\bag\\new\\table\\N",
  'say "yes" \\"no\\" \\\\',
  "<i>bold</i> & 'quoted'",
  "a\u0000b",
  "tab\tline\nreturn\r",
  "\\.",
  "",
  "\u{1f600} é \u2028",
];
const summer = Date.parse("2025-03-30T00:30:00.000Z");
const sent = texts.map((text, i) => ({
  event: i % 2 ? "odd" : "even",
  distinct_id: `d${i}`,
  uuid: `00000000-0000-4000-8000-00000000000${i}`,
  timestamp: new Date(summer + i * 1_800_000).toISOString(),
  properties: { text, n: 1_648_218_655_338, big: 9_007_199_254_740_991, ratio: 0.1, none: null, i },
}));
/** NUL is no character of a JSON text in Postgres; capture replaces it. */
const kept = texts.map((text) => text.replace("\u0000", "\ufffd"));

beforeAll(async () => {
  s3 = await startS3("lake");
  azure = startAzure("lake");
  server = await startServer({
    FLUSH_INTERVAL_MS: "50",
    ALLOW_PRIVATE_DESTINATIONS: "1",
    EXPORT_FILE_DIR: folder,
  });
  stores = await storesOf(server);
  const attached = await attachPostgres({ dataDir: await makeStoresFolder(["postgres"]), log: silentLog });
  later(() => attached.close());
  target = attached.sql;
  const body = JSON.stringify({ api_key: projectKey, historical_migration: true, batch: sent });
  expect((await post(server, "/batch/", body)).status).toBe(200);
  await rested(server);
  const end = new Date(Math.ceil(Date.now() / 1000) * 1000);
  await until(async () => Date.now() > end.getTime());
  span = { start: new Date(end.getTime() - 3_600_000), end };
});

async function exported(made: MadeExport, times = 1): Promise<void> {
  const id = await makeExport(stores, server, made);
  for (let n = 1; n <= times; n++) {
    await makeBackfill(stores, id, "hour", span);
    const runs = await endedRuns(stores, id, n);
    expect(runs.map(({ status, latest_error }) => [status, latest_error])).toEqual(
      runs.map(() => ["Completed", null]),
    );
  }
}

const secrets = { aws_access_key_id: s3Key, aws_secret_access_key: s3Secret };
const bucket = (config: object): MadeExport => ({
  type: "S3",
  config: { bucket_name: "lake", region: "us-east-1", endpoint_url: s3.url, ...config },
  secrets,
});
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
type Line = Record<string, unknown> & { uuid: string; properties: Record<string, unknown> };
const readLines = (text: string): Line[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line)
    .toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1));

// airbytehq/airbyte#45143 and #6417: the third sync wrote over the second's files, and then removed them as old ones.
// airbytehq/airbyte#28850: a file was written several times, and the last version was a part of it.
test("a bucket has every row once after the first, second and third run, and each run writes a key once", async () => {
  await exported(bucket({ prefix: "thrice" }), 3);
  const [key, ...others] = s3.keys("lake").filter((name) => name.startsWith("thrice/"));
  expect(others).toEqual([]);
  expect(readLines(decode(s3.read("lake", key!))).map(({ uuid }) => uuid)).toEqual(
    sent.map(({ uuid }) => uuid),
  );
  const changes = s3.requests.filter(
    ({ method, path }) => method !== "GET" && method !== "HEAD" && path.includes("thrice"),
  );
  expect(changes.map(({ method }) => method)).toEqual(["PUT", "PUT", "PUT"]);
});

// airbytehq/airbyte#23981, #11731: an overwrite removed what lies beside it, of other syncs.
test("a run without rows removes the files of its interval, and none that the export did not write", async () => {
  const config = {
    account_name: azureAccount,
    container_name: "lake",
    prefix: "beside",
    endpoint_url: azure.url,
  };
  const made = { type: "AzureBlob", config, secrets: { account_key: azureKey } };
  const keys = () => [...azure.blobs.keys()].filter((name) => name.startsWith("lake/beside/"));
  const id = await makeExport(stores, server, made);
  await makeBackfill(stores, id, "hour", span);
  await endedRuns(stores, id);
  const [own = ""] = keys();
  const foreign = [
    own.replace(".jsonl", "-0.jsonl"),
    own.replace(".jsonl", "_manifest.json"),
    "lake/beside/a.jsonl",
  ];
  for (const name of foreign) azure.blobs.set(name, new Uint8Array());
  const none = stores.sql.json({ ...config, include_events: ["none"] });
  await stores.sql`UPDATE batch_exports SET destination_config = ${none} WHERE id = ${id}`;
  await makeBackfill(stores, id, "hour", span);
  await endedRuns(stores, id, 2);
  expect(keys().toSorted()).toEqual(foreign.toSorted());
});

// Azure/azure-sdk-for-python#11028, Azure/Azurite#1348, Azure/azure-storage-js#14: a 403 for signs in a blob's name.
test("a container takes every sign in a blob's name", async () => {
  const prefix = "a b/!$&'()+,;=@~^`|<>[]#%25é";
  const config = { account_name: azureAccount, container_name: "lake", prefix, endpoint_url: azure.url };
  await exported({ type: "AzureBlob", config, secrets: { account_key: azureKey } });
  const [name, blob] = [...azure.blobs].find(([key]) => key.includes("~"))!;
  expect(name.startsWith(`lake/${prefix}/`)).toBe(true);
  expect(readLines(decode(blob)).length).toBe(sent.length);
});

// duckdb/duckdb-postgres#202, xataio/pgstream#565, nlextract/NLExtract#45, b00ted/serilog-sinks-postgresql#24,
// npgsql/npgsql#1422: backslashes, quotes, signs and NUL failed a COPY, or changed what it copied.
test("a table has every text as it was sent, once after two runs", async () => {
  const { host, port, user, pass, database } = target.options as unknown as Record<string, unknown>;
  const place = { host: [host].flat()[0], port: [port].flat()[0], database, table_name: "texts" };
  await exported({ type: "Postgres", config: place, secrets: { user, password: pass } }, 2);
  const rows = await target<{ text: string; n: string; at: string }[]>`
    SELECT properties ->> 'text' AS text, properties ->> 'n' AS n, "timestamp"::text AS at FROM texts ORDER BY uuid`;
  expect(rows.map(({ text }) => text)).toEqual(kept);
  expect(new Set(rows.map(({ n }) => n))).toEqual(new Set(["1648218655338"]));
});

// duckdb/duckdb#18180: a reader's zone moved the times of a CSV by an hour from the last Sunday of March on.
// airbytehq/airbyte#9471, #25243: whole numbers had exponents, or lost digits.
test("times of CSV have their offset, and numbers of JSON lines their digits", async () => {
  await exported(bucket({ prefix: "csv", file_format: "CSV" }));
  const csv = decode(
    s3.read(
      "lake",
      s3.keys("lake").find((name) => name.startsWith("csv/"))!,
    ),
  );
  const times = [...csv.matchAll(/,"?(2025-03-30T[\d:.]+\+00:00)"?,/g)].map(([, at]) => Date.parse(at!));
  expect(times.toSorted()).toEqual(sent.map(({ timestamp }) => Date.parse(timestamp)));
  await exported(bucket({ prefix: "digits" }));
  const text = decode(
    s3.read(
      "lake",
      s3.keys("lake").find((name) => name.startsWith("digits/"))!,
    ),
  );
  expect(text.match(/"n":1648218655338,"big":9007199254740991,"ratio":0\.1,"none":null/g)).toHaveLength(
    sent.length,
  );
  expect(readLines(text).map(({ properties }) => properties["text"])).toEqual(kept);
});

// PostHog/posthog#42558: a reader took `.gz.parquet` for a compressed file. PostHog/posthog#33609: a column without values
// had no type.
test("a Parquet file ends in .parquet whatever compresses it, also with a column that is always null", async () => {
  const native_query = "SELECT uuid, NULL AS nothing, properties.i AS i, timestamp FROM events";
  for (const more of [{ native_query }, {}]) {
    const config = { path: `types${"native_query" in more}`, file_format: "Parquet", compression: "gzip" };
    await exported({ type: "File", config, ...more });
    const names = readdirSync(join(folder, config.path));
    expect(names.map((name) => name.replace(/^.*00:00/, ""))).toEqual([".parquet"]);
  }
});

// debezium/debezium#3755: an event was lost after one failed request. vercel/workflow#3504, getsentry/sentry-java#613:
// Retry-After was not heeded. knative/specs#24: any 2xx accepts.
test("a receiver that is busy at first has every event once, after the time that it named", async () => {
  const seen: { at: number; uuids: string[] }[] = [];
  const statuses = [429, 202];
  const sink = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { batch } = (await request.json()) as { batch: { uuid: string }[] };
      seen.push({ at: performance.now(), uuids: batch.map(({ uuid }) => uuid).toSorted() });
      return new Response("", { status: statuses.shift() ?? 500, headers: { "retry-after": "1" } });
    },
  });
  later(() => sink.stop(true));
  await exported({
    type: "HTTP",
    config: { url: `http://127.0.0.1:${sink.port}/` },
    secrets: { token: "t" },
  });
  expect(seen.map(({ uuids }) => uuids)).toEqual([1, 2].map(() => sent.map(({ uuid }) => uuid)));
  expect(seen[1]!.at - seen[0]!.at).toBeGreaterThan(990);
});
