// Results that are kept, and when they are not.

import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { bytesIn } from "../../../src/core/chunks.ts";
import type { Clock } from "../../../src/core/clock.ts";
import { slicedJson } from "../../../src/http/pages/sliced.ts";
import { openQueryEngine } from "../../../src/query/engine.ts";
import { queryLimits } from "../../../src/query/limits.ts";
import { resultReply } from "../../../src/query/operations.ts";
import { ResultCache, writtenResult } from "../../../src/query/results/result_cache.ts";
import { tableReply } from "../../../src/query/results/table_reply.ts";
import type { QueryResult } from "../../../src/query/store.ts";
import { openEngineZones } from "../../../src/storage/clickhouse/zones.ts";
import { emptyStore } from "../../support/query_bounds.ts";
import { noSqlParser } from "../../support/sql_parser.ts";

function openRoom() {
  let elapsed = 0;
  const room = new ResultCache({ now: () => 0, elapsed: () => elapsed });
  const keep = async (key: string, project_id: number, rows: unknown[]) =>
    room.retain(key, project_id, await writtenResult(resultOf(rows)));
  const rowsOf = (key: string) => {
    const found = room.find(key);
    return found && [...found.results];
  };
  return { room, keep, rowsOf, pass: (ms: number) => void (elapsed += ms) };
}

const table = { columns: ["a"], types: ["Int64"], hasMore: false, limit: 1, offset: 0 };

function resultOf(results: unknown[]): QueryResult {
  return { kind: "HogQLQuery", type: "table", results, table, timezone: "UTC" } as unknown as QueryResult;
}

test("a result is kept for ten minutes", async () => {
  const { room, keep, rowsOf, pass } = openRoom();
  await keep("a", 1, [["x"]]);
  pass(queryLimits.resultKeptMs);
  expect(rowsOf("a")).toEqual([["x"]]);
  pass(1);
  expect(room.find("a")).toBeUndefined();
});

test("a kept result is answered as it was computed, with all digits, as JSON and as a table", async () => {
  const digits = (json: string) => (JSON as unknown as { rawJSON(text: string): object }).rawJSON(json);
  const rows = Array.from({ length: 20_000 }, (_, i) => [
    digits(`1234567890123456789${i}`),
    [`é🙂,"\n${i}`, null, i / 3],
    {},
  ]);
  for (const results of [[], rows.slice(0, 1), rows]) {
    const { room, keep } = openRoom();
    expect(await keep("a", 1, results)).toBe(true);
    const found = room.find("a")!;
    expect({ ...found, results: null }).toEqual({ ...resultOf([]), results: null } as never);
    const [fresh, again] = [resultReply(resultOf(results)), resultReply(found)];
    expect(await (await slicedJson(again)).text()).toBe(JSON.stringify(fresh));
    expect(JSON.stringify(again)).toBe(JSON.stringify(fresh));
    const csv = async (from: typeof found | QueryResult) => await (await tableReply(from, "jsonl")).text();
    expect(await csv(found)).toBe(await csv(resultOf(results)));
  }
  const times = { ...resultOf([{ bins: [[1, 2]] }]), type: "times" } as QueryResult;
  const { room } = openRoom();
  room.retain("times", 1, await writtenResult(times));
  expect(resultReply(room.find("times")!)["results"]).toEqual({ bins: [[1, 2]] });
});

test("what is in memory of kept results is what is counted, however small their values are", async () => {
  const { room } = openRoom();
  const results = Array.from({ length: 500_000 }, () => [[]]);
  const written = await writtenResult(resultOf(results));
  results.length = 0;
  const before = heapBytes();
  const count = 20;
  for (let i = 0; i < count; i++)
    room.retain(`${i}`, i, await writtenResult(resultOf(JSON.parse(`[${"[[]],".repeat(499_999)}[[]]]`))));
  const bytes = bytesIn(written!.rows.parts) + written!.head.length;
  expect(room.find("0")).toBeDefined();
  expect(heapBytes() - before).toBeLessThan(1.5 * count * bytes);
});

/** Bytes of the heap, texts and buffers included, once nothing is left to be collected. */
function heapBytes(): number {
  Bun.gc(true);
  return heapStats().heapSize;
}

