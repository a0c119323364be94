import { expect, test } from "bun:test";
import { arrayText } from "../../../src/storage/postgres/postgres.ts";

test("values become what Postgres reads as an array", () => {
  expect(arrayText([])).toBe("{}");
  expect(arrayText([1, -2, 1_700_000_000_000_000])).toBe("{1,-2,1700000000000000}");
  expect(arrayText(["a", "", "NULL", "{,}"])).toBe('{"a","","NULL","{,}"}');
  expect(arrayText(['say "hi"', "back\\slash", '\\"'])).toBe('{"say \\"hi\\"","back\\\\slash","\\\\\\""}');
});
