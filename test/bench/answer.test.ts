import { expect, test } from "bun:test";
import { interleaved, linesOf, median, verdictOf } from "../../bench/answer.ts";

test("the median is the middle, or the mean of the two in the middle", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 3, 2])).toBe(2.5);
});

test("a ratio reaches its stretch, its goal, or falls short, from above and from below", () => {
  const below = (value: number) => verdictOf({ name: "", value, goal: 1.5, stretch: 1.25 });
  expect([1.25, 1.26, 1.5, 1.51].map(below)).toEqual(["stretch", "pass", "pass", "short"]);
  const above = (value: number) => verdictOf({ name: "", value, goal: 8, stretch: 12, above: true });
  expect([12, 11.9, 8, 7.9].map(above)).toEqual(["stretch", "pass", "pass", "short"]);
  expect(verdictOf({ name: "", value: 7 })).toBe("");
});

test("contestants take turns, and a warm-up is not counted", async () => {
  const order: string[] = [];
  const run = (name: string) => async () => order.push(name);
  const runs = await interleaved({ rounds: 2, bytes: 0, warm: true }, { a: run("a"), b: run("b") });
  expect(order.join("")).toBe("ababab");
  expect(runs).toEqual({ a: [3, 5], b: [4, 6] });
});

test("the table shows figures, goals and verdicts", () => {
  const shown = linesOf({
    question: "What?",
    figures: [
      { name: "one", "MB/s": 1234.5 },
      { name: "other", ms: 0.5 },
    ],
    ratios: [{ name: "one ÷ other", value: 2, goal: 1, stretch: 3, above: true }],
  });
  expect(shown).toContain("What?\n");
  expect(shown).toMatch(/^ {2}one +1,235$/m);
  expect(shown).toMatch(/^ {2}other +0\.50$/m);
  expect(shown).toMatch(/^ {2}one ÷ other +2\.00 +≥ 1 +≥ 3 +pass$/m);
});
