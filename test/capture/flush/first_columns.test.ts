// The first columns of a segment's blocks, read without the others.

import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import fc from "fast-check";
import { Block } from "../../../src/capture/columns/block.ts";
import { emptyRow } from "../../../src/capture/fields/row.ts";
import { readFirstColumns } from "../../../src/capture/flush/first_columns.ts";
import { systemIo } from "../../../src/capture/journal/journal_io.ts";
import type { Batch, Frame } from "../../../src/capture/journal/segments/segment.ts";
import { ByteColumn } from "../../../src/storage/native/native.ts";
import { nativeBlock, type NativeColumns } from "../../../src/storage/native/native_block.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { type NativeRow, readBlocks } from "../../support/native_rows.ts";

afterAll(cleanUp);

const encoder = new TextEncoder();

interface Plain {
  event: string;
  properties: string;
}

function blockOf(rows: readonly Plain[]): Uint8Array {
  const block = new Block();
  const row = emptyRow();
  for (const [number, plain] of rows.entries()) {
    for (const name of ["event", "properties"] as const) {
      const source = encoder.encode(plain[name]);
      Object.assign(row[name], { source, from: 0, to: source.length });
    }
    row.uuid.fill(number % 251);
    row.timestamp = number * 1000;
    block.append(row);
  }
  const out = new ByteColumn();
  block.encode(out, 7n, 0);
  return out.filled().slice();
}

/** A segment's file of these blocks, each a frame, in batches by turns. */
function segmentOf(
  blocks: readonly Uint8Array[],
  rows: readonly number[],
): { path: string; batches: Batch[] } {
  const path = `${makeFolder()}/segment`;
  writeFileSync(path, Buffer.concat(blocks));
  const frames: Frame[][] = [[], []];
  let offset = 0;
  for (const [i, { length }] of blocks.entries()) {
    frames[i % 2]!.push({ offset, length, rows: rows[i]! });
    offset += length;
  }
  const batches = frames.map((own, i) => ({
    id: BigInt(i),
    partition: 2026,
    rows: 0,
    bytes: 0,
    frames: own,
  }));
  return { path, batches };
}

async function firstColumns(path: string, batches: Batch[], last: string): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(readFirstColumns(systemIo, { path, batches }, last)));
}

const names = ["uuid", "project_id", "event", "timestamp"] as const;

function only(rows: NativeRow[]): NativeRow[] {
  return rows.map((row) => Object.fromEntries(names.map((name) => [name, row[name]])));
}

const plainRow = fc.record({
  event: fc.oneof(
    fc.constantFrom("$pageview", "click"),
    fc.string(),
    fc.string({ minLength: 3000, maxLength: 4000 }),
  ),
  properties: fc.string({ maxLength: 3000 }),
});

test("the first columns of any blocks are those of the whole blocks, and no others", async () => {
  const blocks = fc.array(fc.array(plainRow, { minLength: 1, maxLength: 40 }), {
    minLength: 1,
    maxLength: 12,
  });
  await fc.assert(
    fc.asyncProperty(blocks, async (made) => {
      const whole = made.map(blockOf);
      const { path, batches } = segmentOf(
        whole,
        made.map(({ length }) => length),
      );
      const rows = readBlocks(await firstColumns(path, batches, "timestamp"));
      expect(rows).toEqual(only(readBlocks(Buffer.concat(whole))));
    }),
    { numRuns: 100 },
  );
});

test("of long blocks little more than these columns is kept, and more than 255 names are no fault", async () => {
  const made = Array.from({ length: 3 }, (_, block) =>
    Array.from({ length: 20_000 }, (_, i) => ({
      event: `e${i % (block * 5000 + 1)}`,
      properties: "x".repeat(600),
    })),
  );
  const whole = made.map(blockOf);
  const { path, batches } = segmentOf(whole, [20_000, 20_000, 20_000]);
  const found = await firstColumns(path, batches, "timestamp");
  expect(readBlocks(found)).toEqual(only(readBlocks(Buffer.concat(whole))));
  expect(found.length).toBeLessThan(60_000 * 32 + 15_000 * 8);
});

/** As a version before wrote blocks. */
const earlier: NativeColumns<{ distinct_id: string; timestamp: number }> = [
  ["uuid", "UUID", (out) => out.raw(new Uint8Array(16))],
  ["project_id", "UInt32", (out) => out.u32(1)],
  ["distinct_id", "String", (out, row) => out.text(row.distinct_id)],
  ["timestamp", "DateTime64(6, 'UTC')", (out, row) => out.i64(row.timestamp)],
  ["properties", "String", (out) => out.text("{}")],
];

test("blocks whose texts come before are read as far as the column; one without it is refused", async () => {
  const rows = [
    { distinct_id: "d".repeat(200_000), timestamp: 5 },
    { distinct_id: "e", timestamp: 6 },
  ];
  const { path, batches } = segmentOf(
    [nativeBlock(rows, earlier), blockOf([{ event: "a", properties: "{}" }])],
    [2, 1],
  );
  const found = readBlocks(await firstColumns(path, batches, "timestamp"));
  expect(found.map(({ timestamp }) => timestamp)).toEqual([5, 6, 0]);
  expect(found.map((row) => "properties" in row)).toEqual([false, false, false]);
  expect(firstColumns(path, batches, "nothing")).rejects.toThrow("a block without nothing");
});

test("a file that ends before its blocks do is refused", async () => {
  const whole = blockOf([{ event: "a", properties: "{}" }]);
  const { path, batches } = segmentOf([whole], [1]);
  writeFileSync(path, whole.subarray(0, 60));
  expect(firstColumns(path, batches, "timestamp")).rejects.toThrow("a segment ends early");
});
