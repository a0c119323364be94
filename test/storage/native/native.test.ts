// Columns in the Native format, read back by a reader of a few lines.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { ByteColumn, Dictionary, Pieces, writeRowKeys } from "../../../src/storage/native/native.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Reads what a column holds, part by part. */
class Reading {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  u64(): bigint {
    return this.#view.getBigUint64((this.at += 8) - 8, true);
  }

  i64(): bigint {
    return this.#view.getBigInt64((this.at += 8) - 8, true);
  }

  number(width: number): number {
    let value = 0;
    for (let i = 0; i < width; i++) value += this.bytes[this.at++]! * 256 ** i;
    return value;
  }

  varuint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.at++]!;
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  }

  text(): string {
    const length = this.varuint();
    return new TextDecoder().decode(this.bytes.subarray(this.at, (this.at += length)));
  }
}

/** The values of a dictionary that was encoded for so many rows. */
function valuesOf(dictionary: Dictionary, rows: number): string[] {
  const out = new ByteColumn(1);
  dictionary.encode(out, rows);
  const read = new Reading(out.filled());
  expect(read.u64()).toBe(1n);
  const width = 1 << Number(read.u64() & 255n);
  const keys = Array.from({ length: Number(read.u64()) }, () => read.text());
  expect(new Set(keys).size).toBe(keys.length);
  expect(read.u64()).toBe(BigInt(rows));
  const values = Array.from({ length: rows }, () => keys[read.number(width)]!);
  expect(read.at).toBe(read.bytes.length);
  return values;
}

test("numbers and texts are read back as they were written, however small the column was made", () => {
  const parts = fc.record({
    u16: fc.integer({ min: 0, max: 0xffff }),
    u32: fc.integer({ min: 0, max: 0xffff_ffff }),
    u64: fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
    i64: fc.maxSafeInteger(),
    varuint: fc.integer({ min: 0, max: 0x7fff_ffff }),
    text: fc.string({ unit: "grapheme" }),
  });
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 20 }), (all) => {
      const out = new ByteColumn(1);
      for (const { u16, u32, u64, i64, varuint, text } of all) {
        out.u16(u16);
        out.u32(u32);
        out.u64(u64);
        out.i64(i64);
        out.varuint(varuint);
        out.text(text);
      }
      const read = new Reading(out.filled());
      for (const { u16, u32, u64, i64, varuint, text } of all) {
        expect([read.number(2), read.number(4), read.u64()]).toEqual([u16, u32, u64]);
        expect([Number(read.i64()), read.varuint(), read.text()]).toEqual([i64, varuint, text]);
      }
      expect(read.at).toBe(out.length);
    }),
  );
});

test("a number is repeated as often as asked, and zeros are zeros where others lay before", () => {
  for (const times of [0, 1, 2, 3, 100]) {
    const out = new ByteColumn(1);
    out.u64Repeated(7n, times);
    const read = new Reading(out.filled());
    expect(Array.from({ length: times }, () => read.u64())).toEqual(Array(times).fill(7n));
    expect(read.at).toBe(out.length);
  }
  const used = new ByteColumn(8);
  used.raw(Uint8Array.of(1, 2, 3, 4));
  used.length = 1;
  used.zeros(2);
  used.zeros(-1);
  expect([...used.filled()]).toEqual([1, 0, 0]);
});

test("long values are borrowed and not copied, and lie between the others in their order", () => {
  const long = new Uint8Array(20_000).fill(5);
  const out = new Pieces(4);
  out.raw(Uint8Array.of(1));
  out.raw(long);
  out.raw(Uint8Array.of(2));
  const from = out.length;
  out.copy(long, 0, long.length);
  expect(out.total).toBe(2 + 2 * long.length);
  const pieces = out.list();
  expect(pieces.map(({ length }) => length)).toEqual([1, long.length, 1 + long.length]);
  expect(pieces[1]!.buffer).toBe(long.buffer);
  expect(out.list(from).map(({ length }) => length)).toEqual([long.length]);
  const whole = new ByteColumn();
  out.writeTo(whole);
  expect(Bun.hash(whole.filled())).toBe(Bun.hash(Buffer.concat(pieces)));
  out.clear();
  expect([out.total, out.list()]).toEqual([0, []]);
});

test("a dictionary returns each row's text, for keys of every width of an index, and anew once cleared", () => {
  const dictionary = new Dictionary();
  for (const keys of [1, 256, 257, 65_537]) {
    const rows = Array.from({ length: keys + 3 }, (_, i) => `key ${i % keys}`);
    for (const text of rows) dictionary.append(bytesOf(text), 0, text.length);
    expect(dictionary.count).toBe(keys);
    expect(Bun.hash(valuesOf(dictionary, rows.length).join())).toBe(Bun.hash(rows.join()));
    dictionary.clear();
  }
});

test("rows that come as numbers of names are those that come as texts, beside others", () => {
  const names = fc.uniqueArray(fc.string({ unit: "grapheme", maxLength: 8 }), {
    minLength: 1,
    maxLength: 30,
  });
  const cases = names.chain((all) =>
    fc.record({
      all: fc.constant(all),
      before: fc.array(fc.constantFrom(...all, "other"), { maxLength: 40 }),
      numbers: fc.array(fc.nat(all.length - 1), { maxLength: 300 }),
    }),
  );
  fc.assert(
    fc.property(cases, ({ all, before, numbers }) => {
      const dictionary = new Dictionary();
      for (const text of before) dictionary.append(bytesOf(text), 0, bytesOf(text).length);
      const source = bytesOf(all.join(""));
      const places = new Uint32Array(all.length * 2);
      let at = 0;
      for (const [i, name] of all.entries()) {
        places[i * 2] = at;
        places[i * 2 + 1] = bytesOf(name).length;
        at += bytesOf(name).length;
      }
      const many = Uint16Array.from(numbers);
      dictionary.appendNumbered(many, numbers.length, { source, offsets: places, count: all.length });
      const expected = [...before, ...numbers.map((number) => all[number]!)];
      expect(valuesOf(dictionary, expected.length)).toEqual(expected);
    }),
  );
});

test("the keys of rows are their batch and their numbers in it", () => {
  const out = new ByteColumn();
  writeRowKeys(out, 3, 9n, 40);
  const read = new Reading(out.filled());
  expect([read.text(), read.text(), read.u64(), read.u64(), read.u64()]).toEqual([
    "_batch",
    "UInt64",
    9n,
    9n,
    9n,
  ]);
  expect([read.text(), read.text()]).toEqual(["_row", "UInt32"]);
  expect([read.number(4), read.number(4), read.number(4)]).toEqual([40, 41, 42]);
});
