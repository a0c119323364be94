import { expect, test } from "bun:test";
import { limits } from "../../../src/core/limits.ts";
import { uploadLimits } from "../../../src/work/bodies/limits.ts";
import { MemoryBudget, type MemoryLease } from "../../../src/work/bodies/memory_budget.ts";

const kilo = 1024;
const overhead = uploadLimits.openUploadBytes;

/** A budget with a clock of its own, and bodies that arrive in it. */
function openBudget(bytesMax: number, shareBytesMax = bytesMax) {
  const clock = { time: 0, elapsed: () => clock.time };
  const budget = new MemoryBudget({ bytesMax, shareBytesMax, clock });
  const ended: string[] = [];
  const arriving = (name: string, bytes: number, owner?: number): MemoryLease => {
    const lease = budget.open();
    if (owner !== undefined) lease.assign(owner);
    lease.beginArrival(() => {
      ended.push(name);
      lease.release(lease.bytes);
    });
    bring(lease, bytes);
    return lease;
  };
  return { clock, budget, ended, arriving };
}

function bring(lease: MemoryLease, bytes: number): void {
  lease.acquire(bytes);
  lease.arrivedBytes += bytes;
}

test("when memory is used up, the body ends that has brought the fewest bytes for its age", () => {
  const { clock, budget, ended, arriving } = openBudget(200 * kilo);
  arriving("60 bytes", 60, 1);
  arriving("50 kB", 50 * kilo, 2);
  clock.time = 3000;
  arriving("younger and faster", 40 * kilo, 3);
  clock.time = 6000;
  const newcomer = budget.open();
  newcomer.assign(4);
  newcomer.acquire(80 * kilo);
  expect(ended).toEqual(["60 bytes"]);
  // It has more than an equal part now, and ends nothing of those that have less.
  expect(newcomer.tryAcquire(5 * kilo)).toBe(false);
  const another = budget.open();
  another.assign(5);
  another.acquire(5 * kilo);
  expect(ended).toEqual(["60 bytes", "50 kB"]);
});

test("no body younger than two seconds is ended, nor one that waits for something of ours", async () => {
  const { clock, budget, ended, arriving } = openBudget(100 * kilo);
  const body = arriving("a body", 60 * kilo);
  clock.time = uploadLimits.endedAgeMsMin - 1;
  expect(budget.open().tryAcquire(50 * kilo)).toBe(false);
  const { promise, resolve } = Promise.withResolvers<void>();
  const pause = body.paused(promise);
  clock.time += 60_000;
  expect(budget.open().tryAcquire(50 * kilo)).toBe(false);
  // The pause does not count as its age.
  resolve();
  await pause;
  expect(budget.open().tryAcquire(50 * kilo)).toBe(false);
  expect(ended).toEqual([]);
  clock.time += uploadLimits.slowOrderMs;
  expect(budget.open().tryAcquire(50 * kilo)).toBe(true);
  expect([ended, budget.held]).toEqual([["a body"], 50 * kilo]);
});

test("bodies without an owner end before all others, then those of owners above their part", () => {
  const { clock, budget, ended, arriving } = openBudget(1000 * kilo);
  arriving("a phone", 20 * kilo, 1);
  arriving("of one that has much", 600 * kilo, 2);
  arriving("of nobody, and fast", 250 * kilo);
  clock.time = 4000;
  const others = budget.open();
  others.assign(3);
  others.acquire(100 * kilo);
  expect(ended).toEqual(["of nobody, and fast"]);
  others.acquire(300 * kilo);
  expect(ended).toEqual(["of nobody, and fast", "of one that has much"]);
});

test("who has no owner ends nobody else's body", () => {
  const { clock, budget, ended, arriving } = openBudget(100 * kilo);
  arriving("a phone", 60 * kilo, 1);
  clock.time = 60_000;
  expect(budget.open().tryAcquire(50 * kilo)).toBe(false);
  expect(ended).toEqual([]);
});

test("a share that is used up ends bodies of its owner alone, and none where that is not enough", () => {
  const { clock, budget, ended, arriving } = openBudget(1000 * kilo, 200 * kilo);
  arriving("another owner's", 10, 2);
  arriving("its own", 100 * kilo, 1);
  const kept = budget.open();
  kept.assign(1);
  kept.acquire(60 * kilo);
  clock.time = 5000;
  const more = budget.open();
  more.assign(1);
  expect(more.tryAcquire(150 * kilo)).toBe(false);
  expect(ended).toEqual([]);
  expect(more.tryAcquire(120 * kilo)).toBe(true);
  expect(ended).toEqual(["its own"]);
});

test("a body that arrives itself ends none that comes faster", () => {
  const { clock, ended, arriving } = openBudget(200 * kilo);
  const slow = arriving("slow", 10 * kilo, 1);
  arriving("fast", 150 * kilo, 1);
  clock.time = 3000;
  expect(slow.tryAcquire(60 * kilo)).toBe(false);
  expect(ended).toEqual([]);
});

test("a phone finishes beside eight thousand bodies that bring nothing, which end in its stead", () => {
  const { clock, budget, ended, arriving } = openBudget(100 * 1024 * kilo, 80 * 1024 * kilo);
  const phone = arriving("phone", 0, 1);
  for (let second = 0; second < 60; second++) {
    bring(phone, 5 * kilo);
    // They come again and again, as fast as they are ended.
    while (budget.arriving.size <= 8000) arriving("attacker", 60);
    const busy = budget.open();
    busy.assign(2);
    if (second > 3) busy.acquire(30 * 1024 * kilo);
    clock.time += 1000;
    busy.close();
  }
  expect(ended.length).toBeGreaterThan(3000);
  expect(ended).not.toContain("phone");
  expect(phone.bytes).toBe(300 * kilo + overhead);
});

test("a body that has a claim is not ended; one whose claim ended is", () => {
  const { clock, budget, ended, arriving } = openBudget(64 * limits.wholeBodyBytesMax);
  const long = limits.wholeBodyBytesMax;
  const lease = arriving("an import", long, 1);
  void lease.claim(20 * long);
  bring(lease, 5 * long);
  clock.time = 4000;
  const other = budget.open();
  other.assign(2);
  expect(other.tryAcquire(50 * long)).toBe(false);
  lease.unclaim();
  clock.time += uploadLimits.slowOrderMs;
  expect(other.tryAcquire(50 * long)).toBe(true);
  expect(ended).toEqual(["an import"]);
});
