// Judges a segment that was read after a restart: what was lost, and what was never acknowledged. Touches no file.
// ../FORMAT.md defines a valid frame, and explains the cases by their letters.

import type { Expected } from "../ledger.ts";
import type { BadRange, ReadSegment } from "../segments/segment_reader.ts";

export interface SegmentVerdict {
  letter: string;
  isDamaged: boolean;
  /** Acknowledged rows that are missing from the sound frames; undefined when their number is unknown. */
  lostRows: number | undefined;
  badBytes: number;
  /** True when it is unknown whether the bad bytes were ever acknowledged. */
  isDoubtful: boolean;
}

export interface SegmentFacts {
  /** Whether any of the segment may have been acknowledged: sound frames, synced bytes, or bad ones in doubt. */
  isAcknowledged: boolean;
  /** Whether the segment should have a head, and it cannot be read. */
  isHeadBad: boolean;
  /** Whether bytes are bad that are known to have been synced. */
  isSyncedBad: boolean;
  isSealed: boolean;
  /** Whether unreadable bytes behind the synced ones have this segment's number, and the mark may be old. */
  isDoubtful: boolean;
  /** Acknowledged rows that are missing. */
  lost: "none" | "some" | "unknown";
}

interface Case extends Partial<SegmentFacts> {
  letter: string;
  verdict: "sound" | "damaged" | "doubtful";
}

const complete = { isAcknowledged: true, lost: "none", isDoubtful: false } as const;

/** Exactly one case is true of any facts; a fact that a case leaves out does not matter to it. */
export const cases: readonly Case[] = [
  { letter: "A", isAcknowledged: false, verdict: "sound" },
  { letter: "B", isAcknowledged: true, lost: "some", verdict: "damaged" },
  { letter: "C", isAcknowledged: true, lost: "unknown", verdict: "damaged" },
  { letter: "D", isAcknowledged: true, lost: "none", isDoubtful: true, verdict: "doubtful" },
  { letter: "E", ...complete, isHeadBad: true, verdict: "damaged" },
  { letter: "F", ...complete, isHeadBad: false, isSyncedBad: true, isSealed: false, verdict: "damaged" },
  { letter: "G", ...complete, isHeadBad: false, isSyncedBad: true, isSealed: true, verdict: "sound" },
  { letter: "H", ...complete, isHeadBad: false, isSyncedBad: false, verdict: "sound" },
];

/** The case that is true of these facts. @throws Error when not exactly one is. */
export function findCase(facts: SegmentFacts): Case {
  const names = Object.keys(facts) as (keyof SegmentFacts)[];
  const matching = cases.filter((item) => names.every((name) => (item[name] ?? facts[name]) === facts[name]));
  const [found] = matching;
  if (!found || matching.length > 1) throw new Error(`a segment is of ${matching.length} cases, not of one`);
  return found;
}

/** @param expected what the ledger or the marks know of the segment; undefined when they know nothing. */
export function judgeSegment(read: ReadSegment, expected: Expected | undefined): SegmentVerdict {
  const { frames, bad, isHeadDamaged: isHeadBad } = read;
  const synced = Math.max(expected?.bytes ?? 0, ...frames.map((frame) => frame.synced));
  const syncedBad = bad.filter(({ from }) => from < synced);
  const isOpen = expected === undefined || expected.tail === "least";
  const inDoubt = isOpen ? bad.filter(({ from, isOwnBytes }) => from >= synced && isOwnBytes) : [];
  const lostRows = countLost(read, expected, syncedBad);
  const { letter, verdict } = findCase({
    isAcknowledged: frames.length > 0 || synced > 0 || inDoubt.length > 0,
    isHeadBad,
    isSyncedBad: syncedBad.length > 0,
    isSealed: expected?.tail === "sealed",
    isDoubtful: inDoubt.length > 0,
    lost: lostRows === undefined ? "unknown" : lostRows > 0 ? "some" : "none",
  });
  const badBytes = [...syncedBad, ...inDoubt].reduce((sum, { from, to }) => sum + to - from, 0);
  const isDoubtful = verdict === "doubtful";
  const known = isDoubtful ? undefined : lostRows;
  return { letter, isDamaged: verdict !== "sound", lostRows: known, badBytes, isDoubtful };
}

function countLost(
  read: ReadSegment,
  expected: Expected | undefined,
  syncedBad: BadRange[],
): number | undefined {
  const { frames } = read;
  const expectedFrames = frames.filter(({ at }) => at < (expected?.bytes ?? 0));
  const missing = expected ? Math.max(0, expected.rows - sumRows(expectedFrames)) : 0;
  if (expected && expected.tail !== "least") return missing;
  // The first frame of a group lies where the synced bytes end, so the rows before it are the synced ones.
  const first = frames.findLast(({ at, synced }) => at === synced);
  const gap = first ? Math.max(0, first.before - sumRows(frames.filter(({ at }) => at < first.at))) : 0;
  const isCounted = expected !== undefined || first !== undefined;
  return syncedBad.length > 0 && !isCounted ? undefined : Math.max(missing, gap);
}

function sumRows(frames: readonly { rows: number }[]): number {
  return frames.reduce((sum, { rows }) => sum + rows, 0);
}
