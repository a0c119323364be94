// How large counted repetitions make a pattern.

import { expect, test } from "bun:test";
import { countSteps } from "../../../src/storage/events/pattern_steps.ts";

test.each([
  ["abc", 3],
  ["a{3}b", 4],
  ["(ab){5}", 10],
  ["((a{2}){3}){4}", 24],
  ["[abc]{2,7}x", 8],
  ["\\{3}", 3],
  ["[]}]{4}", 4],
  ["(a|b)*c+", 6],
  ["a{", 2],
])("%s has %i steps", (pattern, steps) => {
  expect(countSteps(pattern)).toBe(steps);
});
