// Whose an id is, and which ids are nobody's.

import { expect, test } from "bun:test";
import { isIllegalId, ownPersonId } from "../../src/persons/identity.ts";

test("placeholders are nobody's id", () => {
  for (const one of [
    "",
    "  ",
    "null",
    "NULL".toLowerCase(),
    "Anonymous",
    "'GUEST'",
    '"undefined"',
    "[object Object]",
    "0",
    "NaN",
    "True",
    "$posthog_cookieless",
    "'$posthog_cookieless'",
  ])
    expect([one, isIllegalId(one)]).toEqual([one, true]);
  for (const one of ["NULL", "nan", "user", "00", "anonymous-1"])
    expect([one, isIllegalId(one)]).toEqual([one, false]);
});

test("a person's id is the same everywhere and for ever", () => {
  expect(ownPersonId(1, "user_42")).toMatch(
    /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  expect(ownPersonId(2, "0")).toBe("c5604e00-04a7-5a85-b70d-25b7ef7fbf5a");
});
