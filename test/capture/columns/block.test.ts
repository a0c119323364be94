import { expect, test } from "bun:test";
import fc from "fast-check";
import { Block, rebatch } from "../../../src/capture/columns/block.ts";
import { emptyRow, newUuidBytes, uuidFromText, uuidText } from "../../../src/capture/fields/row.ts";
import { ByteColumn } from "../../../src/storage/native/native.ts";
import { lengthOfBlock, rowsOfBlock } from "../../support/native.ts";

const encoder = new TextEncoder();

interface Plain {
  event: string;
  distinct_id: string;
  properties: string;
}

function blockOf(rows: Plain[]): Block {
  const block = new Block();
  const row = emptyRow();
  for (const [number, plain] of rows.entries()) {
    for (const name of ["event", "distinct_id", "properties"] as const) {
      const source = encoder.encode(plain[name]);
      Object.assign(row[name], { source, from: 0, to: source.length });
    }
    row.uuid.fill(number % 251);
    row.timestamp = number * 1000;
    row.created_at = 1_700_000_000_000_000 + number;
    block.append(row);
  }
  return block;
}

function encoded(block: Block, batch = 5n, firstRow = 0): Uint8Array {
  const out = new ByteColumn();
  block.encode(out, batch, firstRow);
  return out.filled().slice();
}

const plainRow = fc.record({
  event: fc.oneof(fc.constantFrom("$pageview", "click"), fc.string()),
  distinct_id: fc.string({ maxLength: 300 }),
  properties: fc.json(),
});

test("a block cut at any rows is the block those rows would have made, save for the names it no longer needs", () => {
  fc.assert(
    fc.property(fc.array(plainRow, { minLength: 1, maxLength: 40 }), fc.nat(), fc.nat(), (rows, a, b) => {
      const from = a % rows.length;
      const to = from + 1 + (b % (rows.length - from));
      const whole = encoded(blockOf(rows));
      const cut = rebatch(whole, from, to, 9n, 3);
      expect(rowsOfBlock(cut)).toBe(to - from);
      expect(lengthOfBlock(cut)).toBe(cut.length);
      // Cutting all rows again under the same number changes nothing: every column was taken over byte for byte.
      expect(rebatch(cut, 0, to - from, 9n, 3)).toEqual(cut);
      expect(rebatch(whole, 0, rows.length, 5n, 0)).toEqual(whole);
    }),
    { numRuns: 200 },
  );
});

test("more event names than one byte can count make wider indexes", () => {
  const rows = Array.from({ length: 70_000 }, (_, i) => ({
    event: `e${i}`,
    distinct_id: "d",
    properties: "{}",
  }));
  const bytes = encoded(blockOf(rows));
  expect(lengthOfBlock(bytes)).toBe(bytes.length);
  expect(rowsOfBlock(bytes)).toBe(70_000);
});

test("a cleared block starts anew", () => {
  const block = blockOf([{ event: "a", distinct_id: "b", properties: "{}" }]);
  const first = encoded(block);
  block.clear();
  const row = emptyRow();
  for (const [name, text] of Object.entries({ event: "a", distinct_id: "b", properties: "{}" })) {
    const source = encoder.encode(text);
    Object.assign(row[name as "event"], { source, from: 0, to: source.length });
  }
  row.created_at = 1_700_000_000_000_000;
  block.append(row);
  expect(encoded(block)).toEqual(first);
});

test("a uuid's bytes are those of its text, in either case; anything else is refused", () => {
  const out = new Uint8Array(16);
  const bytes = encoder.encode("01234567-89ab-CDEF-8123-456789abcdef");
  expect(uuidFromText(bytes, 0, bytes.length, out)).toBe(true);
  expect(Buffer.from(out).toString("hex")).toBe("efcdab8967452301efcdab8967452381");
  const first = out.slice();
  for (const spelled of [
    "0123456789abcdef8123456789abcdef",
    "{01234567-89AB-cdef-8123-456789abcdef}",
    "urn:uuid:01234567-89ab-cdef-8123-456789abcdef",
    "URN:UUID:0123456789ABCDEF8123456789ABCDEF",
  ]) {
    const text = encoder.encode(spelled);
    expect(uuidFromText(text, 0, text.length, out.fill(0))).toBe(true);
    expect(out).toEqual(first);
  }
  for (const wrong of [
    "",
    "00000000-0000-0000-0000-000000000000",
    "00000000000000000000000000000000",
    "uuid:01234567-89ab-cdef-8123-456789abcdef",
    "{01234567-89ab-cdef-8123-456789abcdef",
    "01234567-89ab-cdef-8123-456789abcde",
    "01234567x89ab-cdef-8123-456789abcdef",
    "0123456789abcdef0123456789abcdef0000",
  ]) {
    const text = encoder.encode(wrong);
    expect(uuidFromText(text, 0, text.length, out)).toBe(false);
  }
});

test("a new uuid has version 7, the time it was given, rises, and never repeats", () => {
  const seen = new Set<string>();
  const out = new Uint8Array(16);
  let falling = 0;
  let last = "";
  for (let i = 0; i < 10_000; i++) {
    newUuidBytes(1_700_000_000_000, out, i);
    const text = uuidText(out);
    if (text < last) falling++;
    last = text;
    seen.add(Buffer.from(out).toString("hex"));
    const high = Buffer.from(out.slice(0, 8).toReversed()).toString("hex");
    expect(high.slice(0, 13)).toBe(`${(1_700_000_000_000).toString(16).padStart(12, "0")}7`);
    expect(out[15]! >> 6).toBe(2);
  }
  expect(seen.size).toBe(10_000);
  expect(falling).toBe(0);
});
