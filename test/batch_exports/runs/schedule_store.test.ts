// Which intervals become runs, by a clock that is moved: missed ones, those of backfills, and none before or after.

import { afterAll, expect, test } from "bun:test";
import { scheduleRuns } from "../../../src/batch_exports/runs/schedule_store.ts";
import { createBackfill } from "../../../src/batch_exports/stores/backfill_store.ts";
import { getExport, updateExport } from "../../../src/batch_exports/stores/export_store.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { broken, hour, noon, nowhere, openExportWorkers } from "../../support/export_workers.ts";
import { endedRuns, linesOf, makeBackfill, makeExport, runsOf } from "../../support/exports.ts";
import { until } from "../../support/server.ts";

afterAll(cleanUp);

const world = await openExportWorkers();

const brokenReason = "An invalid S3 key was provided: 'nothing' is unknown";

test("missed intervals are run one after the other, each half-open on the moment of arrival", async () => {
  await world.arrive(noon - 2 * hour - 1, noon - 2 * hour, noon - 1, noon);
  const id = await makeExport(world.stores, world, {
    ...nowhere,
    scheduled_until: new Date(noon - 3 * hour - 5),
  });
  const worker = world.openProcess();
  const runs = await endedRuns(world.stores, id, 4);
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
  world.now = noon + hour - 1;
  worker.wake();
  await Bun.sleep(0);
  world.now = noon + hour;
  const [last] = (await endedRuns(world.stores, id, 5)).slice(-1);
  expect([last!.data_interval_end.getTime(), last!.records_completed, last!.status]).toEqual([
    noon + hour,
    1,
    "Completed",
  ]);
  expect((await runsOf(world.stores, id)).length).toBe(5);
  await worker.close();
});

/** The intervals of a backfill that has ended, in minutes from noon, and what each exported. */
async function doneBy(backfill: string): Promise<number[][]> {
  await until(async () => {
    const [row] = await world.stores.sql`SELECT status FROM batch_export_backfills WHERE id = ${backfill}`;
    return row!["status"] === "Completed";
  });
  const [row] = await world.stores.sql`
    SELECT total_runs, batch_export_id FROM batch_export_backfills WHERE id = ${backfill}`;
  const runs = await runsOf(world.stores, String(row!["batch_export_id"]));
  expect(row!["total_runs"]).toBe(runs.length);
  const minutes = (moment: Date) => (moment.getTime() - noon) / 60_000;
  return runs.map((run) => [
    minutes(run.data_interval_start!),
    minutes(run.data_interval_end),
    run.records_completed!,
  ]);
}

test("a backfill of everything begins with the first data and ends where requested, also within an interval", async () => {
  const id = await makeExport(world.stores, world, { ...nowhere, paused: true });
  const backfill = await makeBackfill(world.stores, id, "hour", {
    start: null,
    end: new Date(noon - 90 * 60_000),
  });
  const worker = world.openProcess();
  expect(await doneBy(backfill)).toEqual([
    [-180, -120, 1],
    [-120, -90, 1],
  ]);
  await worker.close();
});

test("a backfill of everything that would have more runs than one may have fails, and says since when", async () => {
  const id = await makeExport(world.stores, world, { ...nowhere, paused: true });
  const backfill = await makeBackfill(world.stores, id, "every 5 minutes", {
    start: null,
    end: new Date(noon),
  });
  await world.stores.sql`
    UPDATE batch_export_backfills SET range_start = '2001-01-01T00:00:00Z' WHERE id = ${backfill}`;
  const worker = world.openProcess();
  const read = async () =>
    (await world.stores.sql`SELECT status FROM batch_export_backfills WHERE id = ${backfill}`)[0]!["status"];
  await until(async () => (await read()) === "Failed");
  const [line] = (await linesOf(world.stores, id)).filter(({ level }) => level === "ERROR");
  expect(line!.message).toStartWith("Backfill failed: the first data is of 2001-01-01T00:00:00.000Z, ");
  expect(await runsOf(world.stores, id)).toEqual([]);
  await worker.close();
});

