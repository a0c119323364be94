// The worker by a clock that is moved: what falls due when, in which order, and what holds it up.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { openAddresses } from "../../../src/access/address.ts";
import { openSecrets } from "../../../src/access/secret.ts";
import { bootstrap } from "../../../src/accounts/bootstrap.ts";
import type { RunServices } from "../../../src/batch_exports/runs/run.ts";
import { ExportWorker } from "../../../src/batch_exports/runs/worker.ts";
import { type Log, openLog, silentLog } from "../../../src/core/log.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { endedRuns, linesOf, makeBackfill, makeExport, runsOf } from "../../support/exports.ts";
import { makeFolder } from "../../support/folder.ts";
import { makeStoresFolder } from "../../support/made_stores.ts";
import { until } from "../../support/server.ts";
import { noSqlParser } from "../../support/sql_parser.ts";
import { openTestStores, storesStartMsMax } from "../../support/stores.ts";

afterAll(cleanUp);

const hour = 3_600_000;

const noon = Date.parse("2030-05-05T12:00:00Z");

const dataDir = await makeStoresFolder();

let stores: Stores;

let now = noon;

beforeAll(async () => {
  stores = await openTestStores(dataDir);
  await bootstrap(stores.sql, {
    bootstrapProjectApiKey: undefined,
    bootstrapPersonalApiKey: undefined,
    bootstrapEmail: undefined,
  });
}, storesStartMsMax);

beforeEach(async () => {
  await stores.sql`DELETE FROM batch_exports`;
  await stores.sql`DELETE FROM journals`;
  now = noon;
});

const counted: string[] = [];

/** A process of its own, as far as runs are concerned; it looks when told to. */
function openProcess(log: Log = silentLog, able: Partial<RunServices> = {}): ExportWorker {
  const worker = new ExportWorker({
    sql: stores.sql,
    clickhouse: stores.clickhouse,
    secrets: openSecrets({ dataDir }),
    addresses: openAddresses({ allowPrivate: true }),
    exportFileDir: undefined,
    parse: noSqlParser.parse,
    counts: { ended: (status) => void counted.push(status), rows: () => {}, seconds: () => {} },
    clock: { now: () => now, elapsed: () => performance.now() },
    log,
    ...able,
  });
  worker.start();
  later(() => worker.close());
  return worker;
}

const nowhere = { type: "NoOp", config: {}, interval: "hour" };

/** Refused at once by whoever looks at it. */
const broken = {
  ...nowhere,
  type: "S3",
  config: {
    bucket_name: "none",
    region: "us-east-1",
    prefix: "{nothing}",
    endpoint_url: "http://127.0.0.1:1",
  },
};

async function arrive(...moments: number[]): Promise<void> {
  for (const moment of moments) {
    await stores.clickhouse.command(
      `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch, _row)
       SELECT generateUUIDv4(), 1, 'e', 'd', '{}', toDateTime64('2030-01-01 00:00:00', 6, 'UTC'),
         fromUnixTimestamp64Milli({moment:Int64}, 'UTC'), 1, 1`,
      { moment },
    );
  }
}

async function watermark(name: string, mark: number | null, seen: number): Promise<void> {
  await stores.sql`
    INSERT INTO journals (name, watermark, seen_at, created_at)
    VALUES (${name}, ${mark === null ? null : new Date(mark)}, ${new Date(seen)}, ${new Date(seen)})
    ON CONFLICT (name) DO UPDATE SET watermark = excluded.watermark, seen_at = excluded.seen_at`;
}

test("a run waits for every living journal, and not for one that is gone", async () => {
  const lines: string[] = [];
  const log = openLog({ level: "warn", format: "json", write: (line) => void lines.push(line) });
  await watermark("ours", noon - 1, noon);
  await watermark("gone", noon - 5 * hour, noon - 301_000);
  const id = await makeExport(stores, { dataDir }, { ...nowhere, scheduled_until: new Date(noon - 1) });
  const worker = openProcess(log);
  await until(async () => lines.length > 0);
  await until(async () => (await runsOf(stores, id)).length === 1);
  expect((await runsOf(stores, id))[0]!.status).toBe("Starting");
  await watermark("ours", noon, noon);
  expect((await endedRuns(stores, id))[0]!.status).toBe("Completed");
  expect(lines.filter((line) => line.includes("has not reported for a while"))).toHaveLength(1);
  expect(lines[0]).toContain('"journal":"gone"');
  await worker.close();
});

