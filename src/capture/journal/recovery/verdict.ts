// Judges a segment that was read after a restart: what was lost, and what was never acknowledged. Touches no file.
// ../FORMAT.md defines a valid frame, and explains the cases by their letters.

import type { Expected } from "../ledger.ts";
import type { BadRange, ReadSegment } from "../segments/segment_reader.ts";

export interface SegmentVerdict {
  /** The letter of the case in the table below. */
  which: string;
  damaged: boolean;
  /** Acknowledged rows that are missing from the sound frames; undefined when their number is unknown. */
  lostRows: number | undefined;
  badBytes: number;
  /** True when it is unknown whether the bad bytes were ever acknowledged. */
  doubtful: boolean;
}

/** What decides the case. */
export interface SegmentFacts {
  /** Whether anything of it may have been acknowledged: sound frames, synced bytes, or bad ones in doubt. */
  acknowledged: boolean;
  /** Whether it should have a head that cannot be read. */
  headBad: boolean;
  /** Whether bytes are bad that are known to have been synced. */
  syncedBad: boolean;
  /** Whether the ledger has it as sealed. */
  sealed: boolean;
  /** Whether further bytes show a number of this segment, and the mark of what was synced may be old. */
  doubtful: boolean;
  /** Acknowledged rows that are missing. */
  lost: "none" | "some" | "unknown";
}

interface Case extends Partial<SegmentFacts> {
  which: string;
  verdict: "sound" | "damaged" | "doubtful";
}

const unhurt = { acknowledged: true, lost: "none", doubtful: false } as const;

/** Of any facts exactly one case is true; a fact that a case leaves out does not matter to it. */
export const cases: readonly Case[] = [
  { which: "A", acknowledged: false, verdict: "sound" },
  { which: "B", acknowledged: true, lost: "some", verdict: "damaged" },
  { which: "C", acknowledged: true, lost: "unknown", verdict: "damaged" },
  { which: "D", acknowledged: true, lost: "none", doubtful: true, verdict: "doubtful" },
  { which: "E", ...unhurt, headBad: true, verdict: "damaged" },
  { which: "F", ...unhurt, headBad: false, syncedBad: true, sealed: false, verdict: "damaged" },
  { which: "G", ...unhurt, headBad: false, syncedBad: true, sealed: true, verdict: "sound" },
  { which: "H", ...unhurt, headBad: false, syncedBad: false, verdict: "sound" },
];

/** The one case that these facts are. @throws Error when it is not exactly one. */
export function caseOf(facts: SegmentFacts): Case {
  const names = Object.keys(facts) as (keyof SegmentFacts)[];
  const matching = cases.filter((one) => names.every((name) => (one[name] ?? facts[name]) === facts[name]));
  const [found] = matching;
  if (!found || matching.length > 1) throw new Error(`a segment is of ${matching.length} cases, not of one`);
  return found;
}

/** @param expected what the ledger or the marks know of the segment; undefined when they know nothing. */
export function judgeSegment(read: ReadSegment, expected: Expected | undefined): SegmentVerdict {
  const { frames, bad, headDamaged: headBad } = read;
  const synced = Math.max(expected?.bytes ?? 0, ...frames.map((frame) => frame.synced));
  const certain = bad.filter(({ from }) => from < synced);
  const isOpen = expected === undefined || expected.tail === "least";
  const inDoubt = isOpen ? bad.filter(({ from, isOwnBytes }) => from >= synced && isOwnBytes) : [];
  const rows = lostOf(read, expected, certain);
  const { which, verdict } = caseOf({
    acknowledged: frames.length > 0 || synced > 0 || inDoubt.length > 0,
    headBad,
    syncedBad: certain.length > 0,
    sealed: expected?.tail === "sealed",
    doubtful: inDoubt.length > 0,
    lost: rows === undefined ? "unknown" : rows > 0 ? "some" : "none",
  });
  const badBytes = [...certain, ...inDoubt].reduce((sum, { from, to }) => sum + to - from, 0);
  const doubtful = verdict === "doubtful";
  return { which, damaged: verdict !== "sound", lostRows: doubtful ? undefined : rows, badBytes, doubtful };
}

function lostOf(read: ReadSegment, expected: Expected | undefined, certain: BadRange[]): number | undefined {
  const { frames } = read;
  const there = frames.filter(({ at }) => at < (expected?.bytes ?? 0));
  const missing = expected ? Math.max(0, expected.rows - rowsOf(there)) : 0;
  if (expected && expected.tail !== "least") return missing;
  // The first frame of a group lies where the synced bytes end, so the rows before it are the synced ones.
  const first = frames.findLast(({ at, synced }) => at === synced);
  const gap = first ? Math.max(0, first.before - rowsOf(frames.filter(({ at }) => at < first.at))) : 0;
  const counted = expected !== undefined || first !== undefined;
  return certain.length > 0 && !counted ? undefined : Math.max(missing, gap);
}

function rowsOf(frames: readonly { rows: number }[]): number {
  return frames.reduce((sum, { rows }) => sum + rows, 0);
}