test("a backfill until now runs what came in the interval that has not ended, when there is nothing else", async () => {
  const id = await makeExport(world.stores, world, { ...nowhere, paused: true });
  const backfill = await makeBackfill(world.stores, id, "hour", {
    start: null,
    end: new Date(noon - 3 * hour),
  });
  await world.stores.sql`
    UPDATE batch_export_backfills SET end_at = NULL, created_at = ${new Date(noon - 2.5 * hour)} WHERE id = ${backfill}`;
  const worker = world.openProcess();
  expect(await doneBy(backfill)).toEqual([[-180, -150, 0]]);
  await worker.close();
});

test("no run before start_at or after end_at, and none while paused", async () => {
  const made = { ...nowhere, scheduled_until: new Date(noon - 5 * hour) };
  const bounded = await makeExport(world.stores, world, made);
  await world.stores.sql`
    UPDATE batch_exports SET start_at = ${new Date(noon - 3 * hour)}, end_at = ${new Date(noon - hour)}
    WHERE id = ${bounded}`;
  const paused = await makeExport(world.stores, world, { ...made, paused: true });
  const other = await makeExport(world.stores, world, made);
  const worker = world.openProcess();
  expect((await endedRuns(world.stores, other, 5)).length).toBe(5);
  expect(
    (await endedRuns(world.stores, bounded, 3)).map(({ data_interval_end }) => data_interval_end.getTime()),
  ).toEqual([noon - 3 * hour, noon - 2 * hour, noon - hour]);
  expect(await runsOf(world.stores, paused)).toEqual([]);
  await worker.close();
});

test("a failed run does not stop a backfill", async () => {
  await world.arrive(noon - 1, noon - hour - 1);
  const id = await makeExport(world.stores, world, { ...broken, paused: true });
  await makeBackfill(world.stores, id, "hour", { start: new Date(noon - 2 * hour), end: new Date(noon) });
  const worker = world.openProcess();
  const runs = await endedRuns(world.stores, id, 2);
  expect(runs.map(({ status, latest_error }) => [status, latest_error])).toEqual([
    ["Failed", brokenReason],
    ["Failed", brokenReason],
  ]);
  await until(
    async () =>
      (await linesOf(world.stores, id)).at(-1)?.message === "Backfill finished: 0 of 2 runs completed",
  );
  await worker.close();
});

const berlin = { ...nowhere, interval: "day", timezone: "Europe/Berlin", offset_hour: 3 };
const iso = (moment: Date | null) => moment!.toISOString().slice(0, 16);

test("days of a zone follow its clock over a change, for a schedule and a backfill alike", async () => {
  world.now = Date.parse("2030-04-02T12:00:00Z");
  const scheduled_until = new Date("2030-03-29T20:00:00Z");
  const id = await makeExport(world.stores, world, { ...berlin, scheduled_until });
  const worker = world.openProcess();
  const days = (await endedRuns(world.stores, id, 4)).map((run) => [
    iso(run.data_interval_start),
    iso(run.data_interval_end),
  ]);
  expect(days).toEqual([
    ["2030-03-29T02:00", "2030-03-30T02:00"],
    // Clocks go from 2:00 to 3:00 at 1:00 UTC.
    ["2030-03-30T02:00", "2030-03-31T01:00"],
    ["2030-03-31T01:00", "2030-04-01T01:00"],
    ["2030-04-01T01:00", "2030-04-02T01:00"],
  ]);
  const paused = await makeExport(world.stores, world, { ...berlin, paused: true });
  const { interval, timezone, offset_hour } = berlin;
  const of = { id: paused, interval, timezone, offset_day: 0, offset_hour };
  const [start, end] = [days[0]![0], days[3]![1]].map((at) => new Date(`${at}Z`));
  const range = { start: start!, end: end!, by_timestamp: true };
  await createBackfill(world.stores.sql, of, range, {
    end: end!,
    total_runs: null,
    now: new Date(world.now),
  });
  worker.wake();
  expect(
    (await endedRuns(world.stores, paused, 4)).map((run) => [
      iso(run.data_interval_start),
      iso(run.data_interval_end),
    ]),
  ).toEqual(days);
  await worker.close();
});