test("ten failures pause an export and cancel its backfills; a resumed export has ten more", async () => {
  const id = await makeExport(
    stores,
    { dataDir },
    { ...broken, scheduled_until: new Date(noon - 30 * hour) },
  );
  const open = await makeBackfill(stores, id, "hour", {
    start: new Date(noon + hour),
    end: new Date(noon + 9 * hour),
  });
  await arrive(...Array.from({ length: 30 }, (_, i) => noon - 30 * hour + i * hour));
  const worker = openProcess();
  const paused = async () => {
    const [row] = await stores.sql`SELECT paused FROM batch_exports WHERE id = ${id}`;
    return row!["paused"] === true;
  };
  await until(paused);
  const failed = async () => (await runsOf(stores, id)).filter(({ status }) => status === "Failed").length;
  expect(await failed()).toBe(10);
  const [backfill] = await stores.sql`SELECT status FROM batch_export_backfills WHERE id = ${open}`;
  expect(backfill!["status"]).toBe("Cancelled");
  const said = async () => (await linesOf(stores, id)).at(-1)!.message;
  await until(async () => (await said()).includes("paused: 10 of its last 50 runs failed"));
  now += 1000;
  await stores.sql`UPDATE batch_exports SET paused = false WHERE id = ${id}`;
  await until(async () => (await failed()) > 10);
  await until(paused);
  expect(await failed()).toBe(20);
  await worker.close();
});

test("several processes make every run once, and take over what a dead one left", async () => {
  const ids = await Promise.all(
    Array.from({ length: 6 }, () =>
      makeExport(stores, { dataDir }, { ...nowhere, scheduled_until: new Date(noon - 5 * hour) }),
    ),
  );
  const dead = crypto.randomUUID();
  await stores.sql`
    INSERT INTO batch_export_runs (id, batch_export_id, data_interval_start, data_interval_end, status,
      next_attempt_at, lease_owner, lease_until, created_at, last_updated_at)
    VALUES (${dead}, ${ids[0]!}, ${new Date(noon - 6 * hour)}, ${new Date(noon - 5 * hour)}, 'Running',
      ${new Date(noon)}, 'dead', ${new Date(noon - 1)}, ${new Date(noon - hour)}, ${new Date(noon)})`;
  const workers = [openProcess(), openProcess(), openProcess()];
  for (const id of ids) {
    const runs = await endedRuns(stores, id, id === ids[0] ? 6 : 5);
    expect(runs.map(({ status }) => status)).toEqual(runs.map(() => "Completed"));
    const ends = runs.map(({ data_interval_end }) => data_interval_end.getTime());
    expect(new Set(ends).size).toBe(ends.length);
  }
  const lines = await linesOf(stores, ids[0]!);
  expect(lines.some(({ message }) => message.includes("another one starts it over"))).toBeTrue();
  await Promise.all(workers.map((worker) => worker.close()));
});

const files = { type: "File", config: { path: "kept" }, interval: "hour" };

test("runs into files are left to processes that can write them", async () => {
  await arrive(noon - 1);
  const id = await makeExport(stores, { dataDir }, { ...files, scheduled_until: new Date(noon - hour) });
  const other = await makeExport(stores, { dataDir }, { ...nowhere, scheduled_until: new Date(noon - hour) });
  const exportFileDir = makeFolder();
  const remote = { ...stores.clickhouse, embedded: false };
  const without = openProcess();
  const elsewhere = openProcess(silentLog, { exportFileDir, clickhouse: remote });
  await endedRuns(stores, other);
  await Promise.all([without.close(), elsewhere.close()]);
  const [waiting] = await runsOf(stores, id);
  expect([waiting!.status, waiting!.attempts, waiting!.latest_error]).toEqual(["Starting", 0, null]);
  const able = openProcess(silentLog, { exportFileDir });
  const [run] = await endedRuns(stores, id);
  expect([run!.id, run!.status, run!.latest_error]).toEqual([waiting!.id, "Completed", null]);
  expect(run!.records_completed).toBeGreaterThan(0);
  await able.close();
});

test("a run that no process takes says so, once, and still runs when one comes", async () => {
  await arrive(noon - 1);
  const id = await makeExport(stores, { dataDir }, { ...files, scheduled_until: new Date(noon - hour) });
  const workers = [openProcess(), openProcess()];
  await until(async () => (await runsOf(stores, id)).length === 1);
  now += 59_000;
  for (const worker of workers) worker.wake();
  now += 1000;
  for (const worker of workers) worker.wake();
  const shown = async () => (await runsOf(stores, id))[0]!;
  await until(async () => (await shown()).latest_error !== null);
  const reason =
    "No server can run this: files are written by one with EXPORT_FILE_DIR and the embedded ClickHouse";
  expect([(await shown()).status, (await shown()).latest_error]).toEqual(["Starting", reason]);
  for (let again = 0; again < 3; again++) for (const worker of workers) worker.wake();
  await Promise.all(workers.map((worker) => worker.close()));
  expect(await linesOf(stores, id)).toEqual([{ level: "WARNING", message: reason }]);
  const able = openProcess(silentLog, { exportFileDir: makeFolder() });
  const [run] = await endedRuns(stores, id);
  expect([run!.status, run!.latest_error]).toEqual(["Completed", null]);
  await able.close();
});
