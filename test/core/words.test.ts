import { expect, test } from "bun:test";
import { wordsIn } from "../../src/core/words.ts";

test("words stand in their order, however lines are broken", () => {
  expect(wordsIn("\n  one two\n  three\n")).toEqual(["one", "two", "three"]);
});
