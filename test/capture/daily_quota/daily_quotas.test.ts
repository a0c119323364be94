import { afterAll, expect, test } from "bun:test";
import { DailyQuotas } from "../../../src/capture/daily_quota/daily_quotas.ts";
import type { DailyCount, DailyCountSource } from "../../../src/capture/daily_quota/store.ts";
import { DiskFullError, DiskReserve } from "../../../src/capture/journal/quota.ts";
import { captureLimits } from "../../../src/capture/limits.ts";
import { type Clock, systemClock } from "../../../src/core/clock.ts";
import { silentLog } from "../../../src/core/log.ts";
import { type Desk, key, openDesk } from "../../support/capture.ts";
import { cleanUp } from "../../support/cleanup.ts";

afterAll(cleanUp);

const noon = Date.parse("2026-03-01T12:00:00Z");

/** A clock that is set by hand. */
function clockAt(start: number): Clock & { set(now: number): void } {
  let now = start;
  return { ...systemClock, now: () => now, set: (to) => void (now = to) };
}

/** What Postgres holds, and whether it answers. */
class SharedCounts {
  readonly rows = new Map<string, number>();
  isAway = false;
  writes = 0;

  of(process_id: string): DailyCountSource {
    const check = () => {
      if (this.isAway) throw new Error("connect ECONNREFUSED");
    };
    return {
      write: async (day, own) => {
        check();
        this.writes++;
        for (const { project_id, events } of own) this.rows.set(`${day} ${project_id} ${process_id}`, events);
      },
      readOthers: async (day, project_ids) => {
        check();
        const sums = new Map<number, number>();
        for (const [key, events] of this.rows) {
          const [of, project, process] = key.split(" ");
          const id = Number(project);
          if (of !== day || process === process_id || (project_ids && !project_ids.includes(id))) continue;
          sums.set(id, (sums.get(id) ?? 0) + events);
        }
        return [...sums].map(([project_id, events]): DailyCount => ({ project_id, events }));
      },
    };
  }
}

function openProcess(shared: SharedCounts, name: string, clock: Clock): DailyQuotas {
  return new DailyQuotas({ source: shared.of(name), clock, log: silentLog });
}

const one = (n: number) => ({ event: "e", distinct_id: `d ${n}`, properties: { $current_url: "/" } });
const batchOf = (count: number, more: object = {}) => ({
  api_key: key,
  batch: Array.from({ length: count }, (_, n) => one(n)),
  ...more,
});

/** All that a desk was sent, by outcome. */
function outcomes({ counts }: Desk): number[] {
  const { received = 0, accepted = 0, ignored = 0, daily_event_quota_exceeded: exceeded = 0 } = counts;
  expect(received).toBe(accepted + ignored);
  return [accepted, exceeded];
}

test("a quota accepts exactly so many events, of bodies of any length, and ignores the rest by name", async () => {
  const desk = openDesk({ quota: 1000, bodyBytesMax: 1 << 24, clock: clockAt(noon) });
  for (const body of [{ api_key: key, ...one(0) }, { api_key: key, ...one(1) }, batchOf(3), batchOf(700)])
    expect((await desk.send("/batch/", body)).status).toBe(200);
  expect(outcomes(desk)).toEqual([705, 0]);
  const reply = await desk.send("/batch/?verbose=1", batchOf(20_000));
  expect(await reply.json()).toMatchObject({
    accepted: 295,
    ignored_by_reason: { daily_event_quota_exceeded: 19_705 },
  });
  expect(outcomes(desk)).toEqual([1000, 19_705]);
  for (const body of [{ api_key: key, ...one(2) }, batchOf(2), batchOf(9000, { historical_migration: true })])
    expect((await desk.send("/e/", body)).status).toBe(200);
  expect(outcomes(desk)).toEqual([1000, 28_708]);
  expect(await desk.kept()).toMatchObject({ live: 1000, historical: 0 });
  // The first thousand, each once.
  const ids = desk.rows().map((row) => row["distinct_id"]);
  expect(ids.slice(705)).toEqual(Array.from({ length: 295 }, (_, n) => `d ${n}`));
});

test("bodies that come at once share what is left, and none exceeds it", async () => {
  const desk = openDesk({ quota: 10_000, bodyBytesMax: 1 << 24, clock: clockAt(noon) });
  await Promise.all(Array.from({ length: 12 }, (_, n) => desk.send("/batch/", batchOf(1 + n * 400))));
  expect(outcomes(desk)).toEqual([10_000, 12 + 66 * 400 - 10_000]);
});

test("imported events count, and the day ends at midnight UTC by the server's clock", async () => {
  const clock = clockAt(Date.parse("2026-03-01T23:59:59.999Z"));
  const desk = openDesk({ quota: 5, clock });
  const timestamp = "2020-01-01T00:00:00Z";
  const old = { api_key: key, historical_migration: true, batch: [{ ...one(0), timestamp }] };
  for (let i = 0; i < 6; i++) await desk.send("/batch/", old);
  expect(outcomes(desk)).toEqual([5, 1]);
  clock.set(Date.parse("2026-03-02T00:00:00Z"));
  await desk.send("/batch/", batchOf(7));
  expect(outcomes(desk)).toEqual([10, 3]);
});

test("what is ignored for another reason uses up nothing", async () => {
  const desk = openDesk({ quota: 4, clock: clockAt(noon) });
  const heatmap = { event: "$$heatmap", distinct_id: "d" };
  const unnamed = { event: "", distinct_id: "d" };
  for (let i = 0; i < 5; i++) await desk.send("/batch/", { api_key: key, batch: [heatmap, unnamed] });
  await desk.send("/batch/", batchOf(5));
  expect(outcomes(desk)).toEqual([4, 1]);
});

