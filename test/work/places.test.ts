import { expect, test } from "bun:test";
import { Places } from "../../src/work/places.ts";

const never = new AbortController().signal;

test("places are given to who waited longest, and too many waiters are turned away", async () => {
  const places = new Places(1, 2);
  const leave = await places.enter(never);
  const order: string[] = [];
  const first = places.enter(never).then((next) => (order.push("first"), next));
  const second = places.enter(never).then((next) => (order.push("second"), next));
  expect(await places.enter(never)).toBeUndefined();
  leave?.();
  // Leaving twice frees one place, not two.
  leave?.();
  (await first)?.();
  (await second)?.();
  expect(order).toEqual(["first", "second"]);
  expect(await places.enter(never)).toBeDefined();
});

test("who stops waiting takes no place", async () => {
  const places = new Places(1, 2);
  const leave = await places.enter(never);
  const abort = new AbortController();
  const waiting = places.enter(abort.signal);
  abort.abort(new Error("left"));
  await expect(waiting).rejects.toThrow("left");
  leave?.();
  expect(await places.enter(never)).toBeDefined();
});
