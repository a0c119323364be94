// Values that strangers can send with a project's public key: every destination gets every row, and a row that it
// refuses all the same stops no other.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "../../src/core/log.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { attachPostgres, type Stores } from "../../src/storage/stores.ts";
import { azureAccount, azureKey, type AzureServer, startAzure } from "../support/azure.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { endedRuns, linesOf, makeBackfill, makeExport, runIn, type SeenRun } from "../support/exports.ts";
import { makeFolder } from "../support/folder.ts";
import { hostileJson, hostileTexts } from "../support/hostile_values.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { s3Key, s3Secret, type S3Server, startS3 } from "../support/s3.ts";
import { post, projectKey, rested, type Server, startServer, storesOf, until } from "../support/server.ts";

afterAll(cleanUp);

let server: Server;
let stores: Stores;
let target: Postgres;
let login: { place: Record<string, unknown>; secrets: Record<string, unknown> };
let s3: S3Server;
let azure: AzureServer;
const folder = makeFolder();
/** JSON texts of values by the distinct id of their event and person. */
const sent = new Map<string, string>();
let span: { start: Date; end: Date };

const numbers = [
  "1e200000",
  "-1e200000",
  "1e-20000",
  "1e309",
  "1234567890123456789012345",
  "18446744073709551615",
  '[1e200000,{"a":1e-20000}]',
  `0.${"1".repeat(20_000)}`,
  "9".repeat(140_000),
];
const texts = [
  "\\u0000",
  "\\ud800",
  "\\\\N",
  "\\\\.",
  "\\t\\n\\r",
  "'\\\"`$$",
  "=cmd|'/c x'!A0",
  "\u2028",
  "~file~",
];
const chars = 20_000;

beforeAll(async () => {
  s3 = await startS3("exports");
  azure = startAzure("exports");
  server = await startServer({
    FLUSH_INTERVAL_MS: "50",
    ALLOW_PRIVATE_DESTINATIONS: "1",
    EXPORT_FILE_DIR: folder,
  });
  stores = await storesOf(server);
  const attached = await attachPostgres({ dataDir: await makeStoresFolder(["postgres"]), log: silentLog });
  later(() => attached.close());
  target = attached.sql;
  const { host, port, user, pass, database } = target.options as unknown as Record<string, string[] & string>;
  login = {
    place: { host: host![0], port: Number(port![0]), database },
    secrets: { user, password: pass },
  };
  const values = [
    ...numbers,
    ...texts.map((text) => `"${text}"`),
    ...Object.values(hostileTexts(chars)).map((text) => JSON.stringify(text)),
    // Deeper ones are refused at capture.
    ...Object.entries(hostileJson).flatMap(([name, make]) => (name.includes(" in ") ? [] : [make(chars)])),
    `${"[".repeat(100)}1e999${"]".repeat(100)}`,
  ];
  for (const [i, value] of values.entries()) {
    const distinct_id = `h${i}`;
    const batch = `{"event":"hostile","distinct_id":"${distinct_id}","properties":{"v":${value},"$set":{"v":${value}}}}`;
    const reply = await post(server, "/batch/", `{"api_key":"${projectKey}","batch":[${batch}]}`);
    expect([i, reply.status]).toEqual([i, 200]);
    sent.set(distinct_id, value.replace("\\u0000", "\ufffd").replace("\\ud800", "\ufffd"));
  }
  await rested(server);
  await until(async () => (await count("persons")) === sent.size && (await count("events")) === sent.size);
  const end = new Date(Math.ceil(Date.now() / 1000) * 1000);
  span = { start: new Date(end.getTime() - 3_600_000), end };
}, 300_000);

async function count(table: string): Promise<number> {
  const [row] = await stores.clickhouse.query<{ rows: string }>(`SELECT count() AS rows FROM ${table}`);
  return Number(row?.rows);
}

async function exported(made: Parameters<typeof makeExport>[2]): Promise<SeenRun & { id: string }> {
  const id = await makeExport(stores, server, made);
  await makeBackfill(stores, id, "hour", span);
  const [run] = await endedRuns(stores, id);
  return { ...run!, id };
}

interface Row {
  distinct_id: string;
  properties: { v: unknown; $set?: { v: unknown } };
}

/** @param read what a reader of the destination makes of a JSON text that was sent. */
function expectRows(rows: readonly Row[], model: string, read: (json: string) => unknown): void {
  expect(rows.map(({ distinct_id }) => distinct_id).toSorted()).toEqual([...sent.keys()].toSorted());
  for (const { distinct_id, properties } of rows) {
    const value = read(sent.get(distinct_id)!);
    const holds = Bun.deepEquals(
      model === "events" ? [properties.v, properties.$set!.v] : [properties.v],
      model === "events" ? [value, value] : [value],
    );
    expect([distinct_id, holds]).toEqual([distinct_id, true]);
  }
}

const linesIn = (bytes: Uint8Array): Row[] =>
  new TextDecoder()
    .decode(bytes)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Row);

