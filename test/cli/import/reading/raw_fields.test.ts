import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  fieldId,
  fieldText,
  objectField,
  parseRawFields,
  writeRawFields,
} from "../../../../src/cli/import/reading/raw_fields.ts";

describe("members", () => {
  test("are the ones JSON.parse finds, whatever the spacing", () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(object, fc.constantFrom("", " ", "\n\t"), (value, space) => {
        const members = parseRawFields(JSON.stringify(value, null, space));
        const read = Object.fromEntries(
          [...members].map(([name, raw]) => [name, JSON.parse(raw) as unknown]),
        );
        expect(read).toEqual(JSON.parse(JSON.stringify(value)));
        expect(JSON.parse(writeRawFields(members))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test("keep their values as written", () => {
    const members = parseRawFields(
      '{ "a" : 1.0 , "\\u0062":12345678901234567890,"c":{ "x": [1e5, "}" ] } , "d":null }',
    );
    expect([...members]).toEqual([
      ["a", "1.0"],
      ["b", "12345678901234567890"],
      ["c", '{ "x": [1e5, "}" ] }'],
      ["d", "null"],
    ]);
  });

  test("of the same name leave the last one", () => {
    expect(writeRawFields(parseRawFields('{"a":1,"b":2,"a":3}'))).toBe('{"b":2,"a":3}');
  });

  test("are read as texts, ids and objects", () => {
    const members = parseRawFields('{"text":"a\\"b","empty":"","number":12,"none":null,"inside":{"x":1}}');
    expect(fieldText(members, "text")).toBe('a"b');
    expect(fieldText(members, "empty")).toBeUndefined();
    expect(fieldId(members, "number")).toBe("12");
    expect(fieldId(members, "none")).toBeUndefined();
    expect([...objectField(members, "inside")]).toEqual([["x", "1"]]);
    expect(objectField(members, "missing").size).toBe(0);
  });
});
