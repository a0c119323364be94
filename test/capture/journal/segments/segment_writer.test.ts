// A growing segment: what is counted in, on a disk that writes little at once, fails, or is full.

import { afterAll, afterEach, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { captureSetup } from "../../../../src/capture/capture_journal.ts";
import { type JournalFile, type JournalIo, systemIo } from "../../../../src/capture/journal/journal_io.ts";
import type { FrameBlock } from "../../../../src/capture/journal/lane_kind.ts";
import { journalLimits } from "../../../../src/capture/journal/limits.ts";
import { DiskFullError } from "../../../../src/capture/journal/quota.ts";
import { type Segment, segmentId } from "../../../../src/capture/journal/segments/segment.ts";
import { readSegment } from "../../../../src/capture/journal/segments/segment_reader.ts";
import { SegmentWriter } from "../../../../src/capture/journal/segments/segment_writer.ts";
import { captureLimits } from "../../../../src/capture/limits.ts";
import { silentLog } from "../../../../src/core/log.ts";
import { cleanUp } from "../../../support/cleanup.ts";
import { makeFolder } from "../../../support/folder.ts";
import { laneNamed } from "../../../support/journal.ts";

afterAll(cleanUp);

const writers: SegmentWriter[] = [];
afterEach(async () => {
  for (const writer of writers.splice(0)) {
    writer.close();
    await writer.closed();
    await writer.release();
  }
});

interface Disk {
  /** Bytes of one write at most. */
  atOnce?: number;
  /** Which writes, counted from 1, take nothing. */
  refused?: readonly number[];
  isFull?: boolean;
  segmentBytesMax?: number;
}

/** A writer of the lane of warnings, whose frames may hold any bytes. */
function openWriter(disk: Disk = {}) {
  let [writes, ids] = [0, 0];
  const [synced, sealed]: [number[], Segment[]] = [[], []];
  const writevNow = (file: JournalFile, chunks: Uint8Array[], at: number) => {
    if (disk.refused?.includes(++writes)) return 0;
    const first = Buffer.concat(chunks).subarray(0, disk.atOnce);
    return systemIo.writevNow(file, [first], at);
  };
  const io: JournalIo = { ...systemIo, writevNow };
  const writer = new SegmentWriter({
    setup: { ...captureSetup, io },
    kind: laneNamed("warnings"),
    folder: makeFolder(),
    log: silentLog,
    nextId: () => segmentId(1_700_000_000_000 + ids++, 3),
    acquireRecycled: () => undefined,
    acquireSpace: () => {
      if (disk.isFull) throw new DiskFullError("full");
    },
    hasSpace: () => true,
    segmentBytesMax: disk.segmentBytesMax ?? 1 << 20,
    batchBytesMax: captureLimits.batchBytesMax,
    onSynced: ({ rows }) => void synced.push(rows),
    onSealed: (segment) => void sealed.push(segment),
  });
  writers.push(writer);
  return { writer, synced, sealed };
}

const block = (text: string, more: Partial<FrameBlock> = {}): FrameBlock => ({
  partition: 2024,
  rows: 1,
  oldest: 5,
  changes: 0,
  encode: (out) => out.raw(Buffer.from(text)),
  ...more,
});

const textsIn = ({ path, batches }: Segment) => {
  const file = readFileSync(path);
  return batches.map(({ frames }) =>
    frames.map(({ offset, length }) => file.toString("utf8", offset, offset + length)),
  );
};
const rowsIn = (path: string) => readSegment(captureSetup, path)!.frames.map(({ rows }) => rows);

test.each([1, 7, 4096])(
  "groups are whole on a disk that takes %d bytes at once, and read as they were",
  async (atOnce) => {
    const { writer, synced, sealed } = openWriter({ atOnce });
    await writer.write([block("one", { oldest: 9 }), block("two", { rows: 2, oldest: 4 })]);
    await writer.write([block("other", { partition: 2025, oldest: 1 })]);
    const segment = writer.segment!;
    expect(textsIn(segment)).toEqual([["one", "two"], ["other"]]);
    // The oldest row is of the first group: later ones came later, whatever their clock.
    expect([segment.rows, segment.oldest, synced]).toEqual([4, 4, [3, 4]]);
    writer.close();
    await writer.closed();
    expect(sealed).toEqual([segment]);
    expect(writer.segment).toBeUndefined();
    expect([rowsIn(segment.path), statSync(segment.path).size]).toEqual([[1, 2, 1], segment.bytes]);
  },
);

test("a write that fails goes to a fresh segment; what the failed one had stays, cut to it", async () => {
  const { writer, sealed } = openWriter({ refused: [2] });
  await writer.write([block("before")]);
  await writer.write([block("after")]);
  expect(sealed.map(textsIn)).toEqual([[["before"]]]);
  expect([rowsIn(sealed[0]!.path), statSync(sealed[0]!.path).size]).toEqual([[1], sealed[0]!.bytes]);
  expect(textsIn(writer.segment!)).toEqual([["after"]]);
});

test("a group that fails twice is refused, and no row of it is in a segment", async () => {
  const { writer, synced, sealed } = openWriter({ refused: [1, 2] });
  await expect(writer.write([block("lost")])).rejects.toThrow("took no more bytes");
  expect([writer.segment, synced, sealed]).toEqual([undefined, [], []]);
  await writer.write([block("next")]);
  expect(textsIn(writer.segment!)).toEqual([["next"]]);
});

test("a full disk refuses a group, and the segment goes on once there is space", async () => {
  const disk = { isFull: false };
  const { writer, sealed } = openWriter(disk);
  await writer.write([block("before")]);
  disk.isFull = true;
  await expect(writer.write([block("refused")])).rejects.toBeInstanceOf(DiskFullError);
  disk.isFull = false;
  await writer.write([block("after")]);
  expect([textsIn(writer.segment!), sealed]).toEqual([[["before", "after"]], []]);
});

test("a segment ends with the group by which it is long enough", async () => {
  const { writer, sealed } = openWriter({ segmentBytesMax: 300 });
  await writer.write([block("short")]);
  expect(sealed).toHaveLength(0);
  await writer.write([block("x".repeat(300))]);
  expect([sealed.length, writer.segment]).toEqual([1, undefined]);
});

const { batchRowsMax, batchChangesMax } = captureLimits;

test.each([
  ["rows", { rows: batchRowsMax - 1 }, { rows: 1 }, { rows: 1 }],
  ["changes", { changes: batchChangesMax - 1 }, { changes: 1 }, { changes: 1 }],
])(
  "a batch is full by its %s: a segment of one batch ends then, so that it stays one",
  async (_, first, second, third) => {
    const { writer, sealed } = openWriter();
    // A group has one block of each partition.
    await writer.write([block("a", first)]);
    await writer.write([block("b", second)]);
    await writer.write([block("c", third)]);
    expect(sealed.map(textsIn)).toEqual([[["a", "b"]]]);
    expect(textsIn(writer.segment!)).toEqual([["c"]]);
  },
);

test("a segment of several partitions gets a second batch of one, and has so many batches at most", async () => {
  const { writer, sealed } = openWriter();
  await writer.write([block("a", { rows: batchRowsMax }), block("b", { partition: 2025 })]);
  await writer.write([block("c")]);
  expect(textsIn(writer.segment!)).toEqual([["a"], ["b"], ["c"]]);
  const most = journalLimits.segmentBatchesMax - 3;
  await writer.write(Array.from({ length: most + 1 }, (_, i) => block(`${i}`, { partition: 3000 + i })));
  expect(sealed.map(({ batches }) => batches.length)).toEqual([journalLimits.segmentBatchesMax]);
  expect(textsIn(writer.segment!)).toEqual([[`${most}`]]);
});