const asParsed = (json: string): unknown => JSON.parse(json);
const asStringified = (json: string): unknown => JSON.parse(JSON.stringify(JSON.parse(json)));

/** A listener of batches. @param status answers a batch; 200 by default. */
function startListener(status: (batch: Row[], request: number) => number = () => 200) {
  const received: { key: string; text: string; status: number; rows: Row[] }[] = [];
  const listener = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const text = await request.text();
      const rows = (JSON.parse(text) as { batch: Row[] }).batch;
      const answer = status(rows, received.length);
      received.push({ key: request.headers.get("idempotency-key") ?? "", text, status: answer, rows });
      return new Response("", { status: answer, headers: { "retry-after": "0" } });
    },
  });
  later(() => listener.stop(true));
  const made = {
    type: "HTTP",
    config: { url: `http://127.0.0.1:${listener.port}/batch/` },
    secrets: { token: "phc_theirs" },
  };
  return {
    made,
    received,
    accepted: () => received.flatMap(({ status: s, rows }) => (s === 200 ? rows : [])),
  };
}

/** Text that could be taken for a placeholder of ours, or of the engine. */
const prefix = "~file~/a.zip::%7B_partition_id%7D/_partition_id~file~";

/** Rows of RFC 4180, of which the first has the names. */
function rowsOfCsv(bytes: Uint8Array): Row[] {
  const records: string[][] = [[]];
  for (const [, quoted, plain, end] of new TextDecoder()
    .decode(bytes)
    .matchAll(/(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n)/gy)) {
    records.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain!);
    if (end === "\n") records.push([]);
  }
  const [names, ...rows] = records.slice(0, -1);
  return rows.map((cells) => rowOf(Object.fromEntries(cells.map((cell, k) => [names![k], cell]))));
}

const rowOf = (cells: Record<string, string>): Row => ({
  distinct_id: cells["distinct_id"]!,
  properties: JSON.parse(cells["properties"]!) as Row["properties"],
});

async function rowsOfParquet(bytes: Uint8Array): Promise<Row[]> {
  const file = join(folder, `${crypto.randomUUID()}.parquet`);
  writeFileSync(file, bytes);
  const text = "SELECT distinct_id, properties FROM file({file:String}, 'Parquet')";
  return (await stores.clickhouse.query<Record<string, string>>(text, { file })).map(rowOf);
}

const readers = { JSONLines: linesIn, CSV: rowsOfCsv, Parquet: rowsOfParquet };
const choices = [
  { file_format: "JSONLines" },
  { file_format: "JSONLines", max_file_size_mb: 1 },
  { file_format: "CSV" },
  { file_format: "CSV", max_file_size_mb: 1 },
  { file_format: "Parquet" },
] as const;

for (const model of ["events", "persons"]) {
  test(`files have all ${model} in every format, whatever their values and their prefix`, async () => {
    for (const choice of choices) {
      const name = `${prefix}${model}${Object.values(choice).join("")}`;
      const places = {
        S3: {
          config: { bucket_name: "exports", region: "us-east-1", endpoint_url: s3.url },
          secrets: { aws_access_key_id: s3Key, aws_secret_access_key: s3Secret },
        },
        AzureBlob: {
          config: { account_name: azureAccount, container_name: "exports", endpoint_url: azure.url },
          secrets: { account_key: azureKey },
        },
        File: { config: { path: "~file~" }, secrets: {} },
      };
      for (const [type, { config, secrets }] of Object.entries(places)) {
        const made = { type, model, config: { ...config, prefix: name, ...choice }, secrets };
        const run = await exported(made);
        expect([made, run.latest_error, run.records_completed]).toEqual([made, null, sent.size]);
      }
      const isRows = (key: string): boolean => key.startsWith(`${name}/`) && !key.endsWith(".json");
      const files = {
        S3: s3
          .keys("exports")
          .filter(isRows)
          .map((key) => s3.read("exports", key)),
        AzureBlob: [...azure.blobs].flatMap(([key, bytes]) =>
          isRows(key.slice("exports/".length)) ? [bytes] : [],
        ),
        File: readdirSync(join(folder, "~file~", name))
          .filter((file) => !file.endsWith(".json"))
          .map((file) => readFileSync(join(folder, "~file~", name, file))),
      };
      for (const found of Object.values(files)) {
        expect(found.length > 1).toBe("max_file_size_mb" in choice);
        const rows = await Promise.all(found.map((bytes) => readers[choice.file_format](bytes)));
        expectRows(rows.flat(), model, asParsed);
      }
    }
  }, 300_000);

  test(`a Postgres table has all ${model}, with the numbers that JSON.stringify makes of them`, async () => {
    const made = { type: "Postgres", config: { ...login.place, table_name: model }, secrets: login.secrets };
    for (let round = 0; round < 2; round++) {
      const run = await exported({ ...made, model });
      expect([run.latest_error, run.records_completed]).toEqual([null, sent.size]);
      expectRows(
        await target<Row[]>`SELECT distinct_id, properties FROM ${target(model)}`,
        model,
        asStringified,
      );
    }
  }, 300_000);
}

