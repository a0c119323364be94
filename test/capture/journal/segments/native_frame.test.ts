import { expect, test } from "bun:test";
import fc from "fast-check";
import { Block } from "../../../../src/capture/columns/block.ts";
import { emptyRow } from "../../../../src/capture/fields/row.ts";
import {
  nextNativeFrame,
  readNativeFrame,
  writeNativeFrame,
} from "../../../../src/capture/journal/segments/native_frame.ts";
import { Pieces } from "../../../../src/storage/native/native.ts";
import { lengthOfBlock } from "../../../support/native.ts";

const segment = 1234n;

/** Frames of so many rows each, one behind the other; their properties are long enough to be borrowed. */
function framesOf(rows: number[], oldest: number): { bytes: Uint8Array; places: [number, number][] } {
  const out = new Pieces(64);
  const blocks = rows.map((count) => {
    const block = new Block();
    const row = emptyRow();
    const source = new Uint8Array(3000).fill(0x61);
    Object.assign(row.properties, { source, from: 0, to: source.length });
    for (let i = 0; i < count; i++) block.append(row);
    return block;
  });
  const places = blocks.map((block, i): [number, number] => {
    const head = {
      batch: (segment << 11n) | BigInt(i),
      partition: 2024,
      rows: block.rows,
      oldest,
      synced: 0,
      before: i,
    };
    const { offset, length } = writeNativeFrame(out, head, (payload) => block.encode(payload, head.batch, 0));
    return [offset, length];
  });
  return { bytes: new Uint8Array(Buffer.concat(out.list())), places };
}

const rowCounts = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 4 });
const oldest = fc.integer({ min: -2_208_988_800_000_000, max: 4_102_444_800_000_000 });

test("frames are read back as they were written, and are sound Native blocks", () => {
  fc.assert(
    fc.property(rowCounts, oldest, (rows, at) => {
      const { bytes, places } = framesOf(rows, at);
      for (const [i, [offset, length]] of places.entries()) {
        const frame = readNativeFrame(bytes, offset, segment)!;
        expect(frame).toEqual({
          batch: (segment << 11n) | BigInt(i),
          partition: 2024,
          rows: rows[i]!,
          oldest: at,
          synced: 0,
          before: i,
          at: offset,
          offset,
          end: offset + length,
        });
        expect(lengthOfBlock(bytes.subarray(offset))).toBe(length);
        expect(nextNativeFrame(bytes, offset)).toBe(offset);
      }
      expect(readNativeFrame(bytes, 0, segment + 1n)).toBeUndefined();
    }),
    { numRuns: 50 },
  );
});

test("a frame with any byte changed or cut off is none", () => {
  const { bytes } = framesOf([3], 5);
  fc.assert(
    fc.property(fc.nat({ max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const changed = bytes.slice();
      changed[at]! ^= change;
      expect(readNativeFrame(changed, 0, segment)).toBeUndefined();
      expect(readNativeFrame(bytes.subarray(0, at), 0, segment)).toBeUndefined();
    }),
    { numRuns: 2000 },
  );
});
