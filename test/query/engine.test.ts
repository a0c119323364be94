import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Clock } from "../../src/core/clock.ts";
import { Fault } from "../../src/core/fault.ts";
import { limits } from "../../src/core/limits.ts";
import { boundsOfQuery, openMachine, type QueryMachine } from "../../src/query/bounds.ts";
import { openQueryEngine } from "../../src/query/engine.ts";
import { queryLimits } from "../../src/query/limits.ts";
import { openQueryRunners } from "../../src/query/store.ts";
import { openEngineZones } from "../../src/storage/clickhouse/zones.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { cleanUp } from "../support/cleanup.ts";
import { noSqlParser } from "../support/sql_parser.ts";
import { openMadeStores, storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp, storesStartMsMax);

const trend = { kind: "TrendsQuery", series: [{}] };

/** Postgres, as far as a query asks it. */
const sql = (() => Promise.resolve([{ timezone: "UTC" }])) as never;

const clock: Clock = { now: () => 0, elapsed: () => 0 };

const idle: QueryMachine = { cores: 2, load: () => 0, working: async () => 0 };

const busy: QueryMachine = { cores: 2, load: () => 2, working: async () => 2 };

async function faultOf(act: Promise<unknown>): Promise<unknown[]> {
  const thrown: unknown = await act.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return thrown instanceof Fault ? [thrown.code, thrown.detail] : [thrown];
}

/** An engine whose statements end when told to, the oldest first, and say for which project they are. */
function openHeldEngine() {
  const held: (() => void)[] = [];
  const begun: number[] = [];
  let running = 0;
  const clickhouse = {
    zones: openEngineZones(1),
    query: async (_text: string, params: { project_id: number }) => {
      begun.push(params.project_id);
      running++;
      await new Promise<void>((resolve) => held.push(resolve));
      running--;
      return [];
    },
  } as never;
  const engine = openQueryEngine({
    machine: idle,
    parser: noSqlParser,
    sql,
    clickhouse,
    clock: { now: () => Date.UTC(2024, 4, 1), elapsed: () => 0 },
  });
  return { engine, begun, running: () => running, end: () => held.shift()?.() };
}

test("a few queries run at once, some wait, more are refused with a time to retry", async () => {
  const { engine, running, end } = openHeldEngine();
  // Of one project: half of the places, and half of the line.
  const places = (queryLimits.queriesRunningMax + queryLimits.queriesWaitingMax) / 2;
  const runs = Array.from({ length: places }, () => engine.run(1, trend));
  expect((await faultOf(engine.run(1, trend)))[0]).toBe("unavailable");
  runs.push(engine.run(2, trend), engine.run(3, trend));
  let most = 0;
  let done = 0;
  for (const one of runs) void one.then(() => done++);
  while (done < runs.length) {
    await Bun.sleep(0);
    most = Math.max(most, running());
    end();
  }
  expect(most).toBe(queryLimits.queriesRunningMax);
});

test("queries that wait or run are counted by their bytes, and a project's leave room for others'", async () => {
  const { promise, resolve } = Promise.withResolvers();
  const clickhouse = { query: () => promise, zones: openEngineZones(1) } as never;
  const today: Clock = { ...clock, now: () => Date.UTC(2024, 4, 1) };
  const engine = openQueryEngine({ parser: noSqlParser, sql, clickhouse, clock: today, machine: idle });
  const long = { kind: "TrendsQuery", series: [{ event: "x".repeat(1_000_000) }] };
  const ask = (project_id: number) => engine.answer(project_id, long, { mayBeCached: false });
  const ofProject = Math.floor(queryLimits.queriesOfProjectBytesMax / 1_000_000);
  const asked = Array.from({ length: ofProject }, () => ask(1));
  expect((await faultOf(ask(1)))[0]).toBe("unavailable");
  expect((await faultOf(engine.run(1, long)))[0]).toBe("unavailable");
  asked.push(ask(2));
  resolve([]);
  await Promise.all(asked);
  expect((await ask(1)).is_cached).toBe(false);
});

