import { expect, test } from "bun:test";
import fc from "fast-check";
import { accessLimits } from "../../src/access/limits.ts";
import { openRateLimit } from "../../src/access/rate.ts";
import { Fault } from "../../src/core/fault.ts";

function openHeld(limit: number) {
  const clock = { time: 0, now: () => clock.time, elapsed: () => clock.time };
  const rate = openRateLimit(limit, clock);
  const take = (id = "a"): number | Fault => {
    try {
      return rate.count(id).remaining;
    } catch (thrown) {
      if (thrown instanceof Fault) return thrown;
      throw thrown;
    }
  };
  return { clock, rate, take };
}

test("each key may make as many requests as its budget allows", () => {
  const { take } = openHeld(2);
  expect([take(), take()]).toEqual([1, 0]);
  expect(take()).toMatchObject({ code: "throttled" });
  expect(take("b")).toBe(1);
});

test("the refusal says when to come back, and coming back then works", () => {
  const { clock, take } = openHeld(1);
  take();
  clock.time = 17_500;
  expect(take()).toMatchObject({
    detail: "Request was throttled. Expected available in 43 seconds.",
    retryAfterSeconds: 43,
  });
  clock.time = 59_500;
  expect(take()).toMatchObject({ detail: "Request was throttled. Expected available in 1 second." });
  clock.time = 60_000;
  expect(take()).toBe(0);
});

test("looking takes nothing", () => {
  const { rate, take } = openHeld(2);
  expect(rate.read("a")).toEqual({ limit: 2, remaining: 2, resetSeconds: 0 });
  take();
  expect([rate.read("a"), rate.read("a")]).toEqual(
    Array(2).fill({ limit: 2, remaining: 1, resetSeconds: 60 }),
  );
});

test("keys that are silent for a window are forgotten", () => {
  const { clock, rate, take } = openHeld(5);
  for (let i = 0; i < 1000; i += 1) take(`key ${i}`);
  expect(rate.keysCount()).toBe(1000);
  clock.time = accessLimits.rateWindowMs;
  take();
  expect(rate.keysCount()).toBe(1);
});

test("in no window of 60 seconds are more requests let in than the budget, and none is refused without need", () => {
  const steps = fc.array(fc.integer({ min: 0, max: 9000 }), { maxLength: 300 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), steps, (limit, gaps) => {
      const { clock, take } = openHeld(limit);
      const admitted: number[] = [];
      for (const gap of gaps) {
        clock.time += gap;
        const inWindow = admitted.filter((at) => at > clock.time - accessLimits.rateWindowMs).length;
        const wasLetIn = typeof take() === "number";
        expect(wasLetIn).toBe(inWindow < limit);
        if (wasLetIn) admitted.push(clock.time);
      }
    }),
    { seed: 5, numRuns: 100 },
  );
});
