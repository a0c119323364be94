import { expect, test } from "bun:test";
import fc from "fast-check";
import Type from "typebox";
import { Fault } from "../../../src/core/fault.ts";
import { limits } from "../../../src/core/limits.ts";
import {
  choice,
  exactText,
  flag,
  integer,
  line,
  moment,
  nullable,
  readOnly,
  reference,
  strictModel,
  strictWritable,
  text,
  timezone,
  unsupported,
  uuid,
  writable,
} from "../../../src/http/fields/field.ts";
import { checkFields } from "../../../src/http/fields/field_check.ts";
import { missingReference } from "../../../src/http/fields/field_fault.ts";

const model = Type.Object({
  id: readOnly(integer()),
  text: text({ maxLength: 8 }),
  blank: text({ blank: true, default: "" }),
  flag: flag({ default: false }),
  maybe: nullable(flag(), { default: null }),
  count: integer({ minimum: 1, default: 1 }),
  ratio: Type.Number({ default: 0, maximum: 1 }),
  at: nullable(moment(), { default: null }),
  uuid: nullable(uuid(), { default: null }),
  zone: timezone({ default: "UTC" }),
  kind: choice(["email", "slack"], { default: "email" }),
  days: nullable(Type.Array(choice(["monday", "sunday"]), { minItems: 1, maxItems: 2 }), { default: null }),
  insight: nullable(reference(), { default: null }),
  target: Type.Object({ type: text(), config: Type.Record(Type.String(), Type.Unknown()) }, { default: {} }),
  free: Type.Unknown({ default: null }),
});
const body = writable(model);

interface Refused {
  code: string;
  detail: string;
  attr: string | null;
}

function refusal(
  value: unknown,
  check: (value: unknown) => unknown = (one) => checkFields(body, one),
): Refused {
  try {
    check(value);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return { code: thrown.code, detail: thrown.detail, attr: thrown.attr };
  }
  throw new Error(`${JSON.stringify(value)} was taken`);
}

/** One field of a request that changes something. */
const given = (name: string, value: unknown): unknown =>
  Object(checkFields(body, { [name]: value }, "change"))[name];
const refused = (name: string, value: unknown): Refused =>
  refusal({ [name]: value }, (one) => checkFields(body, one, "change"));

const wrongTime =
  "Datetime has wrong format. Use one of these formats instead: " +
  "YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].";

