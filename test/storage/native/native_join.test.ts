// Joined blocks have the rows of the blocks, in their order.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { columnOffsets } from "../../../src/storage/native/column_offsets.ts";
import {
  ByteColumn,
  Dictionary,
  writeBlockHead,
  writeColumnHead,
} from "../../../src/storage/native/native.ts";
import { ArrayOffsets, writeLowCardinalityArrays } from "../../../src/storage/native/native_arrays.ts";
import { BlockJoiner } from "../../../src/storage/native/native_join.ts";
import { readBlocks, readRows } from "../../support/native_rows.ts";

interface Row {
  id: number;
  text: string;
  maybe: string | null;
  name: string;
  ops: number[];
  texts: string[];
  names: string[];
}

const text = fc.string({ maxLength: 200 });
const row: fc.Arbitrary<Row> = fc.record({
  id: fc.nat({ max: 2 ** 32 - 1 }),
  text,
  maybe: fc.option(text),
  name: fc.oneof(fc.constantFrom("a", "b"), text),
  ops: fc.array(fc.nat({ max: 127 })),
  texts: fc.array(text),
  names: fc.array(fc.oneof(fc.constantFrom("a", "b"), text), { maxLength: 4 }),
});
type Name = keyof Row;
const always: readonly Name[] = ["id", "text", "maybe", "name"];

/** A block with a column of each type that ours have; of numbers and arrays those that are named. */
function encodeBlock(rows: readonly Row[], names: readonly Name[]): Uint8Array {
  const out = new ByteColumn();
  const encode = (value: string) => new TextEncoder().encode(value);
  const writeNames = (dictionary: Dictionary, value: string) =>
    dictionary.append(encode(value), 0, encode(value).length);
  const writers: Record<Name, [type: string, write: () => void]> = {
    // A journal's frame has its own head in a comment.
    id: [`UInt32/*${rows.length}*/`, () => rows.forEach(({ id }) => out.u32(id))],
    text: ["String", () => rows.forEach((values) => out.text(values.text))],
    maybe: [
      "Nullable(String)",
      () => {
        for (const { maybe } of rows) out.u8(maybe === null ? 1 : 0);
        for (const { maybe } of rows) out.text(maybe ?? "");
      },
    ],
    name: [
      "LowCardinality(String)",
      () => {
        const dictionary = new Dictionary();
        for (const { name } of rows) writeNames(dictionary, name);
        dictionary.encode(out, rows.length);
      },
    ],
    ops: [
      "Array(Int8)",
      () =>
        writeArrays(
          (values) => values.ops,
          (value) => out.u8(value),
        ),
    ],
    texts: [
      "Array(String)",
      () =>
        writeArrays(
          (values) => values.texts,
          (value) => out.text(value),
        ),
    ],
    names: [
      "Array(LowCardinality(String))",
      () => {
        const [offsets, dictionary] = [new ArrayOffsets(), new Dictionary()];
        for (const [i, values] of rows.entries()) {
          offsets.add(i, values.names.length);
          for (const value of values.names) writeNames(dictionary, value);
        }
        writeLowCardinalityArrays(out, offsets, dictionary);
      },
    ],
  };
  function writeArrays<Value>(read: (values: Row) => Value[], write: (value: Value) => void): void {
    const offsets = new ArrayOffsets();
    for (const [i, values] of rows.entries()) offsets.add(i, read(values).length);
    offsets.encode(out);
    for (const values of rows) read(values).forEach(write);
  }
  writeBlockHead(out, names.length, rows.length);
  for (const name of names) {
    const [type, write] = writers[name];
    writeColumnHead(out, name, type);
    write();
  }
  return out.filled().slice();
}

const empty = { id: 0, ops: [], texts: [], names: [] };

test("blocks with and without columns of numbers and arrays are one with all of them", () => {
  const names = fc.subarray<Name>(["ops", "texts", "names"]).map((some) => [...always, ...some]);
  const blocks = fc.array(fc.tuple(fc.array(row, { minLength: 1, maxLength: 6 }), names), { minLength: 1 });
  fc.assert(
    fc.property(blocks, (parts) => {
      const joiner = new BlockJoiner();
      const encoded = parts.map(([rows, columns]) => encodeBlock(rows, columns));
      for (const block of encoded) expect(joiner.append(block)).toBe(true);
      const all = new Set(parts.flatMap(([, columns]) => columns));
      const expected = encoded
        .flatMap((block) => readBlocks(block))
        .map((values) => ({ ...empty, ...values }));
      const some = expected.map((values) =>
        Object.fromEntries(Object.entries(values).filter(([name]) => all.has(name as Name))),
      );
      expect(joiner.rows).toBe(some.length);
      const joined = joiner.drainBlock()!;
      expect(readRows(joined)).toEqual(some);
      expect(columnOffsets(joined, [...all]).rows).toBe(some.length);
      expect(joiner.drainBlock()).toBeUndefined();
    }),
    { numRuns: 300 },
  );
});

const [sample] = fc.sample(row, 1) as [Row];

test("a block is refused that lacks a text, or has one more, or another type, and what was there stays", () => {
  const joiner = new BlockJoiner();
  const block = encodeBlock([sample], ["id", "text"]);
  expect(joiner.append(block)).toBe(true);
  const other = new ByteColumn();
  writeBlockHead(other, 2, 1);
  writeColumnHead(other, "id", "UInt64");
  other.u64(1n);
  writeColumnHead(other, "text", "String");
  other.text("x");
  for (const refused of [
    encodeBlock([sample], ["id"]),
    encodeBlock([sample], ["id", "text", "maybe"]),
    encodeBlock([sample], ["id", "text", "name"]),
    other.filled(),
  ])
    expect(joiner.append(refused)).toBe(false);
  expect(readRows(joiner.drainBlock()!)).toEqual(readRows(block));
  expect(joiner.append(encodeBlock([sample], ["id"]))).toBe(true);
});

test("columns may come in another order, and a block that is cut short is an error", () => {
  const joiner = new BlockJoiner();
  joiner.append(encodeBlock([sample], ["id", "text", "name"]));
  const turned = encodeBlock([sample], ["name", "id", "text"]);
  expect(joiner.append(turned)).toBe(true);
  const { id, text: value, name } = sample;
  expect(readRows(joiner.drainBlock()!)).toEqual([0, 1].map(() => ({ id, text: value, name })));
  for (const length of [3, turned.length - 1])
    expect(() => joiner.append(turned.subarray(0, length))).toThrow("block is cut short");
});

test("more names than a byte counts are numbered anew", () => {
  const joiner = new BlockJoiner();
  const rows = Array.from({ length: 700 }, (_, i) => ({ ...sample, name: `n${i}`, names: [`m${i}`, "m"] }));
  for (const part of [rows.slice(0, 300), rows.slice(300)])
    joiner.append(encodeBlock(part, ["name", "names"]));
  expect(readRows(joiner.drainBlock()!)).toEqual(rows.map(({ name, names }) => ({ name, names })));
});
