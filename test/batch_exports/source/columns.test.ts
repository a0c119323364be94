// What stands in files of events beside what was sent: who did it, as known when it is exported, and when, exactly.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Stores } from "../../../src/storage/stores.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { endedRuns, makeBackfill, makeExport } from "../../support/exports.ts";
import { makeFolder } from "../../support/folder.ts";
import { post, projectKey, rested, type Server, startServer, storesOf, until } from "../../support/server.ts";

afterAll(cleanUp);

let server: Server;
let stores: Stores;
const folder = makeFolder();
let span: { start: Date; end: Date };
const moment = "2023-02-03T04:05:06.123456";

async function send(batch: unknown[]): Promise<void> {
  // Line breaks between tokens are valid JSON, and properties are kept as they were sent.
  const text = JSON.stringify({ api_key: projectKey, historical_migration: true, batch }, null, 1);
  expect((await post(server, "/batch/", text)).status).toBe(200);
  await rested(server);
}

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50", EXPORT_FILE_DIR: folder });
  stores = await storesOf(server);
  const odd = { 'a "key"': 'it\'s\n"odd"', list: [1, { deep: null }] };
  await send([
    { event: "known", distinct_id: "anna", timestamp: `${moment}Z`, properties: { $set: { plan: "free" } } },
    { event: "before", distinct_id: "before-anna", properties: {} },
    { event: "unknown", distinct_id: "nobody", properties: {} },
    { event: "odd", distinct_id: "otto", properties: { $set: odd } },
  ]);
  const end = new Date(Math.ceil(Date.now() / 1000) * 1000);
  await until(async () => Date.now() > end.getTime());
  span = { start: new Date(end.getTime() - 3_600_000), end };
  // Outside the interval, and known all the same.
  await send([
    {
      event: "$set",
      distinct_id: "anna",
      properties: { $set: { plan: "paid" }, $set_once: { first: true } },
    },
    { event: "$identify", distinct_id: "anna", properties: { $anon_distinct_id: "before-anna" } },
  ]);
  await until(async () => {
    const [merged] = await stores.clickhouse.query<{ persons: string }>(
      "SELECT uniqExact(person_id) AS persons FROM person_distinct_ids WHERE distinct_id LIKE '%anna'",
    );
    return merged!.persons === "1";
  });
});

async function exported(path: string, config: object = {}): Promise<string> {
  const id = await makeExport(stores, server, { type: "File", config: { path, ...config }, paused: true });
  await makeBackfill(stores, id, "hour", span);
  const [run] = await endedRuns(stores, id);
  expect([run!.status, run!.latest_error, run!.records_completed]).toEqual(["Completed", null, 4]);
  return join(folder, path, readdirSync(join(folder, path))[0]!);
}

const people = {
  known: { plan: "paid", first: true },
  before: { plan: "paid", first: true },
  unknown: {},
  odd: { 'a "key"': 'it\'s\n"odd"', list: [1, { deep: null }] },
};

test("events carry their persons' properties as they are now, ids that were merged included", async () => {
  const lines = readFileSync(await exported("lines"), "utf8")
    .trimEnd()
    .split("\n");
  const rows = lines.map((line) => JSON.parse(line) as { event: string; person_properties: unknown });
  expect(Object.fromEntries(rows.map((row) => [row.event, row.person_properties]))).toEqual(people);
  const names = ["known", "before"];
  const ids = rows.filter(({ event }) => names.includes(event)).map((row) => Object(row)["person_id"]);
  expect([ids.length, new Set(ids).size]).toEqual([2, 1]);
});

test("in Parquet and CSV they are JSON text", async () => {
  for (const [file_format, reader] of [
    ["Parquet", "Parquet"],
    ["CSV", "CSVWithNames"],
  ] as const) {
    const file = await exported(file_format, { file_format });
    const rows = await stores.clickhouse.query<{ event: string; person_properties: string }>(
      `SELECT event, person_properties FROM file({file:String}, {reader:String})`,
      { file, reader },
    );
    const read = rows.map(({ event, person_properties }) => [event, JSON.parse(person_properties)]);
    expect(Object.fromEntries(read)).toEqual(people);
  }
});

test("moments keep their microseconds in every format", async () => {
  const [stored] = await stores.clickhouse.query<{ created_at: string }>(
    "SELECT created_at FROM events WHERE event = 'known'",
  );
  const created = `${stored!.created_at.replace(" ", "T")}+00:00`;
  const expected = [`${moment}+00:00`, created, created];
  const lines = readFileSync(await exported("moments"), "utf8")
    .trimEnd()
    .split("\n");
  const row = lines.map((line) => JSON.parse(line)).find(({ event }) => event === "known");
  expect([row.timestamp, row.created_at, row._inserted_at]).toEqual(expected);
  const csv = readFileSync(await exported("moments-csv", { file_format: "CSV" }), "utf8");
  expect(csv).toContain(expected.map((one) => `"${one}"`).join(","));
  const file = await exported("moments-parquet", { file_format: "Parquet" });
  const [typed] = await stores.clickhouse.query<Record<string, string>>(
    `SELECT toString(timestamp) AS t, toString(created_at) AS c, toString(_inserted_at) AS i
     FROM file({file:String}, 'Parquet') WHERE event = 'known'`,
    { file },
  );
  const spelled = (text: string | undefined) => `${text?.replace(" ", "T")}+00:00`;
  expect([typed!["t"], typed!["c"], typed!["i"]].map(spelled)).toEqual(expected);
});
