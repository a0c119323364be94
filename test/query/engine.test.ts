import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Clock } from "../../src/core/clock.ts";
import { Fault } from "../../src/core/fault.ts";
import { limits } from "../../src/core/limits.ts";
import { queryLimits } from "../../src/query/limits.ts";
import { openQueryEngine } from "../../src/query/engine.ts";
import { openQueryRunner } from "../../src/query/store.ts";
import { type ClickHouse, ClickHouseError } from "../../src/storage/clickhouse/clickhouse.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { cleanUp } from "../support/cleanup.ts";
import { openMadeStores, storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp, storesStartMsMax);

const trend = { kind: "TrendsQuery", series: [{}] };
/** Postgres, as far as a query asks it. */
const sql = (() => Promise.resolve([{ timezone: "UTC" }])) as never;
const clock: Clock = { now: () => 0, elapsed: () => 0 };

function failing(type: string): ClickHouse {
  return { query: () => Promise.reject(new ClickHouseError("Code: 1, in SELECT", "1", type)) } as never;
}

async function faultOf(act: Promise<unknown>): Promise<unknown[]> {
  const thrown: unknown = await act.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return thrown instanceof Fault ? [thrown.code, thrown.detail] : [thrown];
}

describe("what the engine says of a query", () => {
  const today: Clock = { ...clock, now: () => Date.UTC(2024, 4, 1) };

  test("too heavy for time, memory or an answer is the asker's to mend", async () => {
    for (const type of ["TIMEOUT_EXCEEDED", "MEMORY_LIMIT_EXCEEDED"]) {
      const engine = openQueryEngine({ sql, clickhouse: failing(type), clock: today });
      const [code, detail] = await faultOf(engine.run(1, trend));
      expect([code, detail]).toEqual(["invalid_input", expect.stringContaining("Narrow it")]);
    }
  });

  test("that it is away, or says nothing, is passed on", async () => {
    for (const type of ["NETWORK", "TIMEOUT"]) {
      const engine = openQueryEngine({ sql, clickhouse: failing(type), clock: today });
      const [thrown] = await faultOf(engine.run(1, trend));
      expect(thrown).toBeInstanceOf(ClickHouseError);
      expect(thrown).toHaveProperty("type", type);
    }
  });
});

test("all statements of a query share its time, and none is asked when it is over", async () => {
  let elapsed = 0;
  const seconds: unknown[] = [];
  const clickhouse = {
    query: (_: string, __: unknown, { settings = {} }: { settings?: Record<string, unknown> }) => {
      seconds.push(settings["max_execution_time"]);
      elapsed += 4000;
      return Promise.resolve([]);
    },
  } as never;
  const run = openQueryRunner(clickhouse, { now: () => 0, elapsed: () => elapsed });
  for (let i = 0; i < 3; i++) await run("SELECT 1", {});
  expect(seconds).toEqual([10, 6, 2]);
  expect((await faultOf(run("SELECT 1", {})))[0]).toBe("invalid_input");
  expect(seconds).toHaveLength(3);
});

/** An engine whose statements end when told to, the oldest first, and say for which project they are. */
function openHeldEngine() {
  const held: (() => void)[] = [];
  const begun: number[] = [];
  let running = 0;
  const clickhouse = {
    query: async (_text: string, params: { project_id: number }) => {
      begun.push(params.project_id);
      running++;
      await new Promise<void>((resolve) => held.push(resolve));
      running--;
      return [];
    },
  } as never;
  const engine = openQueryEngine({
    sql,
    clickhouse,
    clock: { now: () => Date.UTC(2024, 4, 1), elapsed: () => 0 },
  });
  return { engine, begun, running: () => running, end: () => held.shift()?.() };
}

test("a few queries run at once, some wait, more are told to come back", async () => {
  const { engine, running, end } = openHeldEngine();
  // Of one project: all places but the last one, and half of the line.
  const places = queryLimits.queriesRunningMax - 1 + queryLimits.queriesWaitingMax / 2;
  const runs = Array.from({ length: places }, () => engine.run(1, trend));
  expect((await faultOf(engine.run(1, trend)))[0]).toBe("unavailable");
  runs.push(engine.run(2, trend));
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

test("one project's crowd of queries leaves a place to another's, and the next place to a third's", async () => {
  const { engine, begun, running, end } = openHeldEngine();
  const crowd = Array.from({ length: 40 }, () => engine.run(1, trend));
  while (running() < queryLimits.queriesRunningMax - 1) await Bun.sleep(0);
  const other = engine.run(2, trend);
  while (running() < queryLimits.queriesRunningMax) await Bun.sleep(0);
  expect(begun).toEqual([1, 1, 1, 2]);
  const third = engine.run(3, trend);
  await Bun.sleep(0);
  // One of the crowd's ends.
  end();
  while (begun.length < 5) await Bun.sleep(0);
  expect(begun).toEqual([1, 1, 1, 2, 3]);
  let done = 0;
  for (const one of [...crowd, other, third]) void one.then(() => done++);
  while (done < 42) {
    await Bun.sleep(0);
    end();
  }
});

describe("the real engine", () => {
  let stores: Stores;
  beforeAll(async () => {
    stores = await openMadeStores();
  }, storesStartMsMax);

  test("gives up on a statement that takes too long", async () => {
    let elapsed = 0;
    const run = openQueryRunner(stores.clickhouse, { now: () => 0, elapsed: () => elapsed });
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
      sql,
      clickhouse: stores.clickhouse,
      clock: { now: () => 1_714_500_060_000, elapsed: () => 0 },
    });
    const list = { kind: "EventsQuery", select: ["event"] };
    const [code, detail] = await faultOf(engine.run(1, { ...list, limit: 100 }));
    expect([code, detail]).toEqual(["invalid_input", expect.stringContaining('Ask with "limit": ')]);
    const { results, hasMore } = await engine.run(1, { ...list, limit: 3 });
    expect([results, hasMore]).toEqual([[["big"], ["big"], ["big"]], true]);
  });
});
