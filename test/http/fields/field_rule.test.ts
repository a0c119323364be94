// One value against one rule, where the rule's bounds and Postgres' own are close.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { Fault } from "../../../src/core/fault.ts";
import { limits } from "../../../src/core/limits.ts";
import {
  checkChoice,
  checkEmpty,
  checkFlag,
  checkJson,
  checkMoment,
  checkText,
  checkTimezone,
  checkUuid,
} from "../../../src/http/fields/field_rule.ts";
import { checkInteger, checkNumber, checkReference } from "../../../src/http/fields/number_rule.ts";
import { httpLimits } from "../../../src/http/limits.ts";
import { hostileZones } from "../../support/zones.ts";

const path = ["a", "0"];

/** What the check gives, or the code of its refusal. */
function outcome(check: () => unknown): unknown {
  try {
    return check();
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    expect(thrown.attr).toBe("a__0");
    return { refused: thrown.code };
  }
}

const refused = (code: string) => ({ refused: code });

test("a text is measured in characters, after trimming", () => {
  const short = (value: unknown) => outcome(() => checkText({ minLength: 1, maxLength: 2 }, value, path));
  expect(short(" 😀😀\n")).toBe("😀😀");
  expect(short("😀😀😀")).toEqual(refused("max_length"));
  expect(short(` ${" ".repeat(httpLimits.blanksAroundMax)}ab `)).toBe("ab");
  expect(short(`${" ".repeat(httpLimits.blanksAroundMax + 5)}ab`)).toEqual(refused("max_length"));
  expect(short(" \t")).toEqual(refused("blank"));
  expect(short(12)).toBe("12");
  expect(short(true)).toEqual(refused("invalid_input"));
  expect(outcome(() => checkText({ minLength: 3 }, "😀😀", path))).toEqual(refused("min_length"));
});

test("an exact text keeps its blanks, and no number is one", () => {
  expect(checkText({ "x-exact": true }, " a ", path)).toBe(" a ");
  expect(outcome(() => checkText({ "x-exact": true }, 1, path))).toEqual(refused("invalid_input"));
});

test("what Postgres or UTF-8 cannot hold is refused, at any depth", () => {
  expect(outcome(() => checkText({}, "a\0", path))).toEqual(refused("null_characters_not_allowed"));
  for (const wrong of ["\ud83d", "\udc00a", { "\ud800": 1 }, [{ deep: ["\ud800"] }]]) {
    expect(outcome(() => checkJson(wrong, path))).toEqual(refused("surrogate_characters_not_allowed"));
  }
  expect(outcome(() => checkJson([{ "\0": 1 }], path))).toEqual(refused("null_characters_not_allowed"));
});

test("free JSON is as deep as its readers take, and no deeper", () => {
  const nested = (depth: number) => {
    let value: unknown = 1;
    for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value };
    return value;
  };
  const deepest = nested(limits.jsonDepthMax);
  expect(checkJson(deepest, path)).toBe(deepest);
  expect(outcome(() => checkJson(nested(limits.jsonDepthMax + 1), path))).toEqual(refused("invalid_input"));
});

test("every safe integer is read from a number and from its text, with Python's marks", () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (number) => {
      const marked = String(number).replace(/(\d)(?=\d)/g, "$1_");
      for (const said of [number, `${number}`, ` ${number}.00 `, marked]) {
        expect(checkInteger({}, said, path)).toBe(number);
      }
    }),
  );
  for (const wrong of ["1__0", "_1", "1_", "+_1", "1.5", "1e3", "", ".0", 1.5, true, null, [1]]) {
    expect(outcome(() => checkInteger({}, wrong, path))).toEqual(refused("invalid_input"));
  }
  expect(Object.is(checkInteger({}, "-0", path), 0)).toBe(true);
  expect(outcome(() => checkInteger({}, 2 ** 60, path))).toEqual(refused("max_value"));
  expect(outcome(() => checkInteger({}, "1".repeat(1001), path))).toEqual(refused("max_string_length"));
});

