import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Clock } from "../../src/core/clock.ts";
import { Fault } from "../../src/core/fault.ts";
import { storeFault } from "../../src/http/store_fault.ts";
import { chooseBounds, type QueryStore } from "../../src/query/bounds.ts";
import { openQueryEngine } from "../../src/query/engine.ts";
import { queryLimits } from "../../src/query/limits.ts";
import { openQueryPermits, type RunningQuery } from "../../src/query/permits.ts";
import { openQueryRunners, openQueryStore } from "../../src/query/store.ts";
import { ClickHouseError } from "../../src/storage/clickhouse/error.ts";
import { openEngineZones } from "../../src/storage/clickhouse/zones.ts";
import type { Stores } from "../../src/storage/stores.ts";
import type { Work } from "../../src/storage/work_watch.ts";
import { cleanUp } from "../support/cleanup.ts";
import { emptyStore, usualBounds } from "../support/query_bounds.ts";
import { noSqlParser } from "../support/sql_parser.ts";
import { openMadeStores, storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp, storesStartMsMax);

const trend = { kind: "TrendsQuery", series: [{}] };

/** Postgres, as far as a query asks it. */
const sql = (() => Promise.resolve([{ timezone: "UTC" }])) as never;

const clock: Clock = { now: () => 0, elapsed: () => 0 };

async function faultOf(act: Promise<unknown>): Promise<unknown[]> {
  const thrown: unknown = await act.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return thrown instanceof Fault ? [thrown.code, thrown.detail] : [thrown];
}

