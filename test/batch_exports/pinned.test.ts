// Where requests to an object store go: to the address that was checked, even if the name leads elsewhere a moment
// later.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Addresses, openAddresses } from "../../src/access/address.ts";
import { openSecrets } from "../../src/access/secret.ts";
import { bootstrap } from "../../src/accounts/prepare.ts";
import { ExportWorker } from "../../src/batch_exports/runs/worker.ts";
import { silentLog } from "../../src/core/log.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { azureAccount, azureKey, startAzure } from "../support/azure.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { endedRuns, makeBackfill, makeExport } from "../support/exports.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { s3Key, s3Secret, type S3Server, startS3 } from "../support/s3.ts";
import { noSqlParser } from "../support/sql_parser.ts";
import { openTestStores, storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp);

const dataDir = await makeStoresFolder();
const hour = 3_600_000;
const noon = Date.parse("2030-05-05T12:00:00Z");
const asked: string[] = [];
let stores: Stores;
let s3: S3Server;

beforeAll(async () => {
  [stores, s3] = await Promise.all([openTestStores(dataDir), startS3("exports")]);
  const made = { bootstrapProjectApiKey: undefined, bootstrapPersonalApiKey: undefined };
  await bootstrap(stores.sql, { ...made, bootstrapEmail: undefined });
  await stores.clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch, _row)
     SELECT generateUUIDv4(), 1, 'e', 'd', '{}', toDateTime64('2030-01-01 00:00:00', 6, 'UTC'),
       fromUnixTimestamp64Milli({moment:Int64}, 'UTC'), 1, number FROM numbers(3)`,
    { moment: noon - 1 },
  );
  // The loopback address stands for a public one: nothing that this machine asks for resolves.
  const open = openAddresses({ allowPrivate: true });
  const addresses: Addresses = {
    ...open,
    connectable: async (host) => (host.endsWith(".invalid") ? "127.0.0.1" : await open.connectable(host)),
    lookedAt: async (host) => {
      asked.push(host);
      return "127.0.0.1";
    },
  };
  const worker = new ExportWorker({
    sql: stores.sql,
    clickhouse: stores.clickhouse,
    secrets: openSecrets({ dataDir }),
    addresses,
    exportFileDir: undefined,
    parse: noSqlParser.parse,
    counts: { ended: () => {}, rows: () => {}, seconds: () => {} },
    clock: { now: () => noon, elapsed: () => performance.now() },
    log: silentLog,
  });
  worker.start();
  later(() => worker.close());
}, storesStartMsMax);

async function exported(made: Parameters<typeof makeExport>[2]) {
  const id = await makeExport(stores, { dataDir }, { ...made, paused: true });
  await makeBackfill(stores, id, "hour", { start: new Date(noon - hour), end: new Date(noon) });
  const [run] = await endedRuns(stores, id);
  return run!;
}

const config = { bucket_name: "exports", region: "us-east-1", prefix: "pinned" };
const secrets = { aws_access_key_id: s3Key, aws_secret_access_key: s3Secret };

test("plain requests go to the checked address", async () => {
  const port = new URL(s3.url).port;
  const endpoint_url = `http://storage.example.invalid:${port}`;
  const run = await exported({ type: "S3", config: { ...config, endpoint_url }, secrets });
  expect([run.latest_error, run.records_completed]).toEqual([null, 3]);
  expect(asked.at(-1)).toBe("storage.example.invalid");
  expect(s3.requests.at(-1)!.headers["host"]).toBe(`127.0.0.1:${port}`);
  expect(s3.keys("exports").length).toBe(1);
});

test("those with the bucket in their host cannot, and are made to no name", async () => {
  const virtual = { endpoint_url: "http://s3.example.invalid:1", use_virtual_style_addressing: true };
  const run = await exported({ type: "S3", config: { ...config, ...virtual }, secrets });
  expect([run.status, run.latest_error]).toEqual([
    "Failed",
    "An endpoint_url that contains the bucket must begin with https://",
  ]);
});

test("Azure's go to the checked address under their name", async () => {
  const azure = startAzure("box");
  const { port } = new URL(azure.url);
  const endpoint_url = `http://azure.example.invalid:${port}/${azureAccount}`;
  const config = { account_name: azureAccount, container_name: "box", prefix: "", endpoint_url };
  const run = await exported({ type: "AzureBlob", config, secrets: { account_key: azureKey } });
  expect([run.latest_error, run.records_completed]).toEqual([null, 3]);
  expect(azure.blobs.size).toBe(1);
  expect(azure.requests[0]!.host).toBe(`azure.example.invalid:${port}`);
});
