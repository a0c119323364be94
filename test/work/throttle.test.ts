import { expect, test } from "bun:test";
import { openThrottle } from "../../src/work/throttle.ts";

test("a crowd goes one at a time, in its order, and others get their turn in between", async () => {
  const pace = openThrottle(1);
  const seen: string[] = [];
  const crowd = [1, 2, 3].map(async (i) => {
    await pace();
    seen.push(`in ${i}`);
    setImmediate(() => seen.push(`other ${i}`));
  });
  await Promise.all(crowd);
  expect(seen).toEqual(["in 1", "other 1", "in 2", "other 2", "in 3"]);
});
