import { expect, jest, test } from "bun:test";
import { captureLimits } from "../../../src/capture/limits.ts";
import { scanFirst, scanOn } from "../../../src/capture/pipeline.ts";
import { ArenaPool, ReceivedBody } from "../../../src/capture/receive/received_body.ts";
import type { BodyScanner } from "../../../src/capture/scan/body_scanner.ts";
import { limits } from "../../../src/core/limits.ts";

const usual = 1 << 20;

test("slabs are used again, and one for longer bodies is kept apart", () => {
  const arenas = new ArenaPool(usual);
  const [first, second, long] = [arenas.acquire(100)!, arenas.acquire(usual)!, arenas.acquire(usual + 1)!];
  expect(new Set([first, second, long]).size).toBe(3);
  expect(long.body.length).toBe(limits.inflatedBytesMax);
  for (const arena of [first, second, long]) arenas.release(arena);
  expect([arenas.acquire(1), arenas.acquire(1)].every((arena) => arena === first || arena === second)).toBe(
    true,
  );
  expect(arenas.acquire(1)!.body.length).toBe(usual);
  expect(arenas.acquire(limits.inflatedBytesMax) === long).toBe(true);
});

test("no more are lent than there may be at once, and one that is given back is one more", () => {
  const arenas = new ArenaPool(usual);
  const all = Array.from({ length: captureLimits.arenasMax }, () => arenas.acquire(1)!);
  expect(arenas.acquire(1)).toBeUndefined();
  arenas.release(all[0]!);
  expect(arenas.acquire(usual)!.body.length).toBe(usual);
  expect(arenas.acquire(1)).toBeUndefined();
});

test("there is one slab for longer bodies and no second, however many there are", () => {
  const arenas = new ArenaPool(usual);
  const long = arenas.acquire(usual + 1)!;
  expect(arenas.acquire(usual + 1)).toBeUndefined();
  arenas.release(long);
  expect(arenas.acquire(limits.inflatedBytesMax) === long).toBe(true);
});

test("slabs nobody wants for a while are let go one by one, those for longer bodies too", () => {
  jest.useFakeTimers();
  try {
    const arenas = new ArenaPool(usual);
    const all = [arenas.acquire(1)!, arenas.acquire(1)!, arenas.acquire(usual + 1)!];
    for (const arena of all) arenas.release(arena);
    jest.advanceTimersByTime(captureLimits.arenaIdleMs - 1);
    const wanted = arenas.acquire(1)!;
    expect(all).toContain(wanted);
    arenas.release(wanted);
    jest.advanceTimersByTime(captureLimits.arenaIdleMs);
    expect(all).toContain(arenas.acquire(1)!);
    const again = arenas.acquire(1)!;
    arenas.release(again);
    jest.advanceTimersByTime(captureLimits.arenaIdleMs + 2 * captureLimits.arenaGapMs);
    expect(all).not.toContain(arenas.acquire(1)!);
    expect(all).not.toContain(arenas.acquire(usual + 1)!);
  } finally {
    jest.useRealTimers();
  }
});

/** A body of small events, whose index takes more memory than itself, is moved while it grows, and lies in no arena. */
const manyEvents = `{"batch":[${Array.from({ length: 20_000 }, () => `{"event":"e","distinct_id":"d"}`).join()}]}`;

async function scanned(body: ReceivedBody): Promise<BodyScanner> {
  const scanner = body.scanner();
  if (!scanFirst(scanner)) await scanOn(scanner);
  expect(scanner.index.count).toBe(20_000);
  return scanner;
}

test("a closed body's index is freed with it, and each that it outgrew when it was moved", async () => {
  const body = new ReceivedBody(new ArenaPool(usual), Buffer.from(manyEvents));
  const scanner = body.scanner();
  const first = scanner.index.entries;
  await scanOn(scanner);
  expect(scanner.index.entries).not.toBe(first);
  expect(first.byteLength).toBe(0);
  body.close();
  expect([scanner.index.entries.byteLength, body.bytes.byteLength]).toEqual([0, 0]);
});

test("a second scanner frees the index of the first, and a repaired copy is freed with the body", async () => {
  const body = new ReceivedBody(new ArenaPool(usual), Buffer.from(manyEvents));
  const { index } = await scanned(body);
  const copy = Buffer.from(manyEvents);
  const again = body.scanner({ repaired: { bytes: copy, offsetIn: () => -1 } });
  expect(index.entries.byteLength).toBe(0);
  await scanOn(again);
  body.close();
  expect([again.index.entries.byteLength, copy.byteLength]).toEqual([0, 0]);
});
