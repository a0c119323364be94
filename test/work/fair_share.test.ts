import { expect, test } from "bun:test";
import { FairShare } from "../../src/work/fair_share.ts";

const waitingOf = (owner: number, count: number, weight = 1) =>
  Array.from({ length: count }, (_, i) => ({ owner, weight, i }));

const countBy = (taken: { owner: number }[]) =>
  Object.fromEntries(
    [...new Set(taken.map(({ owner }) => owner))].map((owner) => [
      owner,
      taken.filter((one) => one.owner === owner).length,
    ]),
  );

test("one owner never has all places, however many of it wait", () => {
  const share = new FairShare(6, 1);
  expect(countBy(share.acquireFor(waitingOf(1, 100)))).toEqual({ 1: 3 });
  expect(countBy(share.acquireFor(waitingOf(2, 100)))).toEqual({ 2: 2 });
  expect(countBy(share.acquireFor(waitingOf(3, 100)))).toEqual({ 3: 1 });
  expect(share.free).toBe(0);
});

test("owners that wait together have as many places each", () => {
  const share = new FairShare(6, 1);
  const all = [...waitingOf(1, 100), ...waitingOf(2, 3), ...waitingOf(3, 1)];
  expect(countBy(share.acquireFor(all))).toEqual({ 1: 2, 2: 2, 3: 1 });
});

test("without a share one owner may have all, and still gives way to one that waits", () => {
  const share = new FairShare(4);
  expect(share.acquireFor(waitingOf(1, 10))).toHaveLength(4);
  share.leave(1);
  expect(share.next([...waitingOf(1, 10), ...waitingOf(2, 1)])?.owner).toBe(2);
});

test("of two with as many places the one that was served longer ago comes first", () => {
  const share = new FairShare(1);
  const both = [...waitingOf(1, 10), ...waitingOf(2, 10)];
  const order = Array.from({ length: 6 }, () => {
    const owner = share.next(both)!.owner;
    share.acquire(owner);
    share.leave(owner);
    return owner;
  });
  expect(order).toEqual([1, 2, 1, 2, 1, 2]);
});

test("what weighs more is held back earlier, so that places are left for the rest of its owner's", () => {
  const share = new FairShare(6, 1);
  expect(share.acquireFor(waitingOf(1, 10, 2))).toHaveLength(2);
  expect(share.acquireFor(waitingOf(1, 10))).toHaveLength(1);
});

test("a place that is given back is there for the next", () => {
  const share = new FairShare(2, 1);
  expect(share.acquireFor(waitingOf(1, 5))).toHaveLength(1);
  expect(share.mayTake(1)).toBe(false);
  share.leave(1);
  expect(share.heldBy(1)).toBe(0);
  expect(share.mayTake(1)).toBe(true);
});
