import { expect, test } from "bun:test";
import {
  nextTurn,
  type Polled,
  PolledSet,
  runAtOnce,
  runInTurns,
  type Slices,
  yieldToEventLoop,
} from "../../src/core/clock.ts";
import { countTurns } from "../support/turns.ts";

test("of many that work off something long, one goes on in a turn of the loop", async () => {
  let turn = 0;
  let over = false;
  const count = (): void => {
    turn++;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  const went = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      await yieldToEventLoop();
      const first = turn;
      await yieldToEventLoop();
      return { i, first, second: turn };
    }),
  );
  over = true;
  const turns = went.flatMap(({ first, second }) => [first, second]);
  expect(new Set(turns).size).toBe(80);
  // In the order in which they came.
  expect(went.toSorted((a, b) => a.first - b.first).map(({ i }) => i)).toEqual(went.map(({ i }) => i));
});

test("a long queue is served in order, to its end", async () => {
  const order: number[] = [];
  await Promise.all(
    Array.from({ length: 3000 }, async (_, i) => {
      await yieldToEventLoop();
      order.push(i);
    }),
  );
  expect(order).toEqual(Array.from({ length: 3000 }, (_, i) => i));
});

test("whoever asks for the next turn goes on before all that work off something long", async () => {
  const order: string[] = [];
  const long = Array.from({ length: 20 }, async (_, i) => {
    await yieldToEventLoop();
    order.push(`slice ${i}`);
  });
  await nextTurn();
  order.push("next turn");
  await Promise.all(long);
  expect(order.indexOf("next turn")).toBeLessThanOrEqual(1);
});

test("members of a set are polled until none is left, and few act in one tick", async () => {
  const set = new PolledSet(1, 2);
  const acted: number[] = [];
  let ticks = 0;
  const member = (number: number): Polled => ({
    poll: (mayAct) => {
      if (number === 0) ticks++;
      if (mayAct) acted.push(number);
      return mayAct && set.delete(members[number]!);
    },
  });
  const members = [0, 1, 2, 3, 4].map(member);
  const polled = async () => {
    for (const one of members) set.add(one);
    while (acted.length < 5) await Bun.sleep(1);
    return [acted.splice(0), ticks];
  };
  expect(await polled()).toEqual([[0, 1, 2, 3, 4], 1]);
  expect(set.delete(members[0]!)).toBe(false);
  // Its timer has ended, and begins anew.
  expect(await polled()).toEqual([[0, 1, 2, 3, 4], 2]);
});

test("work in slices gives others a turn after its first slice, and after so many more", async () => {
  function* counting(): Slices<string> {
    for (let slice = 0; slice < 6; slice++) yield;
    return "made";
  }
  expect(runAtOnce(counting())).toBe("made");
  const turns = (turnSlices: number) =>
    countTurns(async () => expect(await runInTurns(counting(), turnSlices)).toBe("made"));
  expect(await turns(1)).toBeGreaterThanOrEqual(6);
  expect(await turns(4)).toBeLessThan(await turns(1));
});