const taken: [field: string, given: unknown, becomes: unknown][] = [
  ["text", "  a b\t", "a b"],
  ["text", 5, "5"],
  ["text", 1.5, "1.5"],
  ["text", "😀😀😀😀😀😀😀😀", "😀😀😀😀😀😀😀😀"],
  ["blank", "  ", ""],
  ["count", "2", 2],
  ["count", 2.0, 2],
  ["count", "2.00 ", 2],
  ["count", " +1_000", 1000],
  ["ratio", "0.5", 0.5],
  ["at", "2022-01-01T00:00", "2022-01-01T00:00:00Z"],
  ["at", "2022-01-01 10:00:00.123+02:00", "2022-01-01T08:00:00.123000Z"],
  ["at", "2022-01-01T00:30:00-05", "2022-01-01T05:30:00Z"],
  ["at", "2022-12-31T23:30:00.000000-0100", "2023-01-01T00:30:00Z"],
  ["at", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"],
  ["at", null, null],
  ["uuid", "0190163D-8694-739B-AEA5-966C26F8AD91", "0190163d-8694-739b-aea5-966c26f8ad91"],
  ["uuid", "{0190163d8694739baea5966c26f8ad91}", "0190163d-8694-739b-aea5-966c26f8ad91"],
  ["zone", "Europe/Paris", "Europe/Paris"],
  ["kind", "slack", "slack"],
  ["days", ["sunday"], ["sunday"]],
  ["insight", "7", 7],
  ["maybe", "", null],
  ["maybe", "null", null],
  ["target", { type: "S3", config: { a: [1] }, other: 1 }, { type: "S3", config: { a: [1] } }],
  ["free", null, null],
  ["free", [{ a: 1 }], [{ a: 1 }]],
];

test.each(taken)("%s takes %j as %j", (field, value, becomes) => {
  expect(given(field, value)).toEqual(becomes);
});

test("flags take every word that means yes or no", () => {
  for (const value of [
    true,
    1,
    "1",
    "t",
    "T",
    "y",
    "Y",
    "yes",
    "Yes",
    "YES",
    "true",
    "True",
    "TRUE",
    "on",
    "On",
  ]) {
    expect(given("flag", value)).toBe(true);
  }
  for (const value of [
    false,
    0,
    "0",
    "f",
    "F",
    "n",
    "N",
    "no",
    "No",
    "NO",
    "false",
    "False",
    "FALSE",
    "off",
  ]) {
    expect(given("flag", value)).toBe(false);
  }
});

const wrong: [field: string, value: unknown, code: string, detail: string, attr?: string][] = [
  ["text", null, "null", "This field may not be null."],
  ["text", " \n", "blank", "This field may not be blank."],
  ["text", "123456789", "max_length", "Ensure this field has no more than 8 characters."],
  ["text", true, "invalid_input", "Not a valid string."],
  ["text", ["a"], "invalid_input", "Not a valid string."],
  ["text", {}, "invalid_input", "Not a valid string."],
  ["text", "a\0", "null_characters_not_allowed", "Null characters are not allowed."],
  ["text", "a\ud800", "surrogate_characters_not_allowed", "Surrogate characters are not allowed: U+D800."],
  ["count", "abc", "invalid_input", "A valid integer is required."],
  ["count", "", "invalid_input", "A valid integer is required."],
  ["count", 1.5, "invalid_input", "A valid integer is required."],
  ["count", true, "invalid_input", "A valid integer is required."],
  ["count", "1".repeat(1001), "max_string_length", "String value too large."],
  ["count", 0, "min_value", "Ensure this value is greater than or equal to 1."],
  ["count", 2 ** 31, "max_value", "Ensure this value is less than or equal to 2147483647."],
  ["count", 1e300, "max_value", "Ensure this value is less than or equal to 2147483647."],
  ["ratio", "x", "invalid_input", "A valid number is required."],
  ["ratio", 2, "max_value", "Ensure this value is less than or equal to 1."],
  ["flag", "", "invalid_input", "Must be a valid boolean."],
  ["flag", 2, "invalid_input", "Must be a valid boolean."],
  ["flag", "tRUE", "invalid_input", "Must be a valid boolean."],
  ["at", "2022-01-01", "invalid_input", wrongTime],
  ["at", "2022-02-30T00:00:00Z", "invalid_input", wrongTime],
  ["at", 1640995200, "invalid_input", wrongTime],
  ["at", "9999-12-31T23:59:59-01:00", "invalid_input", wrongTime],
  ["uuid", "abc", "invalid_input", "“abc” is not a valid UUID."],
  ["uuid", true, "invalid_input", "“True” is not a valid UUID."],
  ["zone", "Europe/Pari", "invalid_choice", '"Europe/Pari" is not a valid choice.'],
  ["zone", "+01:00", "invalid_choice", '"+01:00" is not a valid choice.'],
  ["kind", "sms", "invalid_choice", '"sms" is not a valid choice.'],
  ["kind", "", "invalid_choice", '"" is not a valid choice.'],
  ["kind", ["email"], "invalid_choice", "\"['email']\" is not a valid choice."],
  ["kind", false, "invalid_choice", '"False" is not a valid choice.'],
  ["days", "monday", "not_a_list", 'Expected a list of items but got type "str".'],
  ["days", {}, "not_a_list", 'Expected a list of items but got type "dict".'],
  ["days", [], "empty", "This list may not be empty."],
  ["days", ["monday", "x"], "invalid_choice", '"x" is not a valid choice.', "days__1"],
  ["days", ["monday", null], "null", "This field may not be null.", "days__1"],
  ["days", ["monday", "monday", "monday"], "max_length", "Ensure this field has no more than 2 elements."],
  ["insight", "abc", "incorrect_type", "Incorrect type. Expected pk value, received str."],
  ["insight", true, "incorrect_type", "Incorrect type. Expected pk value, received bool."],
  ["insight", 0, "does_not_exist", 'Invalid pk "0" - object does not exist.'],
  [
    "target",
    5,
    "invalid_input",
    "Invalid data. Expected a dictionary, but got int.",
    "target__non_field_errors",
  ],
  ["target", { type: "", config: {} }, "blank", "This field may not be blank.", "target__type"],
  [
    "target",
    { config: 1.5 },
    "not_a_dict",
    'Expected a dictionary of items but got type "float".',
    "target__config",
  ],
  ["free", { "a\0": 1 }, "null_characters_not_allowed", "Null characters are not allowed."],
];

test.each(wrong)("%s refuses %j with %s", (field, value, code, detail, attr = field) => {
  expect(refused(field, value)).toEqual({ code, detail, attr } as Refused);
});

test("a body that is no object is refused as a whole", () => {
  expect(refusal(null)).toEqual({ code: "null", detail: "No data provided", attr: null });
  for (const [value, kind] of [
    [[], "list"],
    ["a", "str"],
    [1, "int"],
    [1.5, "float"],
    [true, "bool"],
  ] as const) {
    const detail = `Invalid data. Expected a dictionary, but got ${kind}.`;
    expect(refusal(value)).toEqual({ code: "invalid_input", detail, attr: null });
  }
});

test("only what has no default is required, and only to make or to replace a thing", () => {
  const required = { code: "required", detail: "This field is required.", attr: "text" };
  expect(refusal({})).toEqual(required);
  expect(refusal({}, (one) => checkFields(body, one, "replace"))).toEqual(required);
  expect(checkFields(body, {}, "change")).toEqual({});
  expect(checkFields(body, { text: "a" }, "replace")).toEqual({ text: "a" });
  expect(checkFields(body, { text: "a" })).toMatchObject({ text: "a", count: 1, kind: "email", days: null });
});

test("the first mistake in the schema's order is reported, whatever the order of the request", () => {
  expect(refusal({ kind: "x", count: "y", text: "" }).attr).toBe("text");
  expect(refusal({ kind: "x", count: "y", text: "a" }).attr).toBe("count");
});

test("fields that are read-only or unknown are passed over", () => {
  expect(checkFields(body, { id: 5, other: 1, __proto__: { text: "x" }, constructor: 1 }, "change")).toEqual(
    {},
  );
  expect(checkFields(body, JSON.parse('{"__proto__":{"text":"x"}}'), "change")).toEqual({});
});

test("a wrong value is repeated up to its bound", () => {
  expect(refused("kind", "x".repeat(10_000)).detail.length).toBeLessThan(limits.valueShownCharsMax + 40);
});

test("free JSON may be nested, but not for ever", () => {
  let deep: unknown = 1;
  for (let i = 0; i < 10_000; i += 1) deep = [deep];
  expect(refused("free", deep).code).toBe("invalid_input");
});

test("a room says in the same words that a reference leads nowhere", () => {
  const { code, detail, attr } = missingReference("insight", 99);
  expect({ code, detail, attr: attr! }).toEqual({
    code: "does_not_exist",
    detail: 'Invalid pk "99" - object does not exist.',
    attr: "insight",
  });
});

const anything = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(...taken.map((row) => row[1]), ...wrong.map((row) => row[1])),
);
const anyBody = fc.dictionary(fc.constantFrom(...Object.keys(model.properties), "other"), anything);

