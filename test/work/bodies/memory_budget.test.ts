import { expect, test } from "bun:test";
import { limits } from "../../../src/core/limits.ts";
import { uploadLimits } from "../../../src/work/bodies/limits.ts";
import { MemoryBudget, type MemoryLease, openBodyMemory } from "../../../src/work/bodies/memory_budget.ts";

const unavailable = { code: "unavailable", retryAfterSeconds: uploadLimits.memoryRetrySeconds };
const open = (bytesMax: number, shareBytesMax = bytesMax, waitMsMax = 60_000) =>
  new MemoryBudget({ bytesMax, shareBytesMax, waitMsMax });

/** Acquires so many bytes, as soon as they are there. */
const acquireSoon = (lease: MemoryLease, bytes: number) =>
  lease.waitFor(bytes, () => lease.tryAcquire(bytes));

/** Whether a promise was settled by the end of this turn. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

test("bytes are refused past the budget, with a time to come again, and are there once others gave theirs back", () => {
  const budget = open(1600);
  const [one, other] = [budget.open(), budget.open()];
  one.acquire(1000);
  expect(() => other.acquire(600)).toThrow(expect.objectContaining(unavailable));
  expect([budget.held, other.bytes]).toEqual([1000, 0]);
  one.release(400);
  other.acquire(600);
  expect([budget.held, one.bytes, other.bytes]).toEqual([1200, 600, 600]);
});

test("a lease gives back what it holds once, however often it is closed, and no more than it holds", () => {
  const budget = open(1600);
  const [one, other] = [budget.open(), budget.open()];
  one.acquire(100);
  other.acquire(200);
  expect(() => one.release(101)).toThrow("101 bytes are released of 100");
  one.close();
  one.close();
  expect(budget.held).toBe(200);
  expect(() => one.acquire(1)).toThrow("closed");
});

test("one project's bodies take its share at most, and so do those whose project is not known", () => {
  const budget = open(1600, 500);
  const [one, two, unknown] = [budget.open(), budget.open(), budget.open()];
  one.assign(7);
  two.assign(7);
  one.acquire(400);
  expect(two.tryAcquire(200)).toBe(false);
  unknown.acquire(450);
  expect(unknown.tryAcquire(100)).toBe(false);
  expect([budget.heldBy(7), budget.heldBy()]).toEqual([400, 450]);
  const other = budget.open();
  other.assign(8);
  other.acquire(500);
  expect(budget.held).toBe(1350);
});

test("what is held moves to a project's share when its key is known, unless that is full", () => {
  const budget = open(1600, 500);
  const [known, late] = [budget.open(), budget.open()];
  known.assign(7);
  known.acquire(300);
  late.acquire(250);
  expect(() => late.assign(7)).toThrow(expect.objectContaining(unavailable));
  expect([budget.held, budget.heldBy(7), budget.heldBy()]).toEqual([550, 300, 250]);
  known.release(100);
  late.assign(7);
  expect([budget.held, budget.heldBy(7), budget.heldBy()]).toEqual([550 - 100, 450, 0]);
  late.close();
  known.close();
  expect([budget.held, budget.heldBy(7)]).toEqual([0, 0]);
});

test("the longer a body is, the less of the budget is open to it: short ones find room beside any others", () => {
  const long = limits.wholeBodyBytesMax;
  const budget = open(64 * long);
  const imports = Array.from({ length: 64 }, () => budget.open());
  expect(imports.filter((lease) => lease.tryAcquire(long + 1)).length).toBe(51);
  const usual = Array.from({ length: 64 }, () => budget.open());
  expect(usual.filter((lease) => lease.tryAcquire(long)).length).toBe(8);
  let shorts = 0;
  while (budget.open(16_000).tryAcquire(16_384)) shorts++;
  expect(shorts).toBeGreaterThan(200);
  expect(budget.held).toBeLessThanOrEqual(budget.bytesMax);
});

test("who holds nothing yet may wait: first come, first served, past those whose project has no room", async () => {
  const budget = open(1600, 800);
  const [holder, unknown] = [budget.open(), budget.open()];
  holder.assign(7);
  holder.acquire(700);
  unknown.acquire(700);
  const first = budget.open();
  first.assign(7);
  const waits = acquireSoon(first, 500);
  const second = budget.open();
  const other = acquireSoon(second, 300);
  expect([await isSettled(waits), await isSettled(other)]).toEqual([false, false]);
  unknown.release(200);
  await other;
  expect(await isSettled(waits)).toBe(false);
  holder.close();
  await waits;
  expect([first.bytes, second.bytes]).toEqual([500, 300]);
});

test("waiting ends with a refusal: after its time, at once when too many wait or it can never fit", async () => {
  const budget = open(1600, 1600, 1);
  const holder = budget.open();
  holder.acquire(1500);
  await expect(acquireSoon(budget.open(), 1500)).rejects.toMatchObject(unavailable);
  const patient = open(1600);
  const all = patient.open();
  all.acquire(1500);
  const waiting = Array.from({ length: uploadLimits.memoryWaitingMax }, () =>
    acquireSoon(patient.open(), 100),
  );
  await expect(acquireSoon(patient.open(), 100)).rejects.toMatchObject(unavailable);
  await expect(acquireSoon(open(1600).open(), 1601)).rejects.toMatchObject(unavailable);
  expect(await isSettled(Promise.race(waiting))).toBe(false);
});

test("workers divide the budget, and each has room for one largest body", () => {
  const largest = (bodyBytesMax: number) => bodyBytesMax + limits.inflatedBytesMax + limits.indexBytesMax;
  const usual = 20_971_520;
  expect(openBodyMemory(usual, 1).bytesMax).toBe(uploadLimits.memoryBytes);
  for (const [bodyBytesMax, workers] of [
    [usual, 1],
    [usual, 2],
    [usual, 16],
    [1_073_741_824, 4],
  ] as const) {
    const budget = openBodyMemory(bodyBytesMax, workers);
    expect(budget.bytesMax).toBeLessThanOrEqual(
      Math.max(uploadLimits.memoryBytes / workers, largest(bodyBytesMax) * uploadLimits.memoryLargestMin),
    );
    expect(budget.open().tryAcquire(largest(bodyBytesMax))).toBe(true);
  }
});

test("a short body is refused by no share, however it is received; one that has grown long is", () => {
  const budget = open(1 << 20, 100_000);
  const others = budget.open();
  others.acquire(100_000);
  const short = budget.open(uploadLimits.shortBytesMax - 1);
  expect(short.tryAcquire(16_000)).toBe(true);
  expect(short.tryAcquire(uploadLimits.shortLeaseBytesMax)).toBe(false);
  expect(budget.open(uploadLimits.shortBytesMax).tryAcquire(10)).toBe(false);
  expect(budget.open().tryAcquire(10)).toBe(false);
});

test("a claim acquires nothing, refuses nobody and makes other long bodies wait", async () => {
  const mega = 1 << 20;
  const budget = open(64 * mega, 64 * mega);
  const one = budget.open();
  one.acquire(2 * mega);
  await one.claim(40 * mega);
  expect([budget.held, one.claimed]).toEqual([2 * mega, 40 * mega]);
  const usual = budget.open();
  expect(usual.tryAcquire(mega)).toBe(true);
  const other = budget.open();
  const claiming = other.claim(30 * mega);
  expect(await isSettled(claiming)).toBe(false);
  one.acquire(40 * mega);
  expect(one.claimed).toBe(0);
  expect(await isSettled(claiming)).toBe(false);
  one.close();
  await claiming;
  expect(budget.held).toBe(mega);
});

test("whoever waits goes on when another's claim ends, in order, and once in a turn", async () => {
  const mega = 1 << 20;
  const budget = open(64 * mega);
  const [one, first, second] = [budget.open(), budget.open(), budget.open()];
  await one.claim(50 * mega);
  let attempts = 0;
  const claims = [first, second].map((lease) => lease.claim(30 * mega));
  const trying = budget.open().waitFor(1, () => ++attempts > 2);
  one.unclaim();
  for (let i = 0; i < 10; i++) budget.retry();
  await claims[0];
  expect([first.claimed, second.claimed, attempts]).toEqual([30 * mega, 0, 2]);
  first.unclaim();
  await Promise.all([claims[1], trying]);
  expect([first.claimed, second.claimed, attempts]).toEqual([0, 30 * mega, 3]);
});

test("so many bodies of one owner wait at most, and those of others beside them", async () => {
  const budget = open(1600, 1600, 5);
  const never = () => false;
  const ownedBy = (owner: number) => {
    const lease = budget.open();
    lease.assign(owner);
    return lease.waitFor(1, never);
  };
  const all = Array.from({ length: uploadLimits.memoryWaitingMax }, () => ownedBy(1));
  await expect(ownedBy(1)).rejects.toMatchObject(unavailable);
  const other = ownedBy(2);
  expect(await isSettled(other)).toBe(false);
  const ends = await Promise.allSettled([...all, other]);
  expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(["rejected"]));
});

test("of bodies that are received unseen the announced lengths are bounded, short ones apart from longer ones", () => {
  const budget = open(uploadLimits.memoryBytes);
  const countOf = (announced: number) => {
    let count = 0;
    while (budget.acquireUnseen(announced)) count++;
    return count;
  };
  const mega = 1 << 20;
  expect(countOf(mega)).toBe(15);
  // Each counts what it weighs at least, or thousands could announce one byte.
  expect(countOf(1)).toBe(Math.floor(uploadLimits.unseenBytesMax / (uploadLimits.openUploadBytes + 1)));
  budget.releaseUnseen(mega);
  expect([budget.acquireUnseen(1), budget.acquireUnseen(mega)]).toEqual([false, true]);
  expect(budget.held).toBe(0);
});
