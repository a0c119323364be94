import { expect, test } from "bun:test";
import { uploadLimits } from "../../../src/work/bodies/limits.ts";
import { WaitingBodies } from "../../../src/work/bodies/waiting_bodies.ts";

test("waiters try again in order when memory is released, and once in a turn", async () => {
  const waiting = new WaitingBodies(60_000);
  let free = 1;
  let attempts = 0;
  const attempt = () => {
    attempts++;
    return free-- > 0;
  };
  const first = waiting.enter(1, attempt);
  const second = waiting.enter(2, attempt);
  expect(waiting.line.all.size).toBe(2);
  for (let i = 0; i < 10; i++) waiting.released();
  expect(await first).toBe(true);
  expect([attempts, waiting.line.all.size]).toEqual([2, 1]);
  free = 1;
  waiting.released();
  expect([await second, waiting.line.all.size]).toEqual([true, 0]);
});

test("so many bodies of one owner wait at most, and those of others beside them", async () => {
  const waiting = new WaitingBodies(5);
  const never = () => false;
  const all = Array.from({ length: uploadLimits.memoryWaitingMax }, () => waiting.enter(1, never));
  expect(await waiting.enter(1, never)).toBe(false);
  expect(waiting.line.all.size).toBe(uploadLimits.memoryWaitingMax);
  const other = waiting.enter(2, never);
  expect(waiting.line.all.size).toBe(uploadLimits.memoryWaitingMax + 1);
  expect(new Set(await Promise.all([...all, other]))).toEqual(new Set([false]));
  expect(waiting.line.all.size).toBe(0);
});
