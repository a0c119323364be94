import { expect, test } from "bun:test";
import { WaitingLine } from "../../src/work/semaphore.ts";

test("those that wait are in order, are counted by owner, and begin when they are admitted", async () => {
  const line = new WaitingLine<number>();
  const { signal } = new AbortController();
  const begun: number[] = [];
  const entering = [1, 2, 3].map((need) => line.enter(need % 2, need, signal).then(() => begun.push(need)));
  expect([[...line.all].map(({ need }) => need), line.countWaiting(1), line.countWaiting(0)]).toEqual([
    [1, 2, 3],
    2,
    1,
  ]);
  const [first, second, third] = line.all;
  line.admit(second!);
  await entering[1];
  expect([begun, line.countWaiting(0), line.all.size]).toEqual([[2], 0, 2]);
  line.admit(first!);
  line.admit(third!);
  line.admit(third!);
  await Promise.all(entering);
  expect([begun, line.countWaiting(1), line.all.size]).toEqual([[2, 1, 3], 0, 0]);
});

test("whoever gives up leaves the line with the signal's reason, and is not admitted any more", async () => {
  const line = new WaitingLine();
  const abort = new AbortController();
  const gone = new Error("gone");
  const entering = line.enter("a", undefined, abort.signal);
  const [waiting] = line.all;
  abort.abort(gone);
  await expect(entering).rejects.toBe(gone);
  line.admit(waiting!);
  expect([line.countWaiting("a"), line.all.size]).toEqual([0, 0]);
  await expect(line.enter("a", undefined, abort.signal)).rejects.toBe(gone);
  expect(line.all.size).toBe(0);
});