test("a change of zone, hour or interval leaves no gap and no overlap between runs", async () => {
  world.now = Date.parse("2030-06-02T12:00:00Z");
  const { sql } = world.stores;
  const id = await makeExport(world.stores, world, {
    ...berlin,
    scheduled_until: new Date("2030-06-01T01:00:00Z"),
  });
  const worker = world.openProcess();
  await endedRuns(world.stores, id, 1);
  const change = async (fields: object, now: string) => {
    const stored = (await getExport(sql, { project_id: 1 }, id))!;
    const count = (await runsOf(world.stores, id)).length;
    expect(await updateExport(sql, stored, { ...stored, ...fields }, new Date(world.now))).toBeDefined();
    world.now = Date.parse(now);
    worker.wake();
    await endedRuns(world.stores, id, count + 1);
  };
  await change({ timezone: "Asia/Tokyo" }, "2030-06-02T18:30:00Z");
  await change({ offset_hour: 6 }, "2030-06-02T21:30:00Z");
  await change({ interval: "week", offset_day: 3 }, "2030-06-04T22:00:00Z");
  await change({ interval: "hour" }, "2030-06-04T22:00:00Z");
  const runs = await runsOf(world.stores, id);
  expect(runs.map((run) => iso(run.data_interval_end))).toEqual([
    "2030-06-02T01:00",
    "2030-06-02T18:00",
    "2030-06-02T21:00",
    "2030-06-04T21:00",
    "2030-06-04T22:00",
  ]);
  for (const [i, run] of runs.slice(1).entries()) {
    expect(run.data_interval_start).toEqual(runs[i]!.data_interval_end);
  }
  await worker.close();
});

test("an export whose interval has not ended is decided about once, until it is changed", async () => {
  const { sql } = world.stores;
  const id = await makeExport(world.stores, world, { ...berlin, scheduled_until: new Date(noon) });
  const decide = async () => {
    let decided = 0;
    const due_at = noon + 13 * hour;
    await scheduleRuns(sql, noon + hour, ({ scheduled_until }) => {
      decided++;
      return { run: undefined, until: scheduled_until.getTime(), due_at };
    });
    return decided;
  };
  expect([await decide(), await decide()]).toEqual([1, 0]);
  const stored = (await getExport(sql, { project_id: 1 }, id))!;
  await updateExport(sql, stored, { ...stored, timezone: "UTC" }, new Date(noon));
  expect([await decide(), await decide()]).toEqual([1, 0]);
});

test("a decision on what a request has changed meanwhile is dropped", async () => {
  const { sql } = world.stores;
  const id = await makeExport(world.stores, world, {
    ...berlin,
    scheduled_until: new Date(noon - 48 * hour),
  });
  const stored = (await getExport(sql, { project_id: 1 }, id))!;
  let changing: Promise<unknown> | undefined;
  const sqlAfterChange = new Proxy(sql, {
    get: (target, name: keyof typeof sql) =>
      name === "begin"
        ? async (work: never) => {
            await changing;
            return await target.begin(work);
          }
        : target[name],
  });
  const run = { start: noon - 48 * hour, end: noon - 24 * hour };
  const created = await scheduleRuns(sqlAfterChange, noon, () => {
    changing ??= updateExport(sql, stored, { ...stored, offset_hour: 5 }, new Date(noon));
    return { run, until: run.end, due_at: noon };
  });
  expect([created, await runsOf(world.stores, id)]).toEqual([0, []]);
});