test("what could not be written uses up nothing: its sender sends it again", async () => {
  for (const [events, path] of [
    [batchOf(3), "/batch/"],
    [{ api_key: key, ...one(0) }, "/e/"],
  ] as const) {
    const reserve = new DiskReserve({ folder: "/", log: silentLog });
    reserve.acquire = () => {
      throw new DiskFullError("no room");
    };
    const desk = openDesk({ quota: 4, clock: clockAt(noon), reserve });
    for (let i = 0; i < 5; i++) expect((await desk.send(path, events)).status).toBe(503);
    reserve.acquire = () => {};
    expect((await desk.send("/batch/", batchOf(5))).status).toBe(200);
    expect(outcomes(desk)).toEqual([4, 1]);
  }
});

test("pieces of recordings are no events: a used-up quota lets them through", async () => {
  const desk = openDesk({ quota: 1, records: true, clock: clockAt(noon), bodyBytesMax: 1 << 24 });
  const snapshot = (filler: number) => ({
    event: "$snapshot",
    distinct_id: "d",
    properties: {
      $session_id: "s",
      $window_id: "w",
      $snapshot_data: [{ type: 3, timestamp: noon, data: { filler: "x".repeat(filler) } }],
    },
  });
  await desk.send("/batch/", batchOf(2));
  const long = { ...one(0), properties: { filler: "x".repeat(600_000) } };
  const batch = [snapshot(1), one(1), snapshot(700_000), long, snapshot(2)];
  expect((await desk.send("/s/", { api_key: key, batch })).status).toBe(200);
  expect(outcomes(desk)).toEqual([4, 3]);
  expect(await desk.kept()).toMatchObject({ live: 1, recordings: 3 });
});

test("a warning is listed once an hour, and once more with the number of the others", async () => {
  const clock = clockAt(noon);
  const desk = openDesk({ quota: 1, clock });
  const listed: [type: string, count: number, at: string][] = [];
  const append = desk.journal.warnings.append.bind(desk.journal.warnings);
  desk.journal.warnings.append = (row) => {
    listed.push([row.type, row.count, new Date(row.timestamp / 1000).toISOString().slice(11, 19)]);
    append(row);
  };
  const type = "daily_event_quota_exceeded";
  for (const minute of [0, 1, 30, 59]) {
    clock.set(noon + minute * 60_000);
    for (let i = 0; i < 3; i++) await desk.send("/batch/", batchOf(200));
    await desk.book.poll();
  }
  expect(listed).toEqual([[type, 1, "12:00:00"]]);
  clock.set(noon + 60 * 60_000);
  await desk.book.poll();
  expect(listed.slice(1)).toEqual([[type, 2398, "12:59:59"]]);
  await desk.send("/batch/", batchOf(captureLimits.warningsPerMinuteMax));
  // A stop in the middle of the hour: no row is of a time to come.
  await desk.book.close();
  expect(listed.slice(2)).toEqual([
    [type, 1, "13:00:00"],
    [type, 99, "13:00:00"],
  ]);
  expect(listed.reduce((sum, [, count]) => sum + count, 0)).toBe(outcomes(desk)[1]!);
});

test("processes exceed a quota by no more than comes to them between two exchanges", async () => {
  const shared = new SharedCounts();
  const clock = clockAt(noon);
  const processes = ["a", "b", "c"].map((name) => openProcess(shared, name, clock));
  let accepted = 0;
  for (let round = 0; round < 40; round++) {
    for (const process of processes) accepted += process.acquire(1, 1000, 10);
    for (const process of processes) await process.poll();
  }
  expect(accepted).toBeGreaterThanOrEqual(1000);
  expect(accepted).toBeLessThanOrEqual(1000 + 2 * 10);
});

test("a process that starts again knows what the earlier one had counted; another day knows nothing of it", async () => {
  const shared = new SharedCounts();
  const clock = clockAt(noon);
  const before = openProcess(shared, "before", clock);
  await before.open();
  expect(before.acquire(1, 100, 90)).toBe(90);
  before.release(1, 10);
  await before.close();
  const after = openProcess(shared, "after", clock);
  await after.open();
  expect(after.acquire(1, 100, 90)).toBe(20);
  expect(after.acquire(2, 5, 90)).toBe(5);
  await after.close();
  clock.set(noon + 86_400_000);
  const nextDay = openProcess(shared, "next", clock);
  await nextDay.open();
  expect(nextDay.acquire(1, 100, 200)).toBe(100);
  await nextDay.close();
});

test("while Postgres is unavailable each process counts by itself, and writes its count afterwards", async () => {
  const shared = new SharedCounts();
  const clock = clockAt(noon);
  const [one, other] = [openProcess(shared, "one", clock), openProcess(shared, "other", clock)];
  shared.isAway = true;
  expect(one.acquire(1, 100, 60)).toBe(60);
  await expect(one.poll()).rejects.toThrow("ECONNREFUSED");
  expect(one.acquire(1, 100, 60)).toBe(40);
  shared.isAway = false;
  await one.poll();
  await other.poll();
  expect(other.acquire(1, 100, 60)).toBe(0);
});

test("where no project has a quota, nothing is written, and only the start reads", async () => {
  const shared = new SharedCounts();
  const quotas = openProcess(shared, "one", clockAt(noon));
  await quotas.poll();
  shared.isAway = true;
  await quotas.poll();
  expect(shared.writes).toBe(0);
});
