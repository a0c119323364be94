// FORMAT.md against the files that a journal writes: offsets, and each condition of a valid frame.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { readFrame } from "../../../src/capture/journal/segments/frame.ts";
import { readNativeFrame } from "../../../src/capture/journal/segments/native_frame.ts";
import type { Segment } from "../../../src/capture/journal/segments/segment.ts";
import { cleanUpEach, later } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { appendTo, type LaneName, laneNames, openJournal } from "../../support/journal.ts";

cleanUpEach();

const text = readFileSync(join(import.meta.dir, "../../../src/capture/journal/FORMAT.md"), "utf8");

/** The table below this line, by what its rows say: offset and length. */
function offsetsOf(line: string): (what: string) => [at: number, length: number] {
  const table = text.slice(text.indexOf(line)).split("\n\n")[1]!;
  const rows = [...table.matchAll(/^ +(\d+) +(\d*) *(.+)$/gm)];
  return (what) => {
    const row = rows.find(([, , , said]) => said!.startsWith(what));
    if (!row) throw new Error(`${line} has no ${what}`);
    return [Number(row[1]), Number(row[2])];
  };
}

/** Two groups of a lane, as they lie in the file; and its mark. */
async function written(lane: LaneName): Promise<{ bytes: Buffer; segment: Segment; mark: Buffer }> {
  const folder = makeFolder();
  const journal = openJournal(folder);
  later(() => journal.close().then(() => journal.release()));
  for (const place of [1, 2]) {
    appendTo(journal, lane, place);
    await journal[lane].commit();
  }
  const segment = journal[lane].segment!;
  const bytes = readFileSync(segment.path).subarray(0, segment.bytes);
  const slot = 64 * (1 + 2 * laneNames.indexOf(lane));
  const marks = readFileSync(`${folder}/synced`).subarray(slot, slot + 128);
  const mark = [marks.subarray(0, 64), marks.subarray(64)].find(
    (one) => one.readBigUInt64LE() === segment.id,
  );
  return { bytes, segment, mark: mark! };
}

const numberAt = (bytes: Buffer, [at, length]: [number, number]): bigint =>
  length === 8 ? bytes.readBigUInt64LE(at) : BigInt(bytes.readUIntLE(at, length));

test("a segment with a head, its frames and its mark lie as FORMAT.md says", async () => {
  const { bytes, segment, mark } = await written("warnings");
  const head = offsetsOf("Head of a segment:");
  expect(bytes.toString("latin1", 0, 8)).toBe("SLUICEJ1");
  expect(numberAt(bytes, head("segment id"))).toBe(segment.id);
  expect(numberAt(bytes, head("lane"))).toBe(2n);
  expect(numberAt(bytes, head("sum"))).toBe(BigInt(crc32(bytes.subarray(0, 20))));
  const [{ frames, partition, id }] = segment.batches as [Segment["batches"][0]];
  const of = offsetsOf("Frame with a head:");
  const second = bytes.subarray(frames[1]!.offset - of("payload")[0]);
  expect(second.toString("latin1", 0, 4)).toBe("FRAM");
  expect(numberAt(second, of("bytes of the payload"))).toBe(BigInt(frames[1]!.length));
  expect(numberAt(second, of("sum"))).toBe(BigInt(crc32(second.subarray(12))));
  const began = BigInt(bytes.length - second.length);
  expect(numberAt(second, of("where in the file"))).toBe(began);
  expect(numberAt(second, of("batch"))).toBe(id);
  expect(numberAt(second, of("partition"))).toBe(BigInt(partition));
  expect(numberAt(second, of("rows of the segment"))).toBe(1n);
  expect(numberAt(second, of("bytes of the file that were synced"))).toBe(began);
  const slot = offsetsOf("A slot of zeros is empty:");
  expect(numberAt(mark, slot("segment id"))).toBe(segment.id);
  expect(numberAt(mark, slot("bytes synced"))).toBe(BigInt(segment.bytes));
  expect(numberAt(mark, slot("rows among them"))).toBe(2n);
  expect(numberAt(mark, slot("lane"))).toBe(2n);
  expect(numberAt(mark, slot("sum"))).toBe(BigInt(crc32(mark.subarray(0, 20))));
});

test("a frame of events has its comment as FORMAT.md says", async () => {
  const { bytes, segment } = await written("live");
  const [{ frames, partition, id }] = segment.batches as [Segment["batches"][0]];
  const { offset, length } = frames[1]!;
  const frame = bytes.subarray(offset, offset + length);
  const comment = frame.indexOf("/*sluice:");
  const of = offsetsOf("The comment, in hexadecimal digits:");
  const number = (what: string): bigint => {
    const [at, digits] = of(what);
    return BigInt(`0x${frame.toString("latin1", comment + at, comment + at + digits)}`);
  };
  expect(number("bytes from the frame's beginning")).toBe(BigInt(comment));
  expect(number("bytes of the frame")).toBe(BigInt(length));
  expect(number("batch")).toBe(id);
  expect(number("partition")).toBe(BigInt(partition));
  expect(number("rows of the segment")).toBe(1n);
  expect(number("where in the file")).toBe(BigInt(offset));
  expect(number("bytes of the file that were synced")).toBe(BigInt(offset));
  const [sumAt, digits] = of("sum");
  const zeroed = Buffer.from(frame);
  zeroed.write("0".repeat(digits), comment + sumAt, "latin1");
  expect(number("sum")).toBe(BigInt(crc32(zeroed)));
  const [end] = of("*/");
  expect(frame.toString("latin1", comment + end, comment + end + 2)).toBe("*/");
});

for (const lane of ["live", "warnings"] as const) {
  test(`a frame of ${lane} is valid only if each of the five conditions holds`, async () => {
    const { bytes, segment } = await written(lane);
    const isNative = lane === "live";
    const read = isNative ? readNativeFrame : readFrame;
    const { offset, length } = segment.batches[0]!.frames[1]!;
    const at = isNative ? offset : offset - 48;
    const end = offset + length;
    const changed = (from: number): Buffer => {
      const copy = Buffer.from(bytes);
      copy[from]! ^= 1;
      return copy;
    };
    expect(read(bytes, at, segment.id)).toMatchObject({ at, end, rows: 1, before: 1 });
    const opening = isNative ? bytes.indexOf("/*sluice:", at) : at;
    expect(read(changed(opening), at, segment.id)).toBeUndefined();
    expect(read(bytes, at, segment.id + 1n)).toBeUndefined();
    expect(read(bytes.subarray(0, end - 1), at, segment.id)).toBeUndefined();
    const moved = Buffer.concat([bytes.subarray(0, at), Buffer.alloc(8), bytes.subarray(at, end)]);
    expect(read(moved, at + 8, segment.id)).toBeUndefined();
    expect(read(changed(end - 1), at, segment.id)).toBeUndefined();
  });
}
