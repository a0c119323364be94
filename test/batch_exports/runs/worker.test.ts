// The worker by a clock that is moved: what falls due when, in which order, and what holds it up.

import { afterAll, expect, test } from "bun:test";
import { openLog, silentLog } from "../../../src/core/log.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { broken, hour, noon, nowhere, openExportWorkers } from "../../support/export_workers.ts";
import { endedRuns, linesOf, makeBackfill, makeExport, runsOf } from "../../support/exports.ts";
import { makeFolder } from "../../support/folder.ts";
import { until } from "../../support/server.ts";

afterAll(cleanUp);

const world = await openExportWorkers();

async function watermark(name: string, mark: number | null, seen: number): Promise<void> {
  await world.stores.sql`
    INSERT INTO journals (name, watermark, seen_at, created_at)
    VALUES (${name}, ${mark === null ? null : new Date(mark)}, ${new Date(seen)}, ${new Date(seen)})
    ON CONFLICT (name) DO UPDATE SET watermark = excluded.watermark, seen_at = excluded.seen_at`;
}

test("a run waits for every living journal, and not for one that is gone", async () => {
  const lines: string[] = [];
  const log = openLog({ level: "warn", format: "json", write: (line) => void lines.push(line) });
  await watermark("ours", noon - 1, noon);
  await watermark("gone", noon - 5 * hour, noon - 301_000);
  const id = await makeExport(world.stores, world, { ...nowhere, scheduled_until: new Date(noon - 1) });
  const worker = world.openProcess(log);
  await until(async () => lines.length > 0);
  await until(async () => (await runsOf(world.stores, id)).length === 1);
  expect((await runsOf(world.stores, id))[0]!.status).toBe("Starting");
  await watermark("ours", noon, noon);
  expect((await endedRuns(world.stores, id))[0]!.status).toBe("Completed");
  expect(lines.filter((line) => line.includes("has not reported for a while"))).toHaveLength(1);
  expect(lines[0]).toContain('"journal":"gone"');
  await worker.close();
});

test("ten failures pause an export and cancel its backfills; a resumed export has ten more", async () => {
  const id = await makeExport(world.stores, world, {
    ...broken,
    scheduled_until: new Date(noon - 30 * hour),
  });
  const open = await makeBackfill(world.stores, id, "hour", {
    start: new Date(noon + hour),
    end: new Date(noon + 9 * hour),
  });
  await world.arrive(...Array.from({ length: 30 }, (_, i) => noon - 30 * hour + i * hour));
  const worker = world.openProcess();
  const paused = async () => {
    const [row] = await world.stores.sql`SELECT paused FROM batch_exports WHERE id = ${id}`;
    return row!["paused"] === true;
  };
  await until(paused);
  const failed = async () =>
    (await runsOf(world.stores, id)).filter(({ status }) => status === "Failed").length;
  expect(await failed()).toBe(10);
  const [backfill] = await world.stores.sql`SELECT status FROM batch_export_backfills WHERE id = ${open}`;
  expect(backfill!["status"]).toBe("Cancelled");
  const said = async () => (await linesOf(world.stores, id)).at(-1)!.message;
  await until(async () => (await said()).includes("paused: 10 of its last 50 runs failed"));
  world.now += 1000;
  await world.stores.sql`UPDATE batch_exports SET paused = false WHERE id = ${id}`;
  await until(async () => (await failed()) > 10);
  await until(paused);
  expect(await failed()).toBe(20);
  await worker.close();
});

test("several processes make every run once, and take over what a dead one left", async () => {
  const ids = await Promise.all(
    Array.from({ length: 6 }, () =>
      makeExport(world.stores, world, { ...nowhere, scheduled_until: new Date(noon - 5 * hour) }),
    ),
  );
  const dead = crypto.randomUUID();
  await world.stores.sql`
    INSERT INTO batch_export_runs (id, batch_export_id, data_interval_start, data_interval_end, status,
      next_attempt_at, lease_owner, lease_until, created_at, last_updated_at)
    VALUES (${dead}, ${ids[0]!}, ${new Date(noon - 6 * hour)}, ${new Date(noon - 5 * hour)}, 'Running',
      ${new Date(noon)}, 'dead', ${new Date(noon - 1)}, ${new Date(noon - hour)}, ${new Date(noon)})`;
  const workers = [world.openProcess(), world.openProcess(), world.openProcess()];
  for (const id of ids) {
    const runs = await endedRuns(world.stores, id, id === ids[0] ? 6 : 5);
    expect(runs.map(({ status }) => status)).toEqual(runs.map(() => "Completed"));
    const ends = runs.map(({ data_interval_end }) => data_interval_end.getTime());
    expect(new Set(ends).size).toBe(ends.length);
  }
  const lines = await linesOf(world.stores, ids[0]!);
  expect(lines.some(({ message }) => message.includes("another one restarts the run"))).toBeTrue();
  await Promise.all(workers.map((worker) => worker.close()));
});

const files = { type: "File", config: { path: "kept" }, interval: "hour" };

test("runs into files are left to processes that can write them", async () => {
  await world.arrive(noon - 1);
  const id = await makeExport(world.stores, world, { ...files, scheduled_until: new Date(noon - hour) });
  const other = await makeExport(world.stores, world, {
    ...nowhere,
    scheduled_until: new Date(noon - hour),
  });
  const exportFileDir = makeFolder();
  const remote = { ...world.stores.clickhouse, embedded: false };
  const without = world.openProcess();
  const elsewhere = world.openProcess(silentLog, { exportFileDir, clickhouse: remote });
  await endedRuns(world.stores, other);
  await Promise.all([without.close(), elsewhere.close()]);
  const [waiting] = await runsOf(world.stores, id);
  expect([waiting!.status, waiting!.attempts, waiting!.latest_error]).toEqual(["Starting", 0, null]);
  const able = world.openProcess(silentLog, { exportFileDir });
  const [run] = await endedRuns(world.stores, id);
  expect([run!.id, run!.status, run!.latest_error]).toEqual([waiting!.id, "Completed", null]);
  expect(run!.records_completed).toBeGreaterThan(0);
  await able.close();
});

test("a run that no process takes says so, once, and still runs when one comes", async () => {
  await world.arrive(noon - 1);
  const id = await makeExport(world.stores, world, { ...files, scheduled_until: new Date(noon - hour) });
  const workers = [world.openProcess(), world.openProcess()];
  await until(async () => (await runsOf(world.stores, id)).length === 1);
  world.now += 59_000;
  for (const worker of workers) worker.wake();
  world.now += 1000;
  for (const worker of workers) worker.wake();
  const shown = async () => (await runsOf(world.stores, id))[0]!;
  await until(async () => (await shown()).latest_error !== null);
  const reason =
    "No server can run this: files are written by one with EXPORT_FILE_DIR and the embedded ClickHouse";
  expect([(await shown()).status, (await shown()).latest_error]).toEqual(["Starting", reason]);
  for (let again = 0; again < 3; again++) for (const worker of workers) worker.wake();
  await Promise.all(workers.map((worker) => worker.close()));
  expect(await linesOf(world.stores, id)).toEqual([{ level: "WARNING", message: reason }]);
  const able = world.openProcess(silentLog, { exportFileDir: makeFolder() });
  const [run] = await endedRuns(world.stores, id);
  expect([run!.status, run!.latest_error]).toEqual(["Completed", null]);
  await able.close();
});
