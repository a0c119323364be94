import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { CsvReader, splitFields } from "../../../../src/cli/import/reading/csv.ts";
import { chopped, type Found, readAll } from "../reading.ts";

/** A record's text from its fields, quoted where they must be. */
function joinFields(fields: readonly string[], separator: string): string {
  return fields
    .map((field) =>
      /["\r\n]/.test(field) || field.includes(separator) ? `"${field.replaceAll('"', '""')}"` : field,
    )
    .join(separator);
}

function read(text: string, cuts: number[] = [], bytesMax?: number): Found[] {
  return readAll(new CsvReader(",", bytesMax), chopped(Buffer.from(text), cuts));
}

function fieldsOf(found: Found[], separator = ","): (string[] | undefined)[] {
  return found.map((record) => ("text" in record ? splitFields(record.text, separator) : undefined));
}

describe("CSV", () => {
  test("comes back as it was written, wherever the file is cut", () => {
    const field = fc.string({ unit: fc.constantFrom("a", "é", '"', ",", ";", "\n", "\r", " ") });
    // A row of one empty field is an empty line, which is no record.
    const row = fc.array(field, { minLength: 2, maxLength: 4 }).filter((fields) => fields.at(-1) !== "\r");
    fc.assert(
      fc.property(fc.array(row), fc.constantFrom("\n", "\r\n"), fc.array(fc.nat()), (rows, end, cuts) => {
        const text = rows.map((fields) => joinFields(fields, ",") + end).join("");
        expect(fieldsOf(read(text, cuts))).toEqual(rows);
      }),
    );
  });

  test("names the line a record begins on", () => {
    expect(read('a,"x\ny"\n\nb,c').map((record) => record.line)).toEqual([1, 4]);
  });

  test("takes a quote inside a plain field for a character", () => {
    expect(fieldsOf(read('5" pipe,x\nb,c\n'))).toEqual([
      ['5" pipe', "x"],
      ["b", "c"],
    ]);
  });

  test("does not take what follows a closing quote", () => {
    expect(fieldsOf(read('"a"b,c\n'))).toEqual([undefined]);
  });

  test("tells of a quote that is never closed and of a record that is too long", () => {
    expect(read('a,"b\nc')).toEqual([{ line: 1, flaw: "the file ends inside a quoted field" }]);
    for (const cuts of [[], [4], [3, 6, 9]]) {
      expect(read("aaaaaaaaaaaa,b\nc,d\n", cuts, 5)).toEqual([
        { line: 1, flaw: "14 bytes long; a record may have 5" },
        { line: 2, text: "c,d" },
      ]);
    }
  });

  test("is read with other separators", () => {
    expect(splitFields('a;"b;c";', ";")).toEqual(["a", "b;c", ""]);
    expect(splitFields("a\t\tb", "\t")).toEqual(["a", "", "b"]);
  });
});
