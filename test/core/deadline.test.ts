import { expect, test } from "bun:test";
import { DeadlineError, withinMs } from "../../src/core/clock.ts";

test("an answer in time is handed on, and so is a failure", async () => {
  expect(await withinMs(Promise.resolve(5), 1000)).toBe(5);
  await expect(withinMs(Promise.reject(new Error("broken")), 1000)).rejects.toThrow("broken");
});

test("work that does not end is given up, with a code", async () => {
  const reason = await withinMs(new Promise(() => {}), 1).catch((thrown: unknown) => thrown);
  expect(reason).toBeInstanceOf(DeadlineError);
  expect(reason).toHaveProperty("code", "TIMEOUT");
});

test("a failure after the deadline disturbs nobody", async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  expect(await withinMs(promise, 1).catch(() => "late")).toBe("late");
  reject(new Error("too late"));
  await Promise.resolve();
});