test("an HTTP listener has all events, with the numbers that JSON.stringify makes of them", async () => {
  const { made, received } = startListener();
  const run = await exported(made);
  expect([run.latest_error, run.records_completed]).toEqual([null, sent.size]);
  expectRows(
    received.flatMap(({ rows }) => rows),
    "events",
    asStringified,
  );
  expect(received.some(({ text }) => text.includes("e200000"))).toBe(false);
});

test("rows that a listener refuses are put aside, counted and named, and the run completes", async () => {
  const refused = new Set(["h3", "h4", "h20"]);
  const listener = startListener((batch) => {
    if (batch.length > 16) return 413;
    return batch.some(({ distinct_id }) => refused.has(distinct_id)) ? 422 : 200;
  });
  const run = await exported(listener.made);
  expect([run.status, run.records_completed, run.records_total_count]).toEqual([
    "Completed",
    sent.size - 3,
    sent.size,
  ]);
  const ids = listener.accepted().map(({ distinct_id }) => distinct_id);
  expect(ids.toSorted()).toEqual([...sent.keys()].filter((id) => !refused.has(id)).toSorted());
  const warnings = (await linesOf(stores, run.id)).filter(({ level }) => level === "WARNING");
  expect(warnings).toHaveLength(1);
  expect(warnings[0]!.message).toMatch(/^Refused because of the answer 422: ([0-9a-f-]{36}(, )?){3}$/);
});

test("a listener that refuses each row completes the run, unless it refuses a batch without rows in the same way", async () => {
  const filters = [{ key: "v", value: "~file~", operator: "exact", type: "event" }];
  for (const empty of [200, 400]) {
    const run = await exported({
      ...startListener(({ length }) => (length > 0 ? 422 : empty)).made,
      filters,
    });
    expect([run.status, run.records_completed, run.records_total_count]).toEqual(["Completed", 0, 1]);
    const { level, message } = (await linesOf(stores, run.id)).find(({ level: one }) => one === "WARNING")!;
    expect([level, message]).toEqual(["WARNING", expect.stringMatching(/the answer 422: [0-9a-f-]{36}$/)]);
  }
  const run = await exported({ ...startListener(() => 400).made, filters });
  expect([run.status, run.latest_error]).toEqual(["Failed", expect.stringContaining("answered 400")]);
});

test("a listener that answers a refused row and a batch without rows alike completes the run if it accepts a plain event", async () => {
  const filters = [{ key: "v", value: "~file~", operator: "exact", type: "event" }];
  const listener = startListener((batch) =>
    batch.some(({ distinct_id }) => distinct_id === "sluice destination test") ? 200 : 400,
  );
  for (let round = 0; round < 2; round++) {
    const run = await exported({ ...listener.made, filters });
    expect([run.status, run.records_completed, run.records_total_count]).toEqual(["Completed", 0, 1]);
  }
  const [first, ...again] = listener.accepted();
  expect([first!.distinct_id, again.length]).toEqual(["sluice destination test", 1]);
});

test("an idempotency key names the same rows in every attempt, also after a merge of parts", async () => {
  const id = crypto.randomUUID();
  const batch = Array.from({ length: 3000 }, (_, i) => ({
    event: `e${i % 5}`,
    distinct_id: `m${i % 11}`,
    uuid: crypto.randomUUID(),
    properties: { i, id },
  }));
  for (let from = 0; from < batch.length; from += 500) {
    const some = batch.slice(from, from + 500);
    expect((await post(server, "/batch/", { api_key: projectKey, batch: some })).status).toBe(200);
    await rested(server);
  }
  const end = new Date(Math.ceil(Date.now() / 1000) * 1000);
  let isDown = true;
  const listener = startListener((_, request) => (isDown && request > 0 ? 503 : 200));
  const filters = [{ key: "id", value: id, operator: "exact", type: "event" }];
  const made = await makeExport(stores, server, { ...listener.made, filters });
  await makeBackfill(stores, made, "hour", { start: new Date(end.getTime() - 3_600_000), end });
  await runIn(stores, made, "FailedRetryable");
  await stores.clickhouse.command("OPTIMIZE TABLE event_rows FINAL");
  isDown = false;
  const [run] = await endedRuns(stores, made);
  expect([run!.status, run!.records_completed]).toEqual(["Completed", 3000]);
  const texts = new Map<string, Set<string>>();
  for (const { key, text } of listener.received) texts.set(key, (texts.get(key) ?? new Set()).add(text));
  expect([...texts.values()].every((same) => same.size === 1)).toBe(true);
  expect(texts.size).toBe(3);
  const first = listener.received[0]!;
  expect(listener.received.filter(({ key }) => key === first.key)).toHaveLength(2);
}, 300_000);
