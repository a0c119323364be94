// Which intervals become runs, by a clock that is moved: missed ones, those of backfills, and none before or after.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { openAddresses } from "../../../src/access/address.ts";
import { openSecrets } from "../../../src/access/secret.ts";
import { bootstrap } from "../../../src/accounts/bootstrap.ts";
import type { RunServices } from "../../../src/batch_exports/runs/run.ts";
import { ExportWorker } from "../../../src/batch_exports/runs/worker.ts";
import { type Log, silentLog } from "../../../src/core/log.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { endedRuns, linesOf, makeBackfill, makeExport, runsOf } from "../../support/exports.ts";
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

const brokenReason = "An invalid S3 key was provided: 'nothing' is unknown";

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

test("missed intervals are run one after the other, each half-open on the moment of arrival", async () => {
  await arrive(noon - 2 * hour - 1, noon - 2 * hour, noon - 1, noon);
  const id = await makeExport(
    stores,
    { dataDir },
    { ...nowhere, scheduled_until: new Date(noon - 3 * hour - 5) },
  );
  const worker = openProcess();
  const runs = await endedRuns(stores, id, 4);
  expect(
    runs.map(({ data_interval_start, records_completed }) => [
      data_interval_start!.getTime(),
      records_completed,
    ]),
  ).toEqual([
    [noon - 4 * hour, 0],
    [noon - 3 * hour, 1],
    [noon - 2 * hour, 1],
    [noon - hour, 1],
  ]);
  const begun = runs.map(({ created_at }) => created_at.getTime());
  expect(begun).toEqual(begun.toSorted((a, b) => a - b));
  now = noon + hour - 1;
  worker.wake();
  await Bun.sleep(0);
  now = noon + hour;
  const [last] = (await endedRuns(stores, id, 5)).slice(-1);
  expect([last!.data_interval_end.getTime(), last!.records_completed, last!.status]).toEqual([
    noon + hour,
    1,
    "Completed",
  ]);
  expect((await runsOf(stores, id)).length).toBe(5);
  await worker.close();
});

/** The intervals of a backfill that has ended, in minutes from noon, and what each exported. */
async function doneBy(backfill: string): Promise<number[][]> {
  await until(async () => {
    const [row] = await stores.sql`SELECT status FROM batch_export_backfills WHERE id = ${backfill}`;
    return row!["status"] === "Completed";
  });
  const [row] = await stores.sql`
    SELECT total_runs, batch_export_id FROM batch_export_backfills WHERE id = ${backfill}`;
  const runs = await runsOf(stores, String(row!["batch_export_id"]));
  expect(row!["total_runs"]).toBe(runs.length);
  const minutes = (moment: Date) => (moment.getTime() - noon) / 60_000;
  return runs.map((run) => [
    minutes(run.data_interval_start!),
    minutes(run.data_interval_end),
    run.records_completed!,
  ]);
}

test("a backfill of everything begins with the first data and ends where requested, also within an interval", async () => {
  const id = await makeExport(stores, { dataDir }, { ...nowhere, paused: true });
  const backfill = await makeBackfill(stores, id, "hour", { start: null, end: new Date(noon - 90 * 60_000) });
  const worker = openProcess();
  expect(await doneBy(backfill)).toEqual([
    [-180, -120, 1],
    [-120, -90, 1],
  ]);
  await worker.close();
});

test("a backfill until now runs what came in the interval that has not ended, when there is nothing else", async () => {
  const id = await makeExport(stores, { dataDir }, { ...nowhere, paused: true });
  const backfill = await makeBackfill(stores, id, "hour", { start: null, end: new Date(noon - 3 * hour) });
  await stores.sql`
    UPDATE batch_export_backfills SET end_at = NULL, created_at = ${new Date(noon - 2.5 * hour)} WHERE id = ${backfill}`;
  const worker = openProcess();
  expect(await doneBy(backfill)).toEqual([[-180, -150, 0]]);
  await worker.close();
});

test("no run before start_at or after end_at, and none while paused", async () => {
  const made = { ...nowhere, scheduled_until: new Date(noon - 5 * hour) };
  const bounded = await makeExport(stores, { dataDir }, made);
  await stores.sql`
    UPDATE batch_exports SET start_at = ${new Date(noon - 3 * hour)}, end_at = ${new Date(noon - hour)}
    WHERE id = ${bounded}`;
  const paused = await makeExport(stores, { dataDir }, { ...made, paused: true });
  const other = await makeExport(stores, { dataDir }, made);
  const worker = openProcess();
  expect((await endedRuns(stores, other, 5)).length).toBe(5);
  expect(
    (await endedRuns(stores, bounded, 3)).map(({ data_interval_end }) => data_interval_end.getTime()),
  ).toEqual([noon - 3 * hour, noon - 2 * hour, noon - hour]);
  expect(await runsOf(stores, paused)).toEqual([]);
  await worker.close();
});

test("a failed run does not stop a backfill", async () => {
  await arrive(noon - 1, noon - hour - 1);
  const id = await makeExport(stores, { dataDir }, { ...broken, paused: true });
  await makeBackfill(stores, id, "hour", { start: new Date(noon - 2 * hour), end: new Date(noon) });
  const worker = openProcess();
  const runs = await endedRuns(stores, id, 2);
  expect(runs.map(({ status, latest_error }) => [status, latest_error])).toEqual([
    ["Failed", brokenReason],
    ["Failed", brokenReason],
  ]);
  await until(
    async () => (await linesOf(stores, id)).at(-1)?.message === "Backfill finished: 0 of 2 runs completed",
  );
  await worker.close();
});
