// What a segment's file that was read back lost, and what of it was never acknowledged. Touches no file.
//
// A crash of the process leaves what was written, to its last byte or less: behind what is noted as synced there is at
// most one group, and nobody was told of it. A crash of the machine leaves of that group any blocks, in any order,
// beside zeros and what an earlier segment left in the file; what is noted then may be old. So what is bad before a
// place that is known to have been synced is damage; what is bad behind it is damage only in doubt, when it shows a
// number of the segment's batches and no note is sure to be the last one.

import type { Expected } from "../ledger.ts";
import type { BadRange, ReadSegment } from "../segments/segment_reader.ts";

export interface SegmentVerdict {
  damaged: boolean;
  /** Acknowledged rows that are not among the sound frames; undefined when it is not known how many. */
  lostRows: number | undefined;
  /** Bytes that cannot be read. */
  badBytes: number;
  /** True when it is not known whether what is bad was ever acknowledged. */
  doubtful: boolean;
}

export function judgeSegment(read: ReadSegment, expected: Expected | undefined): SegmentVerdict {
  const { frames, bad, headDamaged } = read;
  // Earlier versions' frames do not say what was synced; one frame behind another says that the other was.
  const told = frames.map(({ synced, at }) => synced ?? at);
  const proven = Math.max(expected?.bytes ?? 0, ...told);
  const isOpen = expected === undefined || expected.behind === "least";
  const certain = bad.filter(({ from }) => from < proven);
  const doubtful = isOpen ? bad.filter(({ from, traced }) => from >= proven && traced) : [];
  const lostRows = lostOf(read, expected, certain);
  // What an earlier start found and told is a hole in what the ledger expects since.
  const known = expected?.behind === "sealed" && lostRows === 0;
  const damaged = headDamaged || lostRows !== 0 || doubtful.length > 0 || (certain.length > 0 && !known);
  return {
    damaged: damaged && (frames.length > 0 || proven > 0 || doubtful.length > 0),
    lostRows: doubtful.length > 0 && lostRows === 0 ? undefined : lostRows,
    badBytes: bytesOf([...certain, ...doubtful]),
    doubtful: doubtful.length > 0 && lostRows === 0,
  };
}

function lostOf(read: ReadSegment, expected: Expected | undefined, certain: BadRange[]): number | undefined {
  const { frames } = read;
  const there = frames.filter(({ at }) => at < (expected?.bytes ?? 0));
  const missing = expected ? Math.max(0, expected.rows - rowsOf(there)) : 0;
  if (expected && expected.behind !== "least") return missing;
  // The last frame says how many rows were before it.
  const last = frames.findLast(({ before }) => before !== undefined);
  const gap = last ? Math.max(0, last.before! - rowsOf(frames.filter(({ at }) => at < last.at))) : 0;
  const counted = expected !== undefined || last !== undefined;
  return certain.length > 0 && !counted ? undefined : Math.max(missing, gap);
}

function rowsOf(frames: readonly { rows: number }[]): number {
  return frames.reduce((sum, { rows }) => sum + rows, 0);
}

function bytesOf(stretches: readonly BadRange[]): number {
  return stretches.reduce((sum, { from, to }) => sum + to - from, 0);
}
