// The cursor over checked JSON against JSON.parse: whole, and stopped at every byte; into containers and past them.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { toBytes } from "../../../src/core/bytes.ts";
import { JsonCursor, pastValue } from "../../../src/core/json/json_cursor.ts";

type Json = ReturnType<typeof JSON.parse>;

/** What a cursor reads that stops every `step` bytes; undefined for never. */
function read(text: string, step?: number): Json {
  const bytes = toBytes(text);
  const raw = (from: number, to: number) => new TextDecoder().decode(bytes.subarray(from, to));
  const isArray = text[0] === "[";
  const cursor = new JsonCursor(bytes, 0);
  const pairs: [string, Json][] = [];
  for (let goal = step ?? bytes.length; !cursor.ended;) {
    if (cursor.next(goal)) {
      const name = isArray ? String(pairs.length) : JSON.parse(raw(cursor.key - 1, cursor.keyEnd + 1));
      pairs.push([name, JSON.parse(raw(cursor.value, cursor.end))]);
    } else goal = Math.min(bytes.length, goal + (step ?? 0));
  }
  expect(cursor.at).toBe(bytes.length);
  return isArray ? pairs.map(([, value]) => value) : Object.fromEntries(pairs);
}

const container = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }),
  fc.array(fc.jsonValue()),
);

test("members and items are those of JSON.parse, wherever the cursor stops", () => {
  fc.assert(
    fc.property(
      container,
      fc.constantFrom(undefined, 1, "\t"),
      fc.integer({ min: 1, max: 9 }),
      (value, space, step) => {
        const text = JSON.stringify(value, null, space);
        expect(read(text)).toEqual(JSON.parse(text));
        expect(read(text, step)).toEqual(JSON.parse(text));
      },
    ),
    { numRuns: 500, seed: 3 },
  );
});

describe("a cursor", () => {
  const text = `{"a" : [ 1 , {"b":"]\\"}"} ] , "c":{}, "d":-1.5e3}`;
  const bytes = toBytes(text);

  test("goes into a container, and on behind it", () => {
    const cursor = new JsonCursor(bytes, 0);
    expect(cursor.seek()).toBe(true);
    cursor.enter();
    expect([cursor.next(), cursor.next(), cursor.next(), cursor.ended]).toEqual([true, true, false, true]);
    expect(text.slice(cursor.value, cursor.end)).toBe(`{"b":"]\\"}"}`);
    cursor.leave(false);
    expect([cursor.next(), text.slice(cursor.key, cursor.end)]).toEqual([true, `c":{}`]);
    expect([cursor.next(), text.slice(cursor.key, cursor.end)]).toEqual([true, `d":-1.5e3`]);
    expect([cursor.next(), cursor.ended, cursor.at]).toEqual([false, true, bytes.length]);
  });

  test("passes a value whose end is known without a look at it", () => {
    const cursor = new JsonCursor(bytes, 0);
    cursor.seek();
    cursor.jump(text.indexOf(' , "c"'));
    expect(cursor.next()).toBe(true);
    expect(text.slice(cursor.key, cursor.keyEnd)).toBe("c");
  });

  test("is opened anew for the next object, in the middle of another, too", () => {
    const cursor = new JsonCursor(bytes, 0);
    cursor.next(7);
    cursor.open(toBytes(`{"z":"x"}`), 0);
    expect([cursor.next(), cursor.key, cursor.value, cursor.end]).toEqual([true, 2, 5, 8]);
  });

  test("stops at the end of bytes that are cut", () => {
    const cursor = new JsonCursor(toBytes(`{"a":"b`), 0);
    expect([cursor.next(), cursor.ended, cursor.next()]).toEqual([false, false, false]);
  });
});

test("a value is passed whole, whatever it is", () => {
  for (const value of [`"a\\"b"`, "12", "null", "[]", `{"a":[1,"]"]}`, "[[[0]]]"]) {
    const bytes = toBytes(`[${value},1]`);
    expect(pastValue(bytes, 1)).toBe(1 + value.length);
  }
});

test("a value is passed in chunks of any length, escapes and all", () => {
  for (const value of [`"a\\\\\\"]b"`, `[{"b\\"":"]\\\\"},[ ]]`, "-1.5e3", `{"k":{}}`, `"é😀"`]) {
    const bytes = toBytes(`${value},"next"`);
    const length = toBytes(value).length;
    for (let size = 1; size <= bytes.length; size++) {
      const cursor = new JsonCursor();
      let from = 0;
      cursor.openValue(bytes.subarray(0, size), 0);
      while (!cursor.skip()) cursor.follow(bytes.subarray((from += size), from + size));
      expect([value, size, from + cursor.end]).toEqual([value, size, length]);
    }
  }
});