test("one project has two queries at once, and others' find a place beside its crowd", async () => {
  const { engine, begun, running, end } = openHeldEngine();
  const crowd = Array.from({ length: 40 }, () => engine.run(1, trend));
  while (running() < 2) await Bun.sleep(0);
  const other = engine.run(2, trend);
  const third = engine.run(3, trend);
  while (running() < queryLimits.queriesRunningMax) await Bun.sleep(0);
  expect(begun).toEqual([1, 1, 2, 3]);
  let done = 0;
  for (const one of [...crowd, other, third]) void one.then(() => done++);
  while (done < 42) {
    await Bun.sleep(0);
    end();
  }
});

test("a query has all cores and the longest time while there is no other caller and the machine is idle", async () => {
  const settings = { querySecondsMax: 60 };
  expect(await boundsOfQuery(settings, idle, 0)).toEqual({ seconds: 60, threads: 2, isBusy: false });
  expect(await boundsOfQuery({ querySecondsMax: 60, queryThreadsMax: 1 }, idle, 0)).toEqual({
    seconds: 60,
    threads: 1,
    isBusy: false,
  });
  for (const less of [boundsOfQuery(settings, idle, 1), boundsOfQuery(settings, busy, 0)]) {
    expect(await less).toEqual({ seconds: limits.querySecondsMax, threads: 1, isBusy: true });
  }
  expect((await boundsOfQuery({ querySecondsMax: 5 }, busy, 0)).seconds).toBe(5);
});

test("a machine that was busy in the last minute is idle when it does not work now", async () => {
  const settings = { querySecondsMax: 60 };
  const isBusy = async (load: number, works: number) =>
    (await boundsOfQuery(settings, { cores: 2, load: () => load, working: async () => works }, 0)).isBusy;
  expect([await isBusy(2, 0), await isBusy(2, 2), await isBusy(0, 2)]).toEqual([false, true, false]);
});

test("what the machine does is measured once for all queries of two seconds", async () => {
  let elapsed = 0;
  let measures = 0;
  const { working } = openMachine({ elapsed: () => elapsed }, async () => ++measures);
  expect(await Promise.all([working(), working()])).toEqual([1, 1]);
  elapsed = queryLimits.machineSeenForMs - 1;
  expect(await working()).toBe(1);
  elapsed++;
  expect(await working()).toBe(2);
});

describe("the real engine", () => {
  let stores: Stores;
  beforeAll(async () => {
    stores = await openMadeStores();
  }, storesStartMsMax);

  test("gives up on a statement that takes too long", async () => {
    let elapsed = 0;
    const { run } = openQueryRunners(stores.clickhouse, { now: () => 0, elapsed: () => elapsed });
    elapsed = limits.querySecondsMax * 1000 - 900;
    const slow = "SELECT count() AS n FROM numbers(1000000000000) WHERE sipHash64(number) = 1";
    expect((await faultOf(run(slow, {})))[0]).toBe("invalid_input");
    elapsed = 0;
    expect(await run("SELECT 1 AS n", {})).toEqual([{ n: 1 }] as never);
  });

  test("refuses a page of events whose properties are too big, and shows a smaller one", async () => {
    const count = Math.ceil(queryLimits.queryPageBytesMax / 900_000) + 1;
    await stores.clickhouse.command(`
      INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at)
      SELECT generateUUIDv4(), 1, 'big', 'ann', concat('{"p":"', repeat('x', 900000), '"}'), 1714500000, now64(6)
      FROM numbers(${count})`);
    const engine = openQueryEngine({
      machine: idle,
      parser: noSqlParser,
      sql,
      clickhouse: stores.clickhouse,
      clock: { now: () => 1_714_500_060_000, elapsed: () => 0 },
    });
    const list = { kind: "EventsQuery", select: ["event"] };
    const [code, detail] = await faultOf(engine.run(1, { ...list, limit: 100 }));
    expect([code, detail]).toEqual(["invalid_input", expect.stringContaining('Use "limit": ')]);
    const { results, table } = await engine.run(1, { ...list, limit: 3 });
    expect([results, table?.hasMore]).toEqual([[["big"], ["big"], ["big"]], true]);
  });
});
