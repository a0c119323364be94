import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ItemReader } from "../../../../src/cli/import/reading/items.ts";
import { chopped, type Found, readAll } from "../reading.ts";

function read(text: string, cuts: number[] = [], bytesMax?: number): Found[] {
  return readAll(
    new ItemReader({ ...(bytesMax !== undefined && { bytesMax }) }),
    chopped(Buffer.from(text), cuts),
  );
}

function textsOf(found: Found[]): string[] {
  return found.map((item) => ("text" in item ? item.text : `! ${item.flaw}`));
}

describe("items of an array", () => {
  test("come out as they were written, wherever the file is cut", () => {
    const space = fc.constantFrom(undefined, 1, "\t");
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), space, fc.array(fc.nat()), (items, indent, cuts) => {
        const texts = items.map((item) => JSON.stringify(item, null, indent));
        const found = read(`[ ${texts.join("\n,\t")} ]\n`, cuts);
        expect(textsOf(found)).toEqual(texts);
      }),
    );
  });

  // keen/keen-cli#26, jqlang/jq#1067: objects one after the other, as jq prints them; files joined with their marks.
  test("without a list around them come out, too, wherever the file is cut", () => {
    const space = fc.constantFrom(undefined, 1, "\t");
    const objects = fc.array(fc.dictionary(fc.string(), fc.jsonValue()));
    fc.assert(
      fc.property(objects, space, fc.array(fc.nat()), (items, indent, cuts) => {
        const texts = items.map((item) => JSON.stringify(item, null, indent));
        const text = texts.map((one) => `\ufeff${one}\n`).join("");
        expect(textsOf(readAll(new ItemReader({ isBare: true }), chopped(Buffer.from(text), cuts)))).toEqual(
          texts,
        );
      }),
    );
    const cut = readAll(new ItemReader({ isBare: true }), [Buffer.from('{"a":1} {"b":')]);
    expect(textsOf(cut)).toEqual(['{"a":1}', "! the JSON ends too early"]);
  });

  test("inside batch and results come out, and the other members do not", () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue()),
        fc.constantFrom("batch", "results"),
        fc.dictionary(fc.string({ minLength: 8 }), fc.jsonValue()),
        fc.array(fc.nat()),
        (items, list, others, cuts) => {
          const rest = JSON.stringify(others).slice(1, -1);
          const around = (inside: string): string =>
            [rest, inside, '"next":[1,{"x":"]"}]'].filter(Boolean).join(",");
          const text = `{${around(`"${list}" : ${JSON.stringify(items)}`)}}`;
          expect(textsOf(read(text, cuts))).toEqual(items.map((item) => JSON.stringify(item)));
        },
      ),
    );
  });

  test("name the line they begin on", () => {
    expect(read('\n[\n{"a":\n1},\n\n 2]')).toEqual([
      { line: 3, text: '{"a":\n1}' },
      { line: 6, text: "2" },
    ]);
  });

  test("of several documents in one file all come out", () => {
    expect(textsOf(read('[1]\n{"batch":[2]}[3] [] {"results":[]}'))).toEqual(["1", "2", "3"]);
  });

  test("too long are reported, and the next one is read again", () => {
    for (const cuts of [[], [7], [5, 9, 13]]) {
      expect(textsOf(read('["aaaaaaaaaaaa","b"]', cuts, 8))).toEqual([
        "! 14 bytes long; a record may have 8",
        '"b"',
      ]);
    }
  });

  test("end with a flaw where the file does", () => {
    expect(read('[1,\n{"a":')).toEqual([
      { line: 1, text: "1" },
      { line: 2, flaw: "the JSON ends too early" },
    ]);
    expect(textsOf(read("[1"))).toEqual(["! the JSON ends too early"]);
  });

  test("end with a flaw where the structure is lost", () => {
    expect(textsOf(read('[{"a":1]},2]'))).toEqual([
      '{"a":1]',
      '! unexpected "}"; the rest of the file is not read',
    ]);
    expect(textsOf(read('{"events":[1]}'))[0]).toStartWith("! no list of events: expected […]");
    expect(textsOf(read("nonsense"))).toEqual(['! unexpected "n"; the rest of the file is not read']);
  });

  test("are none in an empty file", () => {
    expect(read("")).toEqual([]);
    expect(read(" \n")).toEqual([]);
  });
});