test("bounds are part of what they bound", () => {
  const between = { minimum: 1, maximum: 3 };
  for (const check of [checkInteger, checkNumber]) {
    const all = [0, 1, 3, 4].map((value) => outcome(() => check(between, value, path)));
    expect(all).toEqual([refused("min_value"), 1, 3, refused("max_value")]);
  }
  expect(checkNumber({}, " 1.5e2", path)).toBe(150);
  for (const wrong of ["Infinity", "NaN", "0x", Number.NaN, "", null]) {
    expect(outcome(() => checkNumber({}, wrong, path))).toEqual(refused("invalid_input"));
  }
});

test("a reference out of Postgres' range is one to nothing", () => {
  expect(checkReference("2147483647", path)).toBe(2_147_483_647);
  for (const none of [0, -1, 2_147_483_648]) {
    expect(outcome(() => checkReference(none, path))).toEqual(refused("does_not_exist"));
  }
  for (const wrong of ["a", null, {}, "1".repeat(1001)]) {
    expect(outcome(() => checkReference(wrong, path))).toEqual(refused("incorrect_type"));
  }
});

test("words for yes, no and neither", () => {
  expect(["on", "1", 1, "Y"].map((word) => checkFlag(word, path, false))).toEqual([true, true, true, true]);
  expect(["off", "0", 0, "n"].map((word) => checkFlag(word, path, false))).toEqual(Array(4).fill(false));
  expect(checkFlag("null", path, true)).toBe(null);
  for (const wrong of ["null", 2, {}, "tRUE"]) {
    expect(outcome(() => checkFlag(wrong, path, false))).toEqual(refused("invalid_input"));
  }
});

test("a UUID has one spelling, whichever was sent", () => {
  const uuid = "0188f0a0-0000-7000-8000-00000000000a";
  for (const said of [uuid, uuid.toUpperCase(), `{${uuid}}`, `urn:uuid:${uuid}`, uuid.replaceAll("-", "")]) {
    expect(checkUuid(said, path)).toBe(uuid);
  }
  for (const wrong of [uuid.slice(1), `${uuid}0`, uuid.replace("a", "g"), 1, "-".repeat(65) + uuid]) {
    expect(outcome(() => checkUuid(wrong, path))).toEqual(refused("invalid_input"));
  }
});

test("choices, time zones and moments are those that exist", () => {
  expect(checkChoice([1, "a"], "1", path)).toBe(1);
  expect(outcome(() => checkChoice([1, "a"], "b", path))).toEqual(refused("invalid_choice"));
  expect(checkTimezone("Europe/Berlin", path)).toBe("Europe/Berlin");
  expect(checkTimezone("US/Pacific", path)).toBe("US/Pacific");
  for (const zone of [...hostileZones, null, 1, ["UTC"]])
    expect(outcome(() => checkTimezone(zone, path))).toEqual(refused("invalid_choice"));
  expect(outcome(() => checkTimezone("Europe/Atlantis", path))).toEqual(refused("invalid_choice"));
  expect(Date.parse(checkMoment("2024-02-29T10:00:00+01:00", path))).toBe(Date.UTC(2024, 1, 29, 9));
  for (const wrong of ["2023-02-29T10:00:00Z", "soon", 5, "2024-01-01T00:00:00Z".padEnd(65)]) {
    expect(outcome(() => checkMoment(wrong, path))).toEqual(refused("invalid_input"));
  }
});

test("where only nothing is accepted, empty values and what means the same are", () => {
  for (const empty of [null, {}, [], "", false]) expect(checkEmpty({}, empty, path)).toBeUndefined();
  const also = { "x-also": [true, "all"] };
  for (const same of [true, "all"]) expect(checkEmpty(also, same, path)).toBeUndefined();
  // Beside a true that means nothing, false asks for something.
  expect(outcome(() => checkEmpty(also, false, path))).toEqual(refused("invalid_input"));
  expect(outcome(() => checkEmpty({}, [0], path))).toEqual(refused("invalid_input"));
});
