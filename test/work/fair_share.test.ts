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

test("the people of one owner take turns, and do not count for other owners", () => {
  const share = new FairShare(2);
  const waiting = [
    ...Array.from({ length: 5 }, (_, i) => ({ owner: 1, person: "ann", i })),
    ...Array.from({ length: 2 }, (_, i) => ({ owner: 1, person: "bob", i })),
    { owner: 2, person: "ann", i: 0 },
  ];
  const order: string[] = [];
  for (let next = share.next(waiting); next; next = share.next(waiting)) {
    waiting.splice(waiting.indexOf(next), 1);
    share.acquire(next.owner, next.person);
    order.push(`${next.owner} ${next.person}`);
    share.leave(next.owner, next.person);
  }
  expect(order.slice(0, 4)).toEqual(["1 ann", "2 ann", "1 bob", "1 ann"]);
  expect(order.slice(4)).toEqual(["1 bob", "1 ann", "1 ann", "1 ann"]);
});

test("who leaves permits spare gets none of the last ones, which others may still have", () => {
  const share = new FairShare(3);
  const heavy = Array.from({ length: 5 }, (_, i) => ({ owner: i, spare: 1 }));
  expect(share.acquireFor(heavy)).toHaveLength(2);
  expect(share.next([{ owner: 7, spare: 1 }, { owner: 8 }])?.owner).toBe(8);
});
