import { expect, test } from "bun:test";
import { limits } from "../../src/core/limits.ts";
import { besidePrimed, mapInSlices, primed, slices } from "../../src/work/slices.ts";
import { countTurns } from "../support/turns.ts";

test("a long list comes in slices, and others have their turn between two of them", async () => {
  const all = Array.from({ length: 95 }, (_, i) => i);
  const seen: number[][] = [];
  const turns = await countTurns(async () => {
    for await (const some of slices(all, 10)) seen.push(some);
  });
  expect(seen.map((some) => some.length)).toEqual([10, 10, 10, 10, 10, 10, 10, 10, 10, 5]);
  expect(seen.flat()).toEqual(all);
  expect(turns).toBeGreaterThanOrEqual(9);
});

test("what is added to a list meanwhile is in no slice", async () => {
  const all = [1, 2, 3];
  const seen: number[] = [];
  for await (const some of slices(all, 2)) {
    seen.push(...some);
    all.push(9);
  }
  expect(seen).toEqual([1, 2, 3]);
});

test("rows are shown a few hundred at a time, in their order", async () => {
  const rows = Array.from({ length: 4 * limits.rowsShownAtOnceMax + 1 }, (_, i) => i);
  let shown: number[] = [];
  const turns = await countTurns(async () => {
    shown = await mapInSlices(rows, (row) => row * 2);
  });
  expect(shown).toEqual(rows.map((row) => row * 2));
  expect(turns).toBeGreaterThanOrEqual(4);
});

test("long rows are shown fewer at a time", async () => {
  const rows = Array.from({ length: 10 }, (_, i) => i);
  const turns = await countTurns(() => mapInSlices(rows, String, () => limits.replySliceBytes));
  expect(turns).toBeGreaterThanOrEqual(9);
});

test("chunks that are ready free what they hold when they are ended untaken, as where what is beside them fails", async () => {
  let freed = 0;
  const open = async function* () {
    try {
      yield 1;
      yield 2;
    } finally {
      freed++;
    }
  };
  await (await primed(open())).return();
  expect(freed).toBe(1);
  const failing = besidePrimed(Promise.reject(new Error("busy")), primed(open()));
  await expect(failing).rejects.toThrow("busy");
  expect(freed).toBe(2);
  const [other, chunks] = await besidePrimed(Promise.resolve("a"), primed(open()));
  expect([other, await Array.fromAsync(chunks), freed]).toEqual(["a", [1, 2], 3]);
});
