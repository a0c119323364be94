import { expect, jest, test } from "bun:test";
import { Slabs } from "../../src/capture/slabs.ts";
import { limits } from "../../src/core/limits.ts";

const usual = 1 << 20;

test("slabs are used again, and one for longer bodies is kept apart", () => {
  const slabs = new Slabs(usual);
  const [first, second, long] = [slabs.take(100)!, slabs.take(usual)!, slabs.take(usual + 1)!];
  expect(new Set([first, second, long]).size).toBe(3);
  expect(long.body.length).toBe(limits.inflatedBytesMax);
  for (const slab of [first, second, long]) slabs.give(slab);
  expect([slabs.take(1), slabs.take(1)].every((slab) => slab === first || slab === second)).toBe(true);
  expect(slabs.take(1)!.body.length).toBe(usual);
  expect(slabs.take(limits.inflatedBytesMax) === long).toBe(true);
});

test("no more are lent than there may be at once, and one that is given back is one more", () => {
  const slabs = new Slabs(usual);
  const all = Array.from({ length: limits.slabsMax }, () => slabs.take(1)!);
  expect(slabs.take(1)).toBeUndefined();
  slabs.give(all[0]!);
  expect(slabs.take(usual)!.body.length).toBe(usual);
  expect(slabs.take(1)).toBeUndefined();
});

test("there is one slab for longer bodies and no second, however many there are", () => {
  const slabs = new Slabs(usual);
  const long = slabs.take(usual + 1)!;
  expect(slabs.take(usual + 1)).toBeUndefined();
  slabs.give(long);
  expect(slabs.take(limits.inflatedBytesMax) === long).toBe(true);
});

test("slabs nobody wants for a while are let go one by one, those for longer bodies too", () => {
  jest.useFakeTimers();
  try {
    const slabs = new Slabs(usual);
    const all = [slabs.take(1)!, slabs.take(1)!, slabs.take(usual + 1)!];
    for (const slab of all) slabs.give(slab);
    jest.advanceTimersByTime(limits.slabIdleMs - 1);
    const wanted = slabs.take(1)!;
    expect(all).toContain(wanted);
    slabs.give(wanted);
    jest.advanceTimersByTime(limits.slabIdleMs);
    expect(all).toContain(slabs.take(1)!);
    const again = slabs.take(1)!;
    slabs.give(again);
    jest.advanceTimersByTime(limits.slabIdleMs + 2 * limits.slabGapMs);
    expect(all).not.toContain(slabs.take(1)!);
    expect(all).not.toContain(slabs.take(usual + 1)!);
  } finally {
    jest.useRealTimers();
  }
});
