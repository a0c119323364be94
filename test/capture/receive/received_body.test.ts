import { expect, jest, test } from "bun:test";
import { ArenaPool } from "../../../src/capture/receive/received_body.ts";
import { limits } from "../../../src/core/limits.ts";
import { receiveLimits } from "../../../src/capture/receive/limits.ts";

const usual = 1 << 20;

test("slabs are used again, and one for longer bodies is kept apart", () => {
  const arenas = new ArenaPool(usual);
  const [first, second, long] = [arenas.take(100)!, arenas.take(usual)!, arenas.take(usual + 1)!];
  expect(new Set([first, second, long]).size).toBe(3);
  expect(long.body.length).toBe(limits.inflatedBytesMax);
  for (const arena of [first, second, long]) arenas.give(arena);
  expect([arenas.take(1), arenas.take(1)].every((arena) => arena === first || arena === second)).toBe(true);
  expect(arenas.take(1)!.body.length).toBe(usual);
  expect(arenas.take(limits.inflatedBytesMax) === long).toBe(true);
});

test("no more are lent than there may be at once, and one that is given back is one more", () => {
  const arenas = new ArenaPool(usual);
  const all = Array.from({ length: receiveLimits.arenasMax }, () => arenas.take(1)!);
  expect(arenas.take(1)).toBeUndefined();
  arenas.give(all[0]!);
  expect(arenas.take(usual)!.body.length).toBe(usual);
  expect(arenas.take(1)).toBeUndefined();
});

test("there is one slab for longer bodies and no second, however many there are", () => {
  const arenas = new ArenaPool(usual);
  const long = arenas.take(usual + 1)!;
  expect(arenas.take(usual + 1)).toBeUndefined();
  arenas.give(long);
  expect(arenas.take(limits.inflatedBytesMax) === long).toBe(true);
});

test("slabs nobody wants for a while are let go one by one, those for longer bodies too", () => {
  jest.useFakeTimers();
  try {
    const arenas = new ArenaPool(usual);
    const all = [arenas.take(1)!, arenas.take(1)!, arenas.take(usual + 1)!];
    for (const arena of all) arenas.give(arena);
    jest.advanceTimersByTime(receiveLimits.arenaIdleMs - 1);
    const wanted = arenas.take(1)!;
    expect(all).toContain(wanted);
    arenas.give(wanted);
    jest.advanceTimersByTime(receiveLimits.arenaIdleMs);
    expect(all).toContain(arenas.take(1)!);
    const again = arenas.take(1)!;
    arenas.give(again);
    jest.advanceTimersByTime(receiveLimits.arenaIdleMs + 2 * receiveLimits.arenaGapMs);
    expect(all).not.toContain(arenas.take(1)!);
    expect(all).not.toContain(arenas.take(usual + 1)!);
  } finally {
    jest.useRealTimers();
  }
});
