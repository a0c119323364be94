import { expect, test } from "bun:test";
import { Semaphore } from "../../src/work/semaphore.ts";

test("places are given to who waited longest, and too many waiters are turned away", async () => {
  const places = new Semaphore(1, 2);
  const leave = await places.enter();
  const order: string[] = [];
  const first = places.enter().then((next) => (order.push("first"), next));
  const second = places.enter().then((next) => (order.push("second"), next));
  expect(await places.enter()).toBeUndefined();
  leave?.();
  // Leaving twice frees one place, not two.
  leave?.();
  (await first)?.();
  (await second)?.();
  expect(order).toEqual(["first", "second"]);
  expect(await places.enter()).toBeDefined();
});

test("who stops waiting takes no place", async () => {
  const places = new Semaphore(1, 2);
  const leave = await places.enter();
  const abort = new AbortController();
  const waiting = places.enter("", abort.signal);
  abort.abort(new Error("left"));
  await expect(waiting).rejects.toThrow("left");
  leave?.();
  expect(await places.enter()).toBeDefined();
});

test("an owner's crowd keeps nobody else waiting: another's place comes next, and the line has room for it", async () => {
  const places = new Semaphore(4, 8, 2);
  const order: string[] = [];
  const enter = async (owner: number) => {
    const leave = await places.enter(owner);
    if (leave) order.push(`${owner}`);
    return leave;
  };
  const crowd = Array.from({ length: 20 }, () => enter(1));
  await Bun.sleep(0);
  // Three of four places, and half of the line; the rest is turned away.
  expect(order).toEqual(["1", "1", "1"]);
  const turnedAway = await Promise.all(crowd.slice(7));
  expect(turnedAway.every((leave) => leave === undefined)).toBe(true);
  const second = await enter(2);
  expect(second).toBeDefined();
  const third = enter(3);
  (await crowd[0])?.();
  expect(await third).toBeDefined();
  expect(order).toEqual(["1", "1", "1", "2", "3"]);
});

test("a place that is left goes to whoever may have it, were it behind others in the line", async () => {
  const places = new Semaphore(2, 8, 1);
  const first = await places.enter(1);
  const again = places.enter(1);
  const other = await places.enter(2);
  const third = places.enter(3);
  other?.();
  expect(await third).toBeDefined();
  first?.();
  expect(await again).toBeDefined();
});

test("work runs on a place that is left behind it, and not at all when there is none in time", async () => {
  const places = new Semaphore(1, 1);
  const busy = () => new Error("busy");
  expect(await places.run({ busy }, () => Promise.resolve(1))).toBe(1);
  await expect(places.run({ busy }, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  const leave = await places.enter();
  let ran = false;
  const work = () => Promise.resolve((ran = true));
  await expect(places.run({ msMax: 1, busy }, work)).rejects.toThrow("busy");
  const abort = new AbortController();
  const waiting = places.run({ abort: abort.signal, busy }, work);
  await expect(places.run({ busy }, work)).rejects.toThrow("busy");
  abort.abort(new Error("left"));
  await expect(waiting).rejects.toThrow("busy");
  expect(ran).toBe(false);
  leave?.();
  expect(await places.run({ msMax: 1000, busy }, work)).toBe(true);
});
