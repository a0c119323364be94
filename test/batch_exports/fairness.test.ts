// One project's exports beside another's: whoever delivers to a listener that never answers holds nobody else up.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { openAddresses } from "../../src/access/address.ts";
import { openSecrets } from "../../src/access/secret.ts";
import { bootstrap } from "../../src/accounts/prepare.ts";
import { openDestination } from "../../src/batch_exports/destinations/destinations.ts";
import { exportLimits } from "../../src/batch_exports/limits.ts";
import { ExportWorker } from "../../src/batch_exports/runs/worker.ts";
import { Fault } from "../../src/core/fault.ts";
import { silentLog } from "../../src/core/log.ts";
import { createProject } from "../../src/projects/store.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { endedRuns, makeBackfill, makeExport, runIn } from "../support/exports.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { until } from "../support/server.ts";
import { openSilent, type Silent } from "../support/silent.ts";
import { noSqlParser } from "../support/sql_parser.ts";
import { openTestStores, storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp);

const hour = 3_600_000;
const noon = Date.parse("2030-05-05T12:00:00Z");
const dataDir = await makeStoresFolder();
let stores: Stores;
let silent: Silent;
let others: number[];

beforeAll(async () => {
  stores = await openTestStores(dataDir);
  const { sql } = stores;
  const none = { bootstrapProjectApiKey: undefined, bootstrapPersonalApiKey: undefined };
  await bootstrap(sql, { ...none, bootstrapEmail: undefined });
  const [first] = await sql<{ organization_id: string }[]>`SELECT organization_id FROM projects`;
  const { organization_id } = first!;
  others = [];
  for (const name of ["Second", "Third"])
    others.push((await createProject(sql, { organization_id, name })).id);
  silent = await openSilent();
  for (const project_id of [1, ...others]) {
    await stores.clickhouse.command(
      `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch, _row)
       SELECT generateUUIDv4(), {project_id:UInt32}, 'e', 'd', '{}', toDateTime64('2030-01-01 00:00:00', 6, 'UTC'),
         fromUnixTimestamp64Milli({moment:Int64} - number * 3600000, 'UTC'), 1, 1
       FROM numbers(10)`,
      { project_id, moment: noon - 1 },
    );
  }
}, storesStartMsMax);

beforeEach(async () => {
  await stores.sql`DELETE FROM batch_exports`;
  await stores.sql`DELETE FROM journals`;
});

function openProcess(): ExportWorker {
  const worker = new ExportWorker({
    sql: stores.sql,
    clickhouse: stores.clickhouse,
    secrets: openSecrets({ dataDir }),
    addresses: openAddresses({ allowPrivate: true }),
    exportFileDir: undefined,
    parse: noSqlParser.parse,
    counts: { ended: () => {}, rows: () => {}, seconds: () => {} },
    clock: { now: () => noon, elapsed: () => performance.now() },
    log: silentLog,
  });
  later(() => worker.close());
  worker.start();
  return worker;
}

const hourAgo = { interval: "hour", scheduled_until: new Date(noon - hour) };
const hanging = () => ({
  ...hourAgo,
  type: "HTTP",
  config: { url: silent.url },
  secrets: { token: "phc_none" },
});
const quick = (project_id: number) => ({ ...hourAgo, project_id, type: "NoOp", config: {} });

function make(made: Parameters<typeof makeExport>[2]): Promise<string> {
  return makeExport(stores, { dataDir }, made);
}

async function countRuns(status: string, project_id: number): Promise<number> {
  const [row] = await stores.sql<{ runs: number }[]>`
    SELECT count(*)::integer AS runs FROM batch_export_runs r JOIN batch_exports e ON e.id = r.batch_export_id
    WHERE r.status = ${status} AND e.project_id = ${project_id}`;
  return row!.runs;
}

test("eighteen exports to a listener that never answers leave places to other projects", async () => {
  await Promise.all(Array.from({ length: 18 }, () => make(hanging())));
  const worker = openProcess();
  const share = exportLimits.runsAtOnceMax / 2;
  await until(async () => (await countRuns("Running", 1)) === share);
  // They hang, and meanwhile runs of others begin and end, one project's after the other's.
  for (const project_id of others) {
    const [run] = await endedRuns(stores, await make(quick(project_id)));
    expect(run!.status).toBe("Completed");
  }
  expect(await countRuns("Running", 1)).toBe(share);
  expect(await countRuns("Completed", 1)).toBe(0);
  await worker.close();
});

test("a third project's run begins beside two projects whose runs all hang", async () => {
  const [second, third] = others as [number, number];
  const worker = openProcess();
  for (const project_id of [1, second]) {
    await Promise.all(Array.from({ length: 9 }, () => make({ ...hanging(), project_id })));
  }
  await until(async () => (await countRuns("Running", second)) > 0 && (await countRuns("Running", 1)) > 1);
  const [run] = await endedRuns(stores, await make(quick(third)));
  expect(run!.status).toBe("Completed");
  expect(await countRuns("Completed", 1)).toBe(0);
  await worker.close();
});

test("backfills that hang leave a place to their own project's scheduled runs", async () => {
  const made = await Promise.all(
    Array.from({ length: 6 }, () => make({ ...hanging(), scheduled_until: new Date(noon) })),
  );
  const range = { start: new Date(noon - 3 * hour), end: new Date(noon) };
  await Promise.all(made.map((id) => makeBackfill(stores, id, "hour", range)));
  const worker = openProcess();
  await until(async () => (await countRuns("Running", 1)) === 2);
  const [run] = await endedRuns(stores, await make(quick(1)));
  expect(run!.status).toBe("Completed");
  await worker.close();
});

test("a run whose destination never answers gives its place back when its time is up", async () => {
  const id = await make({
    ...hourAgo,
    type: "Postgres",
    config: { host: "127.0.0.1", port: silent.port, database: "none", schema: "public", table_name: "t" },
    secrets: { user: "nobody", password: "none" },
  });
  const worker = openProcess();
  const run = await runIn(stores, id, "FailedRetryable");
  expect(run.latest_error).toContain("timed out");
  await worker.close();
});

test("destinations that never answer can be tried out a few at a time, and leave room to other projects", async () => {
  const worker = openProcess();
  const quiet = openDestination("HTTP", { url: silent.url }, { token: "phc_none" });
  const before = silent.connections();
  const asked = Array.from({ length: 60 }, () =>
    worker.probe(quiet, 1).then(
      () => "tried",
      (thrown: unknown) => (thrown instanceof Fault ? thrown.code : "failed"),
    ),
  );
  await until(() => Promise.resolve(silent.connections() - before >= exportLimits.probesAtOnceMax / 2));
  expect(await Promise.race(asked)).toBe("unavailable");
  const other = await worker.probe(openDestination("NoOp", {}, {}), others[0]!);
  expect(other).toBeUndefined();
  expect(silent.connections() - before).toBe(exportLimits.probesAtOnceMax / 2);
  await worker.close();
});