/** An engine whose statements end when told to, the oldest first, and say for which project they are. */
function openHeldEngine(store = emptyStore) {
  const held: (() => void)[] = [];
  const begun: number[] = [];
  const of: string[] = [];
  let running = 0;
  const clickhouse = {
    zones: openEngineZones(1),
    query: async (_text: string, params: { project_id: number; event_0: string }) => {
      begun.push(params.project_id);
      of.push(params.event_0);
      running++;
      await new Promise<void>((resolve) => held.push(resolve));
      running--;
      return [];
    },
  } as never;
  const engine = openQueryEngine({
    store,
    parser: noSqlParser,
    sql,
    clickhouse,
    clock: { now: () => Date.UTC(2024, 4, 1), elapsed: () => 0 },
  });
  return { engine, begun, of, running: () => running, end: () => held.shift()?.() };
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
  const engine = openQueryEngine({ parser: noSqlParser, sql, clickhouse, clock: today, store: emptyStore });
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

test("a question may cost half a minute of its store, whatever else runs, or what operators set", async () => {
  const cost = async (cores: number, queryCpuSecondsMax?: number, running = 1) => {
    const store = { ...emptyStore, countCores: async () => cores };
    const { work, seconds, threads } = await chooseBounds(store, queryCpuSecondsMax, () => running);
    return [work.secondsMax, seconds, threads()];
  };
  expect(await cost(1)).toEqual([60, 600, 1]);
  expect(await cost(2)).toEqual([60, 300, 2]);
  expect(await cost(32)).toEqual([960, 300, 32]);
  expect(await cost(32, 5)).toEqual([5, 120, 32]);
  expect(await cost(2, 3600)).toEqual([3600, 18_000, 2]);
  expect(await cost(32, undefined, 4)).toEqual([960, 300, 8]);
  expect(await cost(2, undefined, 3)).toEqual([60, 300, 1]);
});

test("the next statement of a question has the threads that are left now", async () => {
  let running = 1;
  const { threads } = await chooseBounds(
    { ...emptyStore, countCores: async () => 8 },
    undefined,
    () => running,
  );
  const found = [1, 2, 3, 9].map((now) => {
    running = now;
    return threads();
  });
  expect(found).toEqual([8, 4, 2, 1]);
});

test("what its rows alone make too expensive is refused before it runs, with what it would need", async () => {
  const asked: string[] = [];
  const store: QueryStore = {
    ...emptyStore,
    countRows: async () => 500_000_000,
    countRead: async (text) => {
      asked.push(text);
      return 466_000_000;
    },
  };
  const { check } = await chooseBounds(store);
  const of = { project_id: 1 };
  expect(await faultOf(check("SELECT JSONExtractString(properties, 'a') FROM event_rows", of))).toEqual([
    "invalid_input",
    "The query needs about 140 CPU-seconds; the limit is 60. Narrow it, for example with a shorter date range.",
  ]);
  await check("SELECT count() FROM event_rows", of);
  expect(asked).toHaveLength(2);
  // The first rows of many cost little.
  await check("SELECT properties FROM event_rows LIMIT 100", of);
  expect(asked).toHaveLength(2);
  await faultOf(check("SELECT count() AS c1, properties FROM event_rows LIMIT 101", of));
  expect(asked).toHaveLength(3);
  const [code] = await faultOf(check("SELECT properties FROM event_rows\nORDER BY timestamp\nLIMIT 100", of));
  expect([code, asked.length]).toEqual(["invalid_input", 4]);
});

test("a statement of a project with few rows is not estimated at all", async () => {
  const countRead = (): never => {
    throw new Error("it costs nothing to speak of");
  };
  const { check } = await chooseBounds({ ...emptyStore, countRows: async () => 1_000_000, countRead });
  await check("SELECT properties FROM event_rows", { project_id: 1 });
});

test("questions that may cost more leave a permit to those that cost little", async () => {
  const rows = (project_id: number) => (project_id < 9 ? 100_000_000 : 1000);
  const { engine, begun, running, end } = openHeldEngine({
    ...emptyStore,
    countRows: async (id) => rows(id),
  });
  const heavy = [1, 2, 3, 4].map((project_id) => engine.run(project_id, trend));
  while (running() < queryLimits.queriesRunningMax - 1) await Bun.sleep(0);
  const light = engine.run(9, trend);
  while (running() < queryLimits.queriesRunningMax) await Bun.sleep(0);
  expect(begun).toEqual([1, 2, 3, 9]);
  let done = 0;
  for (const one of [...heavy, light]) void one.then(() => done++);
  while (done < 5) {
    await Bun.sleep(0);
    end();
  }
});

test("the people of a project take turns, however many questions one of them has", async () => {
  const { engine, running, end, of } = openHeldEngine();
  const ask = (person: number) => {
    const query = { ...trend, series: [{ event: `of ${person}` }] };
    return engine.run(1, query, { person });
  };
  const runs = Array.from({ length: 10 }, () => ask(7));
  while (running() < 2) await Bun.sleep(0);
  runs.push(ask(8), ask(9));
  let done = 0;
  for (const one of runs) void one.then(() => done++);
  while (done < runs.length) {
    await Bun.sleep(0);
    end();
  }
  expect(of.slice(0, 4)).toEqual(["of 7", "of 7", "of 8", "of 9"]);
});

/** An engine whose statements, in the order in which they began, are ended and count what they used by hand. */
function openCountedEngine() {
  const statements: { name: string; work: Work; end: () => void; stop: (why: Error) => void }[] = [];
  const clickhouse = {
    zones: openEngineZones(1),
    query: (_text: string, params: { event_0: string }, { work }: { work: Work }) =>
      new Promise<unknown[]>((resolve, stop) => {
        statements.push({ name: params.event_0, work, end: () => resolve([]), stop });
      }),
  } as never;
  const today: Clock = { now: () => Date.UTC(2024, 4, 1), elapsed: () => 0 };
  const engine = openQueryEngine({ store: emptyStore, parser: noSqlParser, sql, clickhouse, clock: today });
  return {
    engine,
    ask: (name: string, person: number) => engine.run(1, { ...trend, series: [{ event: name }] }, { person }),
    /** The statement that is the nth to begin. */
    begun: async (nth: number) => {
      while (statements.length < nth) await Bun.sleep(0);
      return statements[nth - 1]!;
    },
    names: () => statements.map(({ name }) => name),
  };
}

test("a question of many short statements that waited is busy, not too heavy", async () => {
  const work: Work = { secondsMax: 60, seconds: 1, uncountedSeconds: 60 };
  const { run } = openQueryRunners({ query: async () => [] } as never, clock, usualBounds({ work }));
  expect((await faultOf(run("SELECT 1", {})))[0]).toBe("unavailable");
});

test("a store that does not say its cores for a moment has as many as before, and none was never asked", async () => {
  let [isDown, elapsed] = [true, 0];
  const query = async (text: string, _: unknown, { settings }: { settings: Record<string, unknown> }) => {
    if (isDown) throw new ClickHouseError("away", "ECONNREFUSED", "NETWORK");
    // The engine answers with the setting that comes with the question.
    return [{ rows: String((text.includes("getSetting") && settings["max_threads"]) || 32) }];
  };
  const store = openQueryStore({ query } as never, { elapsed: () => elapsed });
  expect(storeFault((await faultOf(store.countCores()))[0])?.code).toBe("unavailable");
  expect(await store.countRows(1)).toBe(0);
  isDown = false;
  expect([await store.countCores(), await store.countRows(1)]).toEqual([32, 32]);
  isDown = true;
  elapsed += 2 * queryLimits.rowsKeptMs;
  expect(await store.countCores()).toBe(32);
});

describe("a question that is long", () => {
  const longSeconds = queryLimits.longCpuSecondsMin;
  const busy = new ClickHouseError("gave way", "202", "TOO_MANY_SIMULTANEOUS_QUERIES");

  test("gives way to others of its project behind one that is long already, and begins again after that", async () => {
    const { ask, begun, names } = openCountedEngine();
    const answers = [ask("endless a", 1), ask("endless b", 2)];
    await begun(2);
    answers.push(ask("endless c", 3), ask("overview", 1));
    await Bun.sleep(0);
    const [a, b] = [await begun(1), await begun(2)];
    expect([a, b].map(({ work }) => work.mustYield?.(longSeconds - 1))).toEqual([false, false]);
    expect([a, b].map(({ work }) => work.mustYield?.(longSeconds))).toEqual([false, true]);
    b.stop(busy);
    const c = await begun(3);
    expect([a, c].map(({ work }) => work.mustYield?.(longSeconds + 1))).toEqual([false, true]);
    c.stop(busy);
    (await begun(4)).end();
    await answers[3];
    expect(names()).toEqual(["endless a", "endless b", "endless c", "overview"]);
    a.end();
    const again = await begun(5);
    expect([again.name, again.work.mustYield]).toEqual(["endless b", undefined]);
    again.end();
    (await begun(6)).end();
    await Promise.all(answers);
  });

  test("gives way to other projects where as many are long as may be", async () => {
    const withPermit = openQueryPermits(emptyStore);
    const running: NonNullable<RunningQuery["mustYield"]>[] = [];
    const ends: (() => void)[] = [];
    for (let project = 1; project <= queryLimits.queriesRunningMax; project++)
      void withPermit(project, {}, ({ mustYield }) => {
        running.push(mustYield!);
        return new Promise<void>((end) => ends.push(end));
      });
    while (running.length < queryLimits.queriesRunningMax) await Bun.sleep(0);
    expect(running.map((mustYield) => mustYield(59))).toEqual(running.map(() => false));
    const other = withPermit(100, {}, async () => "answered");
    await Bun.sleep(1);
    const yields = running.map((mustYield) => mustYield(59));
    expect(yields.filter(Boolean)).toHaveLength(queryLimits.queriesRunningMax - queryLimits.queriesLongMax);
    for (const end of ends) end();
    expect(await other).toBe("answered");
  });

  test("waits for its turn again, however late it gave way", async () => {
    const { ask, begun } = openCountedEngine();
    const answers = [ask("a", 1), ask("b", 2)];
    const [a, b] = [await begun(1), await begun(2)];
    answers.push(ask("c", 3));
    await Bun.sleep(1);
    expect([a, b].map(({ work }) => work.mustYield?.(longSeconds))).toEqual([false, true]);
    b.stop(busy);
    const c = await begun(3);
    a.end();
    c.end();
    (await begun(4)).end();
    expect(await Promise.all(answers)).toHaveLength(3);
  });

  test("goes on while nobody waits", async () => {
    const { ask, begun } = openCountedEngine();
    const answers = [ask("a", 1), ask("b", 2)];
    const running = [await begun(1), await begun(2)];
    expect(running.map(({ work }) => work.mustYield?.(60))).toEqual([false, false]);
    for (const { end } of running) end();
    await Promise.all(answers);
  });

  test("keeps its own error when it did not give way", async () => {
    const { ask, begun } = openCountedEngine();
    const answer = faultOf(ask("a", 1));
    (await begun(1)).stop(busy);
    expect(await answer).toEqual([busy]);
  });
});

describe("the real engine", () => {
  let stores: Stores;
  beforeAll(async () => {
    stores = await openMadeStores();
  }, storesStartMsMax);

  test("ends a statement that costs too much, whatever the clock says, and says what it would need", async () => {
    const bounds = usualBounds({ work: { secondsMax: 1, seconds: 0 } });
    const { run } = openQueryRunners(stores.clickhouse, { now: () => 0, elapsed: () => 0 }, bounds);
    const slow = "SELECT count() AS n FROM numbers(1000000000000) WHERE sipHash64(number) = 1";
    const [code, detail] = await faultOf(run(slow, {}));
    expect([code, detail]).toEqual([
      "invalid_input",
      expect.stringMatching(/^The query needs about \d+ CPU-seconds; the limit is 1\. Narrow it/),
    ]);
    // A question that has used its share begins no further statement.
    expect((await faultOf(run("SELECT 1 AS n", {})))[0]).toBe("invalid_input");
    const { run: next } = openQueryRunners(
      stores.clickhouse,
      { now: () => 0, elapsed: () => 0 },
      usualBounds(),
    );
    expect(await next("SELECT 1 AS n", {})).toEqual([{ n: 1 }] as never);
  });

  test("refuses a page of events whose properties are too big, and shows a smaller one", async () => {
    const count = Math.ceil(queryLimits.queryPageBytesMax / 900_000) + 1;
    await stores.clickhouse.command(`
      INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at)
      SELECT generateUUIDv4(), 1, 'big', 'ann', concat('{"p":"', repeat('x', 900000), '"}'), 1714500000, now64(6)
      FROM numbers(${count})`);
    const engine = openQueryEngine({
      store: emptyStore,
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
