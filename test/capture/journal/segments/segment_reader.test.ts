// A segment read after a restart: its sound frames, and the ranges of the file that are not.

import { afterAll, expect, test } from "bun:test";
import { copyFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { captureSetup } from "../../../../src/capture/capture_journal.ts";
import type { Segment } from "../../../../src/capture/journal/segments/segment.ts";
import { foundUsage, readSegment } from "../../../../src/capture/journal/segments/segment_reader.ts";
import { cleanUp } from "../../../support/cleanup.ts";
import { makeFolder } from "../../../support/folder.ts";
import { appendTo, type LaneName, laneNamed, openJournal } from "../../../support/journal.ts";

afterAll(cleanUp);

/** A segment of so many frames, of 1, 2, 3 … rows, closed; and its file's name elsewhere, to be damaged. */
async function segmentOf(lane: LaneName, frames: number): Promise<{ segment: Segment; path: string }> {
  const journal = openJournal(makeFolder());
  let place = 0;
  for (let frame = 1; frame <= frames; frame++) {
    for (let row = 0; row < frame; row++) appendTo(journal, lane, place++);
    await journal[lane].commit();
  }
  await journal[lane].seal();
  const segment = journal.nextSealed(laneNamed(lane))!;
  await segment.closed;
  await journal.close();
  const path = join(makeFolder(), segment.path.split("/").at(-1)!);
  copyFileSync(segment.path, path);
  await journal.release();
  return { segment, path };
}

const read = (path: string, end?: number) => readSegment(captureSetup, path, end)!;
const rowsIn = (path: string) => read(path).frames.map(({ rows }) => rows);

test.each(["live", "historical", "warnings", "merges", "recordings"] as const)(
  "a whole segment of the lane %s is read as it was written",
  async (lane) => {
    const { segment, path } = await segmentOf(lane, 3);
    const { frames, bad, isHeadDamaged, segment: found } = read(path);
    expect([frames.map(({ rows }) => rows), bad, isHeadDamaged]).toEqual([[1, 2, 3], [], false]);
    const known = ({ id, partition, rows, bytes, frames: ranges }: Segment["batches"][number]) => ({
      id,
      partition,
      rows,
      bytes,
      frames: ranges,
    });
    expect(found.batches.map(known)).toEqual(segment.batches.map(known));
    expect({ ...found, batches: [], path: "" }).toMatchObject({
      id: segment.id,
      rows: 6,
      oldest: segment.oldest,
      bytes: segment.bytes,
      isRecovered: true,
    });
  },
);

test("a file whose end was cut off has the frames before, and the rest is of this segment", async () => {
  const { segment, path } = await segmentOf("live", 3);
  truncateSync(path, segment.bytes - 1);
  const [, second] = segment.batches[0]!.frames;
  const { frames, bad } = read(path);
  expect(frames.map(({ rows }) => rows)).toEqual([1, 2]);
  expect(bad).toEqual([{ from: second!.offset + second!.length, to: segment.bytes - 1, isOwnBytes: true }]);
});

test("frames behind a damaged one are found, and the damage is no longer than it", async () => {
  const { segment, path } = await segmentOf("live", 3);
  const [first, second, third] = segment.batches[0]!.frames;
  const bytes = readFileSync(path);
  bytes[second!.offset + second!.length - 5]! ^= 1;
  writeFileSync(path, bytes);
  const { frames, bad } = read(path);
  expect(frames.map(({ rows }) => rows)).toEqual([1, 3]);
  expect(bad).toEqual([{ from: first!.offset + first!.length, to: third!.offset, isOwnBytes: true }]);
});

test("damage is of this segment by its number, or by a number that no sound frame has", async () => {
  const { segment, path } = await segmentOf("live", 3);
  const [batch] = segment.batches;
  const [, second, third] = batch!.frames;
  const whole = readFileSync(path);
  const damaged = (damage: (frame: Buffer) => void) => {
    const bytes = Buffer.from(whole);
    damage(bytes.subarray(second!.offset, third!.offset));
    writeFileSync(path, bytes);
    return read(path).bad;
  };
  const own = { from: second!.offset, to: third!.offset, isOwnBytes: true };
  const withoutHead = (frame: Buffer) => frame.fill(0, 0, 48);
  expect(damaged(withoutHead)).toEqual([own]);
  const upper = (batch!.id >> 16n).toString(16).padStart(12, "0");
  const withoutNumber = (frame: Buffer) => {
    for (const digits of [Buffer.from(upper, "hex").reverse(), Buffer.from(upper)]) {
      for (let at = frame.indexOf(digits); at >= 0; at = frame.indexOf(digits)) frame[at]! ^= 1;
    }
  };
  expect(damaged(withoutNumber)).toEqual([own]);
  const neither = damaged((frame) => {
    withoutNumber(frame);
    withoutHead(frame);
  });
  expect(neither).toEqual([{ ...own, isOwnBytes: false }]);
});

test("what an earlier segment left in a recycled file is not this one's", async () => {
  const { segment, path } = await segmentOf("live", 2);
  const bytes = Buffer.concat([readFileSync(path), Buffer.alloc(64, 7)]);
  writeFileSync(path, bytes);
  expect(read(path).bad).toEqual([{ from: segment.bytes, to: bytes.length, isOwnBytes: false }]);
});

test("no byte that is changed gives a row that was not written, or hides more than its frame", async () => {
  const { segment, path } = await segmentOf("live", 4);
  const whole = readFileSync(path);
  const { frames } = segment.batches[0]!;
  fc.assert(
    fc.property(fc.nat({ max: whole.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, by) => {
      const bytes = Buffer.from(whole);
      bytes[at]! ^= by;
      writeFileSync(path, bytes);
      const lost = frames.findIndex(({ offset, length }) => at < offset + length);
      const expected = frames.map(({ rows }) => rows).filter((_, i) => i !== lost);
      // The mark of how far the file was synced is no part of what the sum covers.
      expect([expected, frames.map(({ rows }) => rows)]).toContainEqual(rowsIn(path));
    }),
    { numRuns: 300 },
  );
});

test("a segment cut at an offset has what lies before it", async () => {
  const { segment, path } = await segmentOf("live", 3);
  const [first, second] = segment.batches[0]!.frames;
  const whole = read(path);
  expect(read(path, second!.offset - 1).segment.rows).toBeLessThan(whole.segment.rows);
  expect(read(path, whole.fileBytes).segment.rows).toBe(6);
  expect(read(path, 0).segment).toMatchObject({ rows: 0, batches: [] });
  expect(first!.rows).toBe(1);
});

test("a file that says nowhere which segment it is is none, and a name alone is enough where frames name it", async () => {
  const path = join(makeFolder(), "notes");
  writeFileSync(path, "no segment");
  expect(readSegment(captureSetup, path)).toBeUndefined();
  const { path: events } = await segmentOf("live", 1);
  writeFileSync(events, "");
  expect(read(events)).toMatchObject({ frames: [], bad: [], fileBytes: 0, isHeadDamaged: false });
  const { path: warnings } = await segmentOf("warnings", 1);
  const bytes = readFileSync(warnings);
  bytes[0]! ^= 1;
  writeFileSync(warnings, bytes);
  expect(read(warnings)).toMatchObject({ isHeadDamaged: true, segment: { rows: 1 } });
});

test("the bytes of a frame are its projects', by their rows; a frame that cannot be read is nobody's", async () => {
  const { segment, path } = await segmentOf("live", 3);
  const bytes = segment.batches[0]!.frames.reduce((sum, { length }) => sum + length, 0);
  const found = read(path).segment;
  expect([...foundUsage(captureSetup, found)]).toEqual([[1, { bytes, changes: 0 }]]);
  const damaged = readFileSync(path);
  damaged.fill(0xff, found.batches[0]!.frames[0]!.offset, found.batches[0]!.frames[0]!.offset + 64);
  writeFileSync(path, damaged);
  const [, left] = [...foundUsage(captureSetup, found)][0]!;
  expect(left.bytes).toBe(bytes - found.batches[0]!.frames[0]!.length);
});
