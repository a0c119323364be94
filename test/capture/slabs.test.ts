import { expect, test } from "bun:test";
import { Slabs } from "../../src/capture/slabs.ts";
import { limits } from "../../src/core/limits.ts";

const usual = 1 << 20;

test("slabs are used again, and of those for longer bodies one is kept apart", () => {
  const slabs = new Slabs(usual);
  const [first, second] = [slabs.take(100)!, slabs.take(usual)!];
  const [long, longer] = [slabs.take(usual + 1)!, slabs.take(limits.inflatedBytesMax)!];
  expect(new Set([first, second, long, longer]).size).toBe(4);
  expect(longer.body.length).toBe(limits.inflatedBytesMax);
  for (const slab of [first, second, long, longer]) slabs.give(slab);
  expect([slabs.take(1), slabs.take(1)].every((slab) => slab === first || slab === second)).toBe(true);
  expect(slabs.take(1)!.body.length).toBe(usual);
  expect(slabs.take(limits.inflatedBytesMax) === longer).toBe(true);
  expect(slabs.take(usual + 1) === long).toBe(false);
});

test("no more are lent than there may be at once, and one that is given back is one more", () => {
  const slabs = new Slabs(usual);
  const all = Array.from({ length: limits.slabsMax }, () => slabs.take(1)!);
  expect(slabs.take(1)).toBeUndefined();
  expect(slabs.take(usual + 1)).toBeUndefined();
  slabs.give(all[0]!);
  expect(slabs.take(usual + 1)!.body.length).toBeGreaterThan(usual);
});
