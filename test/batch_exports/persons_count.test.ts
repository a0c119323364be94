// Persons change while they are exported: a run says how many rows it wrote, whatever became of them meanwhile.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { silentLog } from "../../src/core/log.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { attachPostgres, attachStores, type Stores } from "../../src/storage/stores.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { endedRuns, makeBackfill, makeExport } from "../support/exports.ts";
import { makeFolder } from "../support/folder.ts";
import { s3Key, s3Secret, type S3Server, startS3 } from "../support/s3.ts";
import { post, projectKey, rested, type Server, startServer, until } from "../support/server.ts";
import { startFront, type TestFront } from "../support/stores.ts";

afterAll(cleanUp);

const secretKey = "a secret for tests";
let server: Server;
let stores: Stores;
let s3: S3Server;
let front: TestFront;
let target: Postgres;
let span: { start: Date; end: Date };

async function set(distinct_ids: string[], plan: string): Promise<void> {
  const batch = distinct_ids.map((distinct_id) => ({
    event: "$set",
    distinct_id,
    properties: { $set: { plan } },
  }));
  expect((await post(server, "/batch/", { api_key: projectKey, batch })).status).toBe(200);
  await rested(server);
}

beforeAll(async () => {
  [s3, front] = await Promise.all([startS3("exports"), startFront()]);
  const environment = { ALLOW_PRIVATE_DESTINATIONS: "1", FLUSH_INTERVAL_MS: "50", SECRET_KEY: secretKey };
  server = await startServer({ ...environment, CLICKHOUSE_URL: front.url });
  stores = await attachStores({ dataDir: server.dataDir, clickhouseUrl: front.url, log: silentLog });
  later(() => stores.close());
  const attached = await attachPostgres({ dataDir: makeFolder(), log: silentLog });
  later(() => attached.close());
  target = attached.sql;
});

/** Three persons that changed in the interval. */
async function changed(): Promise<void> {
  await set(["a", "b", "c"], "free");
  const end = new Date(Math.ceil(Date.now() / 1000) * 1000);
  await until(async () => Date.now() > end.getTime());
  span = { start: new Date(end.getTime() - 3_600_000), end };
}

const held = async () => {
  const [row] = await stores.clickhouse.query<{ rows: string }>(
    "SELECT count() AS rows FROM exported_person_rows",
  );
  return row!.rows;
};

const secrets = { aws_access_key_id: s3Key, aws_secret_access_key: s3Secret };
const sealing = { dataDir: "", secretKey };

/** Runs an export, and changes one of its persons before the statement that writes them. */
async function runBesideChange(made: Parameters<typeof makeExport>[2], statement: string) {
  await changed();
  await front.fault({ kind: "delay", match: statement, ms: 2000 });
  const before = await front.struck();
  const id = await makeExport(stores, sealing, { ...made, model: "persons", paused: true });
  await makeBackfill(stores, id, "hour", span);
  await until(async () => (await front.struck()) > before);
  await set(["b"], "paid");
  const [run] = await endedRuns(stores, id);
  expect([run!.latest_error, run!.status]).toEqual([null, "Completed"]);
  return run!;
}

test("a file has as many rows as its run says", async () => {
  const config = { bucket_name: "exports", region: "us-east-1", prefix: "p", endpoint_url: s3.url };
  const run = await runBesideChange({ type: "S3", config, secrets }, "INSERT INTO FUNCTION");
  const [key] = s3.keys("exports");
  const rows = new TextDecoder().decode(s3.read("exports", key!)).trimEnd().split("\n");
  expect([run.records_completed, run.records_total_count]).toEqual([rows.length, rows.length]);
  expect(rows.map((row) => (JSON.parse(row) as { distinct_id: string }).distinct_id).toSorted()).toEqual([
    "a",
    "b",
    "c",
  ]);
  expect(await held()).toBe("0");
});

test("a table has as many rows as its run says", async () => {
  const { host, port, user, pass, database } = target.options as unknown as {
    host: string[];
    port: number[];
    user: string;
    pass: string;
    database: string;
  };
  const config = { host: host[0], port: port[0], database, table_name: "persons" };
  const made = { type: "Postgres", config, secrets: { user, password: pass } };
  const run = await runBesideChange(made, "FORMAT TabSeparated");
  const [row] = await target<{ rows: number }[]>`SELECT count(*)::integer AS rows FROM persons`;
  expect([run.records_completed, row!.rows]).toEqual([3, 3]);
  expect(await held()).toBe("0");
});
