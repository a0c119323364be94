// Counts that are kept for moments: which are, how long, and what makes them go.

import { expect, test } from "bun:test";
import type { Clock } from "../../src/core/clock.ts";
import { CountCache } from "../../src/work/count_cache.ts";
import { workLimits } from "../../src/work/limits.ts";

const many = workLimits.countCachedMin;

function counting(first: number) {
  let now = 0;
  const clock: Clock = { now: () => now, elapsed: () => now };
  const counts = new CountCache(clock);
  const rows = { count: first, taken: 0 };
  const take = () => {
    rows.taken++;
    return Promise.resolve(rows.count);
  };
  const ask = (name = "all", project_id = 1) => counts.count(project_id, name, take);
  return { counts, rows, ask, pass: (ms: number) => (now += ms) };
}

test("a small count is taken whenever it is asked for", async () => {
  const { rows, ask } = counting(many - 1);
  expect(await ask()).toBe(many - 1);
  rows.count = 3;
  expect(await ask()).toBe(3);
  rows.count = many - 2;
  expect(await ask()).toBe(many - 2);
  expect(rows.taken).toBe(3);
});

test("a large one is kept for each project and name by itself", async () => {
  const { rows, ask } = counting(many);
  expect(await ask()).toBe(many);
  rows.count = many + 1;
  expect(await ask()).toBe(many);
  expect(await ask("some")).toBe(many + 1);
  expect(await ask("all", 2)).toBe(many + 1);
  expect(rows.taken).toBe(3);
});

test("names of any length are distinguished", async () => {
  const { rows, ask } = counting(many);
  const long = "id,".repeat(10_000);
  await ask(long);
  rows.count = many + 1;
  expect(await ask(`${long}x`)).toBe(many + 1);
  expect(await ask(long)).toBe(many);
});

test("an older one is shown once more and taken anew meanwhile; too old a one is waited for", async () => {
  const { rows, ask, pass } = counting(many);
  await ask();
  rows.count = many + 1;
  pass(workLimits.countFreshMs + 1);
  expect(await Promise.all([ask(), ask()])).toEqual([many, many]);
  expect(rows.taken).toBe(2);
  await Bun.sleep(0);
  expect(await ask()).toBe(many + 1);
  rows.count = many + 2;
  pass(workLimits.countCachedMs + 1);
  expect(await ask()).toBe(many + 2);
});

test("one that has become small is not kept on", async () => {
  const { rows, ask, pass } = counting(many);
  await ask();
  rows.count = 1;
  pass(workLimits.countFreshMs + 1);
  await ask();
  await Bun.sleep(0);
  rows.count = 2;
  expect(await ask()).toBe(2);
});

test("what was counted, or was being counted, before something went is forgotten", async () => {
  const { counts, rows, ask } = counting(many);
  await ask();
  const slow = Promise.withResolvers<number>();
  const asked = counts.count(1, "slow", () => slow.promise);
  counts.forget(1);
  slow.resolve(many);
  expect(await asked).toBe(many);
  rows.count = many + 5;
  expect(await ask()).toBe(many + 5);
  expect(await ask("slow")).toBe(many + 5);
});

test("a failure is whoever's who waits for it, and never who has a count", async () => {
  const { counts, ask, pass } = counting(many);
  const fail = () => Promise.reject(new Error("no"));
  expect(counts.count(1, "all", fail)).rejects.toThrow("no");
  await ask();
  pass(workLimits.countFreshMs + 1);
  expect(await counts.count(1, "all", fail)).toBe(many);
  await Bun.sleep(0);
  expect(await ask()).toBe(many);
});

test("no more names and projects are cached than their bounds", async () => {
  const { rows, ask } = counting(many);
  for (let i = 0; i <= workLimits.countsPerProjectMax; i++) await ask(`name ${i}`);
  const { taken } = rows;
  await ask("name 1");
  expect(rows.taken).toBe(taken);
  await ask("name 0");
  expect(rows.taken).toBe(taken + 1);
  for (let i = 0; i <= workLimits.countProjectsMax; i++) await ask("all", 10 + i);
  const before = rows.taken;
  await ask("all", 10);
  expect(rows.taken).toBe(before + 1);
});