test("results of one project drop its own, those of all the least lately read", async () => {
  const { room, keep, rowsOf } = openRoom();
  const half = ["x".repeat(queryLimits.resultsOfProjectBytesMax / 2 - 300)];
  for (const key of ["a", "b", "c"]) await keep(key, 1, half);
  expect(["a", "b", "c"].map((key) => rowsOf(key))).toEqual([undefined, half, half]);
  expect(await keep("huge", 1, [...half, ...half, ...half])).toBe(false);
  expect(room.find("huge")).toBeUndefined();
  const places = Math.floor(queryLimits.resultsBytesMax / queryLimits.resultsOfProjectBytesMax) * 2;
  for (let project = 2; project < 2 + places; project++) {
    room.find("c");
    await keep(`of ${project}`, project, half);
  }
  expect([rowsOf("b"), rowsOf("c")]).toEqual([undefined, half]);
  expect(rowsOf(`of ${1 + places}`)).toEqual(half);
  room.clear();
  expect(room.find("c")).toBeUndefined();
});

/** An engine whose statements take so many ms, and how many were sent. */
function openTimedEngine() {
  const state = { timezone: "UTC", deletion: null as string | null, isDeleting: false };
  let elapsed = 0;
  let sent = 0;
  let ms: number = queryLimits.resultWorthMsMin;
  const clickhouse = {
    zones: openEngineZones(10),
    query: () => {
      sent++;
      elapsed += ms;
      return Promise.resolve([]);
    },
  } as never;
  const sql = (() => Promise.resolve([state])) as never;
  let now = Date.UTC(2024, 4, 1, 23);
  const clock: Clock = { now: () => now, elapsed: () => elapsed };
  const engine = openQueryEngine({ parser: noSqlParser, sql, clickhouse, clock, store: emptyStore });
  const trend = { kind: "TrendsQuery", series: [{}] };
  const isCached = async (query: object = trend, mayBeCached = true, project_id = 1) =>
    (await engine.answer(project_id, query, { mayBeCached })).is_cached;
  return {
    engine,
    state,
    isCached,
    sent: () => sent,
    take: (next: number) => void (ms = next),
    wait: (next: number) => void (now += next),
  };
}

test("a repeated query gets the computed result, with its time", async () => {
  const { engine, isCached, sent, wait } = openTimedEngine();
  expect(await isCached()).toBe(false);
  wait(1000);
  const trend = { kind: "TrendsQuery", series: [{}] };
  const again = await engine.answer(1, trend, { mayBeCached: true });
  expect([again.is_cached, again.computed_at, sent()]).toEqual([true, "2024-05-01T23:00:00.000Z", 1]);
  expect(await engine.findCached(1, trend)).toEqual(again as never);
  expect(await engine.findCached(1, { ...trend, interval: "hour" })).toBeUndefined();
  expect(await isCached(trend, false)).toBe(false);
  expect(await isCached({ ...trend, interval: "hour" })).toBe(false);
  expect(await isCached(trend, true, 2)).toBe(false);
  expect(await isCached()).toBe(true);
});

test("what took less than a second is computed anew", async () => {
  const { isCached, take } = openTimedEngine();
  take(queryLimits.resultWorthMsMin - 1);
  expect(await isCached()).toBe(false);
  expect(await isCached()).toBe(false);
});

test("a new day, another zone and deletions make a result unfit", async () => {
  const { engine, state, isCached, wait } = openTimedEngine();
  const changes = [
    () => wait(3_600_000),
    () => (state.timezone = "Asia/Tokyo"),
    () => (state.deletion = "7"),
    () => engine.forgetResults(),
  ];
  for (const change of changes) {
    expect(await isCached()).toBe(false);
    expect(await isCached()).toBe(true);
    change();
  }
  expect(await isCached()).toBe(false);
  state.isDeleting = true;
  expect(await isCached()).toBe(false);
  expect(await isCached({ kind: "TrendsQuery", series: [{}, {}] })).toBe(false);
  state.isDeleting = false;
  expect(await isCached({ kind: "TrendsQuery", series: [{}, {}] })).toBe(false);
});
