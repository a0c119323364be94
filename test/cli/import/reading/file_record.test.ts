import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { LineReader } from "../../../../src/cli/import/reading/file_record.ts";
import { chopped, readAll } from "../reading.ts";

describe("lines", () => {
  test("are the same however the file is cut", () => {
    const line = fc.string({ unit: fc.constantFrom("a", "é", " ", "\t", "\r") });
    fc.assert(
      fc.property(fc.array(line), fc.boolean(), fc.array(fc.nat()), (lines, ended, cuts) => {
        const text = lines.join("\n") + (ended ? "\n" : "");
        const expected = text
          .split("\n")
          .map((content, at) => ({ line: at + 1, text: content.trim() }))
          .filter((found) => found.text !== "");
        expect(readAll(new LineReader(), chopped(Buffer.from(text), cuts))).toEqual(expected);
      }),
    );
  });

  test("of files that were joined have no byte order marks", () => {
    const text = Buffer.from('\ufeff{"a":1}\n\ufeff{"b":2}\n\ufeff\n');
    expect(readAll(new LineReader(), chopped(text, [1, 2, 11]))).toEqual([
      { line: 1, text: '{"a":1}' },
      { line: 2, text: '{"b":2}' },
    ]);
  });

  test("too long are named by their number, and the next one is read again", () => {
    const text = Buffer.from(`{"a":1}\n${"x".repeat(50)}\n${"y".repeat(8)}\n`);
    for (const cuts of [[], [10], [10, 20, 30, 40], [58]]) {
      expect(readAll(new LineReader(10), chopped(text, cuts))).toEqual([
        { line: 1, text: '{"a":1}' },
        { line: 2, flaw: "50 bytes long; a record may have 10" },
        { line: 3, text: "yyyyyyyy" },
      ]);
    }
  });
});
