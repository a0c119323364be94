import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Clock } from "../../src/core/clock.ts";
import { Fault } from "../../src/core/fault.ts";
import { limits } from "../../src/core/limits.ts";
import { silentLog } from "../../src/core/log.ts";
import { openQueryEngine } from "../../src/query/engine.ts";
import { openAsk } from "../../src/query/store.ts";
import { type ClickHouse, ClickHouseError } from "../../src/storage/clickhouse.ts";
import { migrate } from "../../src/storage/migrate.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { cleanUp } from "../support/cleanup.ts";
import { openTestStores, storesStartMsMax } from "../support/stores.ts";

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
    for (const type of ["TIMEOUT_EXCEEDED", "TIMEOUT", "MEMORY_LIMIT_EXCEEDED"]) {
      const engine = openQueryEngine({ sql, clickhouse: failing(type), clock: today });
      const [code, detail] = await faultOf(engine.run(1, trend));
      expect([code, detail]).toEqual(["invalid_input", expect.stringContaining("Narrow it")]);
    }
  });

  test("that it is away is passed on", async () => {
    const engine = openQueryEngine({ sql, clickhouse: failing("NETWORK"), clock: today });
    expect((await faultOf(engine.run(1, trend)))[0]).toBeInstanceOf(ClickHouseError);
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
  const ask = openAsk(clickhouse, { now: () => 0, elapsed: () => elapsed });
  for (let i = 0; i < 3; i++) await ask("SELECT 1", {});
  expect(seconds).toEqual([10, 6, 2]);
  expect((await faultOf(ask("SELECT 1", {})))[0]).toBe("invalid_input");
  expect(seconds).toHaveLength(3);
});

test("a few queries run at once, some wait, more are told to come back", async () => {
  const held: (() => void)[] = [];
  let running = 0;
  const clickhouse = {
    query: async () => {
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
  const places = limits.queriesRunningMax + limits.queriesWaitingMax;
  const runs = Array.from({ length: places }, () => engine.run(1, trend));
  expect((await faultOf(engine.run(1, trend)))[0]).toBe("unavailable");
  let most = 0;
  let done = 0;
  for (const one of runs) void one.then(() => done++);
  while (done < places) {
    await Bun.sleep(0);
    most = Math.max(most, running);
    held.shift()?.();
  }
  expect(most).toBe(limits.queriesRunningMax);
});

describe("the real engine", () => {
  let stores: Stores;
  beforeAll(async () => {
    stores = await openTestStores();
    await migrate(stores, { log: silentLog });
  }, storesStartMsMax);

  test("gives up on a statement that takes too long", async () => {
    let elapsed = 0;
    const ask = openAsk(stores.clickhouse, { now: () => 0, elapsed: () => elapsed });
    elapsed = limits.querySecondsMax * 1000 - 900;
    const slow = "SELECT count() AS n FROM numbers(1000000000000) WHERE sipHash64(number) = 1";
    expect((await faultOf(ask(slow, {})))[0]).toBe("invalid_input");
    elapsed = 0;
    expect(await ask("SELECT 1 AS n", {})).toEqual([{ n: 1 }] as never);
  });

  test("refuses a page of events whose properties are too big, and shows a smaller one", async () => {
    const count = Math.ceil(limits.queryPageBytesMax / 900_000) + 1;
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
    expect([code, detail]).toEqual(["invalid_input", expect.stringContaining("fewer")]);
    const { results, hasMore } = await engine.run(1, { ...list, limit: 3 });
    expect([results, hasMore]).toEqual([[["big"], ["big"], ["big"]], true]);
  });
});
