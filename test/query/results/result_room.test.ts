// Results that are kept, and when they are not.

import { expect, test } from "bun:test";
import type { Clock } from "../../../src/core/clock.ts";
import { noSqlParser } from "../../support/sql_parser.ts";
import { openQueryEngine } from "../../../src/query/engine.ts";
import { queryLimits } from "../../../src/query/limits.ts";
import { resultBytes, ResultRoom } from "../../../src/query/results/result_room.ts";

function openRoom() {
  let elapsed = 0;
  const room = new ResultRoom<string>({ now: () => 0, elapsed: () => elapsed });
  return { room, pass: (ms: number) => void (elapsed += ms) };
}

test("a result is kept for ten minutes", () => {
  const { room, pass } = openRoom();
  room.keep("a", 1, "x", 3);
  pass(queryLimits.resultKeptMs);
  expect(room.find("a")).toBe("x");
  pass(1);
  expect(room.find("a")).toBeUndefined();
});

test("the bytes of a result are those of its JSON, and counted only as far as they matter", async () => {
  const result = { kind: "a", results: Array.from({ length: 50_000 }, (_, i) => [i, "x".repeat(i % 40)]) };
  const whole = JSON.stringify(result).length;
  // A comma is counted behind the last row, too.
  expect(await resultBytes(result, Number.POSITIVE_INFINITY)).toBe(whole + 1);
  const counted = await resultBytes(result, 1000);
  expect(counted > 1000 && counted < 1100).toBe(true);
});

test("results of one project drop its own, those of all the least lately read", () => {
  const { room } = openRoom();
  const half = "x".repeat(queryLimits.resultsOfProjectBytesMax / 2 - 10);
  for (const key of ["a", "b", "c"]) room.keep(key, 1, half, half.length);
  expect(["a", "b", "c"].map((key) => room.find(key)?.length)).toEqual([undefined, half.length, half.length]);
  expect(room.keep("huge", 1, "", half.length * 3)).toBe(false);
  expect(room.find("huge")).toBeUndefined();
  const places = Math.floor(queryLimits.resultsBytesMax / queryLimits.resultsOfProjectBytesMax) * 2;
  for (let project = 2; project < 2 + places; project++) {
    room.find("c");
    room.keep(`of ${project}`, project, half, half.length);
  }
  expect([room.find("b")?.length, room.find("c")?.length]).toEqual([undefined, half.length]);
  expect(room.find(`of ${1 + places}`)?.length).toBe(half.length);
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
    query: () => {
      sent++;
      elapsed += ms;
      return Promise.resolve([]);
    },
  } as never;
  const sql = (() => Promise.resolve([state])) as never;
  let now = Date.UTC(2024, 4, 1, 23);
  const clock: Clock = { now: () => now, elapsed: () => elapsed };
  const engine = openQueryEngine({ parser: noSqlParser, sql, clickhouse, clock });
  const trend = { kind: "TrendsQuery", series: [{}] };
  const isCached = async (query: object = trend, mayBeKept = true, project_id = 1) =>
    (await engine.ask(project_id, query, { mayBeKept })).is_cached;
  return {
    engine,
    state,
    isCached,
    sent: () => sent,
    take: (next: number) => void (ms = next),
    wait: (next: number) => void (now += next),
  };
}

test("who asks the same again is given what was computed, with its time", async () => {
  const { engine, isCached, sent, wait } = openTimedEngine();
  expect(await isCached()).toBe(false);
  wait(1000);
  const trend = { kind: "TrendsQuery", series: [{}] };
  const again = await engine.ask(1, trend, { mayBeKept: true });
  expect([again.is_cached, again.computed_at, sent()]).toEqual([true, "2024-05-01T23:00:00.000Z", 1]);
  expect(await engine.findKept(1, trend)).toEqual(again as never);
  expect(await engine.findKept(1, { ...trend, interval: "hour" })).toBeUndefined();
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
