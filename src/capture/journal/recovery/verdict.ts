// Judges a segment that was read after a restart: what was lost, and what was never acknowledged. Touches no file.
//
// After a crash of the process, the file ends somewhere in its last write: behind what is noted as synced there is at
// most one group, which was not acknowledged. After a crash of the machine, any blocks of that group may be there,
// beside zeros and bytes of an earlier segment, and the note itself may be old. So bad bytes before a place that is
// known to have been synced are damage. Bad bytes behind it may be damage only if they show a batch number of this
// segment and the note is not certain to be the last one.

import type { Expected } from "../ledger.ts";
import type { BadRange, ReadSegment } from "../segments/segment_reader.ts";

export interface SegmentVerdict {
  damaged: boolean;
  /** Acknowledged rows that are missing from the sound frames; undefined when their number is unknown. */
  lostRows: number | undefined;
  badBytes: number;
  /** True when it is unknown whether the bad bytes were ever acknowledged. */
  doubtful: boolean;
}

/** @param expected what the ledger or the marks know of the segment; undefined when they know nothing. */
export function judgeSegment(read: ReadSegment, expected: Expected | undefined): SegmentVerdict {
  const { frames, bad, headDamaged } = read;
  const proven = Math.max(expected?.bytes ?? 0, ...frames.map(({ synced }) => synced));
  const isOpen = expected === undefined || expected.behind === "least";
  const certain = bad.filter(({ from }) => from < proven);
  const doubtful = isOpen ? bad.filter(({ from, traced }) => from >= proven && traced) : [];
  const lostRows = lostOf(read, expected, certain);
  // Damage that an earlier start reported: the ledger has expected the rest since.
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
  // The first frame of a group says how many rows were synced before it; the others count the group's own as well.
  const first = frames.findLast(({ at, synced }) => at === synced);
  const gap = first ? Math.max(0, first.before - rowsOf(frames.filter(({ at }) => at < first.at))) : 0;
  const counted = expected !== undefined || first !== undefined;
  return certain.length > 0 && !counted ? undefined : Math.max(missing, gap);
}

function rowsOf(frames: readonly { rows: number }[]): number {
  return frames.reduce((sum, { rows }) => sum + rows, 0);
}

function bytesOf(stretches: readonly BadRange[]): number {
  return stretches.reduce((sum, { from, to }) => sum + to - from, 0);
}