test("any body is either refused with a fault or becomes what the schema says, and again the same", () => {
  fc.assert(
    fc.property(anyBody, (sent) => {
      let checked: Record<string, unknown>;
      try {
        checked = checkFields(body, sent, "change");
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(Fault);
        return;
      }
      expect(Object.keys(checked).filter((name) => !(name in body.properties))).toEqual([]);
      expect(
        Object.keys(sent)
          .filter((name) => name in body.properties)
          .toSorted(),
      ).toEqual(Object.keys(checked).toSorted());
      expect(checkFields(body, checked, "change")).toEqual(checked);
    }),
    { seed: 3, numRuns: 2000 },
  );
});

test("any moment comes back as the same moment in UTC", () => {
  const minute = { min: -14 * 60, max: 14 * 60 };
  const years = {
    min: new Date("0002-01-01T00:00:00Z"),
    max: new Date("9998-01-01T00:00:00Z"),
    noInvalidDate: true,
  };
  fc.assert(
    fc.property(fc.date(years), fc.integer(minute), (at, ahead) => {
      const local = new Date(at.getTime() + ahead * 60_000).toISOString().slice(0, -1);
      const two = (value: number) => String(value).padStart(2, "0");
      const [hours, minutes] = [Math.trunc(Math.abs(ahead) / 60), Math.abs(ahead) % 60];
      const sent = `${local}${ahead < 0 ? "-" : "+"}${two(hours)}:${two(minutes)}`;
      expect(new Date(given("at", sent) as string).getTime()).toBe(at.getTime());
    }),
    { seed: 3, numRuns: 500 },
  );
});

