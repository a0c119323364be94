// What of a segment is judged to be lost.

import { expect, test } from "bun:test";
import { judgeSegment } from "../../../../src/capture/journal/recovery/verdict.ts";
import type { ReadSegment } from "../../../../src/capture/journal/segments/segment_reader.ts";

function frame(at: number, group: { synced: number; before: number }) {
  return { ...group, batch: 1n, partition: 2024, rows: 2, oldest: 0, at, offset: at, end: at + 100 };
}

function read(frames: ReturnType<typeof frame>[], bad: ReadSegment["bad"]): ReadSegment {
  const segment = {
    id: 1n,
    lane: "live" as const,
    path: "",
    bytes: 300,
    rows: 4,
    oldest: 0,
    batches: [],
    recovered: true,
  };
  return { segment, fileBytes: 300, frames, bad, headDamaged: false };
}

const torn = { from: 100, to: 200, traced: true };

test("rows of a group's torn frame that nobody is known to be told of are in doubt, and not told as lost", () => {
  // A loss of power tore the first frame of the last group and left its second: the mark may be old.
  const frames = [frame(0, { synced: 0, before: 0 }), frame(200, { synced: 100, before: 4 })];
  const verdict = judgeSegment(read(frames, [torn]), { bytes: 100, rows: 2, behind: "least" });
  expect(verdict).toEqual({ damaged: true, doubtful: true, lostRows: undefined, badBytes: 100 });
});

test("rows before a group that was written behind them are told as lost when they are gone", () => {
  const frames = [frame(0, { synced: 0, before: 0 }), frame(200, { synced: 200, before: 4 })];
  const verdict = judgeSegment(read(frames, [torn]), { bytes: 100, rows: 2, behind: "least" });
  expect(verdict).toEqual({ damaged: true, doubtful: false, lostRows: 2, badBytes: 100 });
});
