// A cut of a block is the block that its rows alone would be.

import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  ByteColumn,
  Dictionary,
  writeBlockHead,
  writeColumnHead,
} from "../../../src/storage/native/native.ts";
import { ArrayOffsets, writeLowCardinalityArrays } from "../../../src/storage/native/native_arrays.ts";
import { columnsThrough, cutBlock, findFixedColumn } from "../../../src/storage/native/native_cut.ts";
import { lengthOfBlock } from "../../support/native.ts";

interface Row {
  id: number;
  text: string;
  name: string;
  tags: string[];
}

/** A block with a column of each type that ours have. */
function blockOf(rows: readonly Row[]): Uint8Array {
  const out = new ByteColumn();
  const [names, tags, offsets] = [new Dictionary(), new Dictionary(), new ArrayOffsets()];
  const encoded = (text: string) => new TextEncoder().encode(text);
  writeBlockHead(out, 4, rows.length);
  writeColumnHead(out, "id", "UInt32/* a comment */");
  for (const { id } of rows) out.u32(id);
  writeColumnHead(out, "text", "String");
  for (const { text } of rows) out.text(text);
  writeColumnHead(out, "name", "LowCardinality(String)");
  for (const { name } of rows) names.append(encoded(name), 0, encoded(name).length);
  names.encode(out, rows.length);
  writeColumnHead(out, "tags", "Array(LowCardinality(String))");
  for (const [i, row] of rows.entries()) {
    offsets.add(i, row.tags.length);
    for (const tag of row.tags) tags.append(encoded(tag), 0, encoded(tag).length);
  }
  writeLowCardinalityArrays(out, offsets, tags);
  return out.filled().slice();
}

/** The rows of such a block, its dictionaries resolved. */
function rowsIn(block: Uint8Array): Row[] {
  const view = new DataView(block.buffer, block.byteOffset, block.length);
  let at = 0;
  const varuint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = block[at++]!;
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  const text = (): string => {
    const length = varuint();
    return new TextDecoder().decode(block.subarray(at, (at += length)));
  };
  const u64 = (): number => Number(view.getBigUint64((at += 8) - 8, true));
  const named = (): string[] => {
    const width = 1 << (u64() & 255);
    const keys = Array.from({ length: u64() }, text);
    return Array.from({ length: u64() }, () => {
      const index = width === 1 ? view.getUint8(at) : view.getUint16(at, true);
      at += width;
      return keys[index]!;
    });
  };
  const [columns, rows] = [varuint(), varuint()];
  const each = <Value>(read: () => Value): Value[] => Array.from({ length: rows }, read);
  const head = () => [text(), text()];
  expect([columns, head()]).toEqual([4, ["id", "UInt32"]]);
  const ids = each(() => view.getUint32((at += 4) - 4, true));
  head();
  const texts = each(text);
  head();
  u64();
  const names = named();
  head();
  u64();
  const ends = each(u64);
  const tags = ends.at(-1) === 0 ? [] : named();
  expect(at).toBe(block.length);
  return ids.map((id, i) => ({
    id,
    text: texts[i]!,
    name: names[i]!,
    tags: tags.slice(i === 0 ? 0 : ends[i - 1], ends[i]),
  }));
}

const row = fc.record({
  id: fc.integer({ min: 0, max: 0xffff_ffff }),
  text: fc.string({ unit: "grapheme" }),
  name: fc.constantFrom("a", "b", "", "a longer name"),
  tags: fc.array(fc.constantFrom("x", "y", "z"), { maxLength: 3 }),
});
const cuts = fc
  .array(row, { minLength: 1, maxLength: 30 })
  .chain((rows) =>
    fc.record({ rows: fc.constant(rows), from: fc.nat(rows.length - 1), size: fc.nat(rows.length) }),
  );

test("a cut has the rows from one to another, of columns of every type, and is a whole block", () => {
  fc.assert(
    fc.property(cuts, ({ rows, from, size }) => {
      const to = Math.min(rows.length, from + size + 1);
      const cut = cutBlock(blockOf(rows), from, to, {});
      expect(rowsIn(cut)).toEqual(rows.slice(from, to));
      expect(lengthOfBlock(cut)).toBe(cut.length);
    }),
  );
});

test("a filled column has new values, the others their own", () => {
  const rows = ["a", "b", "c"].map((name, id) => ({ id, text: name, name, tags: [name] }));
  const cut = cutBlock(blockOf(rows), 1, 3, { id: (out, at) => out.u32(100 + at) });
  expect(rowsIn(cut)).toEqual([
    { ...rows[1]!, id: 100 },
    { ...rows[2]!, id: 101 },
  ]);
});

test("rows that a block does not have cannot be cut", () => {
  const block = blockOf([{ id: 1, text: "t", name: "n", tags: [] }]);
  for (const [from, to] of [
    [-1, 1],
    [0, 2],
    [1, 1],
  ] as const) {
    expect(() => cutBlock(block, from, to, {})).toThrow("cannot cut rows");
  }
});

test("a column of fixed width is found by its name, one behind a text is not looked for", () => {
  const block = blockOf([7, 8].map((id) => ({ id, text: "t", name: "n", tags: [] })));
  expect([...findFixedColumn(block, "id")!]).toEqual([7, 0, 0, 0, 8, 0, 0, 0]);
  expect(() => findFixedColumn(block, "text")).toThrow("a column of type String lies before text");
});

test("the first columns are a block of their own, from a beginning that is long enough", () => {
  const block = blockOf([7, 8].map((id) => ({ id, text: `text ${id}`, name: "n", tags: ["x"] })));
  const through = columnsThrough(block, "text")!;
  expect(through[0]).toBe(2);
  expect([...through.subarray(1)]).toEqual([...block.subarray(1, through.length)]);
  expect(lengthOfBlock(through)).toBe(through.length);
  for (let length = 0; length < through.length; length++) {
    expect(columnsThrough(block.subarray(0, length), "text")).toBeUndefined();
  }
  expect(() => columnsThrough(block, "none")).toThrow("a block without none");
});
