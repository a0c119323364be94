import { expect, test } from "bun:test";
import { nextTurn, yieldToEventLoop } from "../../src/core/clock.ts";

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
