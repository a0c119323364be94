// kill -9 in the middle of exports, and several processes that share them: what is exported is what was captured, once.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { silentLog } from "../../src/core/log.ts";
import { openClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { openPostgres } from "../../src/storage/postgres/postgres.ts";
import { attachPostgres } from "../../src/storage/stores.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { endedRuns, makeBackfill, makeExport, runsOf } from "../support/exports.ts";
import { killsOf } from "../support/kills.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { s3Key, s3Secret, type S3Server, startS3 } from "../support/s3.ts";
import { post, projectKey, rested, type Server, startServer, until } from "../support/server.ts";
import { startFront, type TestFront } from "../support/stores.ts";

afterAll(cleanUp);

const kills = killsOf(4);
const secretKey = "a secret for tests";
const minutes = 12;

let s3: S3Server;
let front: TestFront;
let sql: Postgres;
let target: Postgres;
let environment: Record<string, string>;
let place: { config: Record<string, unknown>; secrets: Record<string, unknown> };
const uuids: string[] = [];
const start = new Date(Math.floor(Date.now() / 60_000) * 60_000 - 3_600_000);
const end = new Date(start.getTime() + minutes * 60_000);

function partsOf(one: Postgres): {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
} {
  const { host, port, user, pass, database } = one.options as unknown as {
    host: string[];
    port: number[];
    user: string;
    pass: string;
    database: string;
  };
  return { host: host[0]!, port: port[0]!, user, password: pass, database };
}

function anotherServer(): Promise<Server> {
  return startServer(environment);
}

beforeAll(async () => {
  s3 = await startS3("exports");
  front = await startFront();
  const [ours, theirs] = await Promise.all(
    [1, 2].map(async () => attachPostgres({ dataDir: await makeStoresFolder(["postgres"]), log: silentLog })),
  );
  later(() => Promise.all([ours!.close(), theirs!.close()]));
  target = theirs!.sql;
  const { host, port, user, password, database } = partsOf(ours!.sql);
  const url = `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/${database}`;
  sql = openPostgres(url, { log: silentLog });
  later(() => sql.end());
  const { user: role, password: word, ...config } = partsOf(target);
  place = { config, secrets: { user: role, password: word } };
  environment = {
    DATABASE_URL: url,
    CLICKHOUSE_URL: front.url,
    SECRET_KEY: secretKey,
    ALLOW_PRIVATE_DESTINATIONS: "1",
    FLUSH_INTERVAL_MS: "50",
  };
  const server = await anotherServer();
  const batch = Array.from({ length: 200 }, (_, i) => ({ event: `e${i % 3}`, distinct_id: `d${i}` }));
  expect((await post(server, "/batch/", { api_key: projectKey, batch })).status).toBe(200);
  await rested(server);
  await server.end("SIGTERM");
  // All rows again, spread over the intervals by their arrival.
  const clickhouse = openClickHouse(front.url);
  later(() => clickhouse.close());
  await clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at,
       historical_migration, _batch, _row)
     SELECT generateUUIDv4(), 1, 'kept', concat('d', toString(number % 100)), '{"a":1}',
       fromUnixTimestamp64Milli({from:Int64} + (number * 7919) % {span:Int64}, 'UTC'),
       fromUnixTimestamp64Milli({from:Int64} + number * {step:Int64}, 'UTC'), false, 7, number
     FROM numbers(12000)`,
    { from: start.getTime(), span: end.getTime() - start.getTime(), step: minutes * 5 },
  );
  const rows = await clickhouse.query<{ uuid: string }>(
    "SELECT uuid FROM events WHERE event = 'kept' ORDER BY uuid",
  );
  uuids.push(...rows.map(({ uuid }) => uuid).toSorted());
  expect(uuids.length).toBe(12_000);
});

function exportedUuids(prefix: string): string[] {
  return s3
    .keys("exports")
    .filter((key) => key.startsWith(`${prefix}/`))
    .flatMap((key) => new TextDecoder().decode(s3.read("exports", key)).trimEnd().split("\n"))
    .map((line) => (JSON.parse(line) as { uuid: string }).uuid)
    .toSorted();
}

const toS3 = (prefix: string) => ({
  type: "S3",
  config: {
    bucket_name: "exports",
    region: "us-east-1",
    prefix,
    endpoint_url: s3.url,
    include_events: ["kept"],
  },
  secrets: { aws_access_key_id: s3Key, aws_secret_access_key: s3Secret },
  interval: "every 1 minutes",
  paused: true,
});

test("processes killed in the middle of runs leave nothing out and nothing twice", async () => {
  const sealing = { dataDir: "", secretKey };
  const stores = { sql } as never;
  const bucket = await makeExport(stores, sealing, toS3("killed"));
  const table = await makeExport(stores, sealing, {
    type: "Postgres",
    config: { ...place.config, include_events: ["kept"] },
    secrets: place.secrets,
    interval: "every 1 minutes",
    paused: true,
  });
  const range = { start, end };
  for (const id of [bucket, table]) await makeBackfill(stores, id, "every 1 minutes", range);
  // Slow enough to be killed in the middle.
  s3.answer = async () => {
    await Bun.sleep(40);
    return undefined;
  };
  let killed = 0;
  for (let round = 0; round < kills; round++) {
    const server = await anotherServer();
    const running = async () => (await runsOf(stores, bucket)).some(({ status }) => status === "Running");
    const over = async () =>
      (await runsOf(stores, bucket)).filter(({ status }) => status === "Completed").length;
    await until(async () => (await running()) || (await over()) === minutes);
    await Bun.sleep((round * 37) % 180);
    if (await running()) killed++;
    await server.end("SIGKILL");
    // Whoever comes next need not wait for the lease of the dead: only its clock would tell them.
    await sql`UPDATE batch_export_runs SET lease_until = lease_until - interval '1 minute' WHERE status = 'Running'`;
  }
  expect(killed).toBeGreaterThan(0);
  s3.answer = undefined;
  const server = await anotherServer();
  const runs = [...(await endedRuns(stores, bucket, minutes)), ...(await endedRuns(stores, table, minutes))];
  expect(new Set(runs.map(({ status }) => status))).toEqual(new Set(["Completed"]));
  expect(runs.length).toBe(2 * minutes);
  expect(runs.reduce((sum, { records_completed }) => sum + records_completed!, 0)).toBe(2 * 12_000);
  expect(exportedUuids("killed")).toEqual(uuids);
  const rows = await target<{ uuid: string }[]>`SELECT uuid::text FROM events ORDER BY 1`;
  expect(rows.map(({ uuid }) => uuid)).toEqual(uuids);
  expect(await server.end("SIGTERM")).toBe(0);
}, 600_000);

test("two processes share the runs, and one that ends gives its own back at once", async () => {
  const stores = { sql } as never;
  // More than one process takes at once.
  const prefixes = Array.from({ length: 8 }, (_, i) => `shared-${i}`);
  const ids = await Promise.all(
    prefixes.map((prefix) => makeExport(stores, { dataDir: "", secretKey }, toS3(prefix))),
  );
  const [first, second] = await Promise.all([anotherServer(), anotherServer()]);
  s3.answer = async () => {
    await Bun.sleep(100);
    return undefined;
  };
  const range = { start, end: new Date(start.getTime() + 2 * 60_000) };
  for (const id of ids) await makeBackfill(stores, id, "every 1 minutes", range);
  await until(async () => {
    const [row] = await sql<{ owners: number }[]>`
      SELECT count(DISTINCT lease_owner)::integer AS owners FROM batch_export_runs WHERE status = 'Running'`;
    return row!.owners === 2;
  });
  expect(await first.end("SIGTERM")).toBe(0);
  s3.answer = undefined;
  const runs = (await Promise.all(ids.map((id) => endedRuns(stores, id, 2)))).flat();
  expect(runs.map(({ status }) => status)).toEqual(runs.map(() => "Completed"));
  expect(runs.length).toBe(2 * ids.length);
  const expected = uuids.length / (minutes / 2);
  for (const prefix of prefixes) {
    const found = exportedUuids(prefix);
    expect([found.length, new Set(found).size]).toEqual([expected, expected]);
  }
  expect(await second.end("SIGTERM")).toBe(0);
});
