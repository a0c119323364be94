// Maps that do not grow without end.

import { expect, test } from "bun:test";
import { openRecent, SizedCache } from "../../src/work/maps.ts";

test("the value that was read least recently makes room for a new one", () => {
  const cache = new SizedCache<"", string>(10);
  for (const key of ["a", "b", "c"]) cache.put("", key, key, 3);
  expect(cache.find("a")).toBe("a");
  cache.put("", "d", "d", 4);
  expect(["a", "b", "c", "d"].map((key) => cache.find(key))).toEqual(["a", undefined, "c", "d"]);
});

test("an owner's values make room for the owner's own, before those of others do", () => {
  const cache = new SizedCache<number, string>(10, 6);
  cache.put(1, "a", "a", 3);
  cache.put(2, "b", "b", 3);
  cache.put(1, "c", "c", 3);
  cache.put(1, "d", "d", 1);
  expect(["a", "b", "c", "d"].map((key) => cache.find(key))).toEqual([undefined, "b", "c", "d"]);
});

test("a value counts once: put again or dropped, it leaves its room to others", () => {
  const cache = new SizedCache<"", number>(10);
  for (let i = 0; i < 5; i++) cache.put("", "a", i, 5);
  cache.put("", "b", 1, 5);
  expect([cache.find("a"), cache.find("b")]).toEqual([4, 1]);
  cache.drop("b");
  cache.put("", "c", 2, 5);
  expect([cache.find("a"), cache.find("b"), cache.find("c")]).toEqual([4, undefined, 2]);
  cache.clear();
  cache.put("", "d", 3, 10);
  expect([cache.find("a"), cache.find("d")]).toEqual([undefined, 3]);
});

test("a value that is longer than all may be is held alone", () => {
  const cache = new SizedCache<"", string>(10);
  cache.put("", "a", "a", 2);
  cache.put("", "long", "long", 20);
  expect([cache.find("a"), cache.find("long")]).toEqual([undefined, "long"]);
});

function counted(ageMsMax = 100, sizeMax = 2) {
  const clock = { now: 0, elapsed: () => clock.now };
  const recent = openRecent<string, number>(clock, { ageMsMax, sizeMax });
  let reads = 0;
  return { clock, recent, ask: (key: string) => recent(key, () => Promise.resolve(++reads)) };
}

test("those who ask within the time get one answer, however long it took to come", async () => {
  const { clock, recent, ask } = counted();
  const { promise, resolve } = Promise.withResolvers<number>();
  const first = recent("slow", () => promise);
  clock.now = 1000;
  const second = ask("slow");
  resolve(7);
  expect(await Promise.all([first, second])).toEqual([7, 7]);
  clock.now = 1099;
  expect(await ask("slow")).toBe(7);
  clock.now = 1100;
  expect(await ask("slow")).toBe(1);
});

test("a failure is not given again, and the oldest of too many answers is forgotten", async () => {
  const { recent, ask } = counted();
  const failing = () => Promise.reject(new Error("no"));
  expect(await recent("a", failing).catch(String)).toBe("Error: no");
  expect([await ask("a"), await ask("b"), await ask("c")]).toEqual([1, 2, 3]);
  expect([await ask("c"), await ask("b"), await ask("a")]).toEqual([3, 2, 4]);
});

test("an answer that is not to be kept is forgotten", async () => {
  let reads = 0;
  const recent = openRecent<string, number>(
    { elapsed: () => 0 },
    { ageMsMax: 1000, sizeMax: 2, isKept: (answer) => answer > 1 },
  );
  const read = () => recent("a", () => Promise.resolve(++reads));
  expect([await read(), await read(), await read()]).toEqual([1, 2, 2]);
});
