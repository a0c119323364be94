import { expect, test } from "bun:test";
import fc from "fast-check";
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

test("one person's crowd leaves room in the line for others of the same owner", async () => {
  const permits = new Semaphore(1, 32, 1);
  await permits.enter(0);
  const turnedAway = async (person: string, count: number) => {
    const entering = Array.from({ length: count }, () =>
      permits.enter(1, undefined, { person }).then((leave) => leave ?? "refused"),
    );
    const settled = await Promise.all(
      entering.map((one) => Promise.race([one, Bun.sleep(0).then(() => "waits")])),
    );
    return settled.filter((one) => one === "refused").length;
  };
  expect(await turnedAway("ann", 30)).toBe(30 - 11);
  expect(await turnedAway("bob", 30)).toBe(30 - 4);
  expect(await turnedAway("eve", 1)).toBe(0);
});

test("whatever arrives, no owner or person waits while another has more, and every permit is used", async () => {
  const owner = fc.integer({ min: 1, max: 4 });
  const arrival = fc.record({ owner, person: fc.integer({ min: 1, max: 3 }), spare: fc.constantFrom(0, 1) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(arrival, { minLength: 1, maxLength: 40 }),
      fc.infiniteStream(fc.nat()),
      async (arrivals, picks) => {
        const permits = new Semaphore(4, 100, 1);
        const running: { owner: number; leave: () => void }[] = [];
        let ended = 0;
        for (const { owner, ...more } of arrivals) {
          void permits.enter(owner, undefined, more).then((leave) => running.push({ owner, leave: leave! }));
        }
        while (ended < arrivals.length) {
          await Bun.sleep(0);
          expect(running.length).toBeGreaterThan(0);
          expect(running.length).toBeLessThanOrEqual(4);
          // Another owner always finds a permit.
          for (const { owner } of running) {
            expect(running.filter((one) => one.owner === owner).length).toBeLessThanOrEqual(2);
          }
          const [ending] = running.splice(Number(picks.next().value) % running.length, 1);
          ending!.leave();
          ended++;
        }
      },
    ),
    { numRuns: 50 },
  );
});