test("a strict schema refuses a name that it does not have, and names those it has", () => {
  const strict = strictModel("Strict", { name: text(), count: Type.Optional(integer()) });
  expect(checkFields(strict, { name: "a" })).toEqual({ name: "a" });
  const check = (value: unknown) => checkFields(strict, value);
  expect(refusal({ name: "a", nmae: "b" }, check)).toEqual({
    code: "invalid_input",
    detail: '"nmae" is not a field of this request. There are: name, count.',
    attr: "nmae",
  });
  expect(refusal(JSON.parse('{"name":"a","__proto__":1}'), check).attr).toBe("__proto__");
  const nested = Type.Object({ inner: strict });
  expect(refusal({ inner: { name: "a", b: 1 } }, (value) => checkFields(nested, value)).attr).toBe(
    "inner__b",
  );
});

test("an exact text is neither trimmed nor made of a number", () => {
  const schema = Type.Object({ key: exactText({ maxLength: 3 }) });
  expect(checkFields(schema, { key: " a " })).toEqual({ key: " a " });
  const check = (value: unknown) => checkFields(schema, value);
  expect(refusal({ key: "" }, check).code).toBe("blank");
  expect(refusal({ key: 5 }, check).code).toBe("invalid_input");
  expect(refusal({ key: " ab " }, check).code).toBe("max_length");
  expect(refusal({ key: "\0" }, check).code).toBe("null_characters_not_allowed");
});

test("a field that is not supported is left out, empty or as good as empty, and is refused with its reason otherwise", () => {
  const asked = Type.Object({ name: text(), sampling: unsupported("Sampling is not supported.", [1]) });
  for (const sampling of [null, false, "", [], {}, 1]) {
    expect(checkFields(asked, { name: "a", sampling })).toEqual({ name: "a" });
  }
  for (const sampling of [0.5, true, "1", [0], { rate: 1 }]) {
    const { code, detail, attr } = refusal({ name: "a", sampling }, (one) => checkFields(asked, one));
    expect([code, detail, attr]).toEqual(["invalid_input", "Sampling is not supported.", "sampling"]);
  }
});

test("a strict request refuses unknown names; what replies show and the key itself are dropped", () => {
  const strict = strictWritable(Type.Object({ id: readOnly(integer()), text: text() }));
  expect(checkFields(strict, { id: 5, text: "a", personal_api_key: "phx_a" })).toEqual({ text: "a" });
  expect(refusal({ text: "a", txet: "b" }, (one) => checkFields(strict, one))).toEqual({
    code: "invalid_input",
    detail: '"txet" is not a field of this request. There are: text.',
    attr: "txet",
  });
});

test("a line has no breaks, which would begin another header of an e-mail", () => {
  const schema = Type.Object({ title: line({ maxLength: 20 }) });
  for (const title of ["a\r\nBcc: b", "a\nBcc: b", "a\u2028\u2029\vBcc: b\r\n", "\u0085a Bcc: b"]) {
    expect(checkFields(schema, { title })).toEqual({ title: "a Bcc: b" });
  }
  const check = (value: unknown) => checkFields(schema, value);
  expect(refusal({ title: "\r\n" }, check).code).toBe("blank");
  expect(refusal({ title: "a\0" }, check).code).toBe("null_characters_not_allowed");
});
