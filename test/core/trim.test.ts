// Texts made shorter.

import { expect, test } from "bun:test";
import { trimToChars } from "../../src/core/trim.ts";

test.each([
  ["short", 5, "short"],
  ["longer", 5, "long…"],
  ["", 5, ""],
  ["👍👍👍👍👍", 5, "👍👍👍👍👍"],
  ["👍👍👍👍👍👍", 5, "👍👍👍👍…"],
  ["x".repeat(1_000_000), 3, "xx…"],
])("%j is cut to %d characters, never within one: %j", (text, charsMax, cut) => {
  expect(trimToChars(text, charsMax)).toBe(cut);
});
