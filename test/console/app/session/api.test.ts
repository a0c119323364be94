import { expect, test } from "bun:test";
import { parsedJson } from "../../../../src/console/app/session/api.ts";

test("a number that JavaScript would round is its text", () => {
  expect(
    parsedJson('[12345678901234567890, 1234567890123456, "1234567890123456789", 1.1234567890123456789]'),
  ).toEqual(["12345678901234567890", 1234567890123456, "1234567890123456789", 1.1234567890123457]);
});
