// Rows of a scanned body, laid into the open blocks of its lane, slice by slice. Never decides where they go on.

import { othersTurn } from "../core/clock.ts";
import { limits } from "../core/limits.ts";
import { mergeKind } from "../persons/merge.ts";
import { type Sending, readEvent } from "./event.ts";
import type { Journal } from "./journal.ts";
import type { EventLane } from "./journal_room.ts";
import { entryLength, field } from "./member.ts";
import { type Outcomes, type Reason, type Warning, warningBit, warnings } from "./outcome.ts";
import type { MergeRow } from "./merge_row.ts";
import type { Recorder } from "./recorder.ts";
import { type Row, emptyRow, takeTurns } from "./row.ts";
import type { Scan } from "./scan.ts";
import type { Slab } from "./slab.ts";
import { isLong } from "./snapshot.ts";
import { textOf } from "./span.ts";
import { aheadMicrosMax } from "./timestamp.ts";

export interface Laying {
  scan: Scan;
  sending: Sending;
  /** What is odd about rows that were taken is added here. */
  warned: Outcomes<Warning>;
  lane: EventLane;
  /** Which lane takes the next slice; `lane` unless told. */
  nextLane?: () => EventLane;
  journal: Journal;
  /** Takes what is no event but a piece of a recording. */
  recorder: Recorder;
  /** The scan's slab is only ours until the first turn of others: the body is short, and laid at once. */
  lent?: boolean;
}

/**
 * Lays every event that is one into its year's open block, and adds the others to scan.ignored; between slices
 * others get their turn. Within a slice plain events come first. Returns how many were laid: at once, when one
 * slice the slow way was all.
 */
export function layRows(laying: Laying): number | Promise<number> {
  const { scan, lane, journal, recorder } = laying;
  if (scan.count === 0) return 0;
  if (scan.slab && !laying.lent) return layRest({ through: 0, rows: 0 }, laying);
  const first = scan.slab ? layLent(scan.slab, laying) : laySlice(0, journal.stamp(), laying);
  const crowded = recorder.crowded || lane.crowded || journal.merging.crowded;
  return first.through === scan.count && !crowded ? first.rows : layRest(first, laying);
}

/** The same for a body that was indexed in part only: part by part. */
export async function layParts(laying: Laying): Promise<number> {
  const { scan } = laying;
  let rows = 0;
  while (scan.nextPart()) {
    do await othersTurn();
    while (!scan.advance(limits.sliceBytesMax));
    rows += await layRows(laying);
  }
  return rows;
}

/** Goes on behind the first slice, if there was one. */
async function layRest(first: Slice, laying: Laying): Promise<number> {
  const { scan, journal, recorder } = laying;
  let next = first.through;
  let accepted = first.rows;
  let writing: Promise<unknown> | undefined;
  for (;;) {
    if (recorder.crowded) await recorder.makeRoom();
    const lane = (laying.lane = laying.nextLane?.() ?? laying.lane);
    if (lane.crowded || journal.merging.crowded) {
      // One group is laid while the one before it is on its way to the disk.
      const before = writing;
      writing = commitAll(lane, journal);
      writing.catch(() => {});
      // What could not be written shows in the lanes' failedGroups.
      await before?.catch(() => {});
    }
    if (next === scan.count) return accepted;
    if (next > 0) await othersTurn();
    const created = journal.stamp();
    const slice = scan.slab
      ? await layPlain(scan.slab, next, created, laying)
      : isLong(scan, next * entryLength)
        ? await layLong(next, created, takeTurns(1), laying)
        : laySlice(next, created, laying);
    next += slice.through;
    accepted += slice.rows;
  }
}

interface Slice {
  /** Entries that are dealt with. */
  through: number;
  rows: number;
}

/** One slice the fast way: columns of plain rows by year, and the other entries one by one. */
async function layPlain(slab: Slab, first: number, from: number, laying: Laying): Promise<Slice> {
  const { scan, journal } = laying;
  let created = from;
  // Behind others' turn rows are stamped anew: the journal may have told that it has nothing older than now.
  const letOthers = async () => {
    await othersTurn();
    created = journal.stamp();
  };
  const { through, turn } = judgeSlice(slab, first, laying);
  let rows = 0;
  for (let year = 0; year < slab.years; year += limits.yearsAtOnceMax) {
    if (year > 0) await letOthers();
    const to = Math.min(slab.years, year + limits.yearsAtOnceMax);
    rows += layYears(slab, { first, turn, created, year, to }, laying);
  }
  let [slow, slowBytes] = [0, 0];
  for (let i = 0; i < slab.slow; i++) {
    const place = slab.slowAt(i);
    const at = (first + place) * entryLength;
    if (isLong(scan, at)) {
      rows += (await layLong(first + place, created, turn + place, laying)).rows;
      created = journal.stamp();
      [slow, slowBytes] = [0, 0];
      continue;
    }
    if (layOne(at, created, turn + place, laying)) rows++;
    slow++;
    slowBytes += scan.entries[at + field.item + 1]! - scan.entries[at + field.item]!;
    if (slow < limits.slowSliceRowsMax && slowBytes < limits.slowSliceBytesMax) continue;
    [slow, slowBytes] = [0, 0];
    await letOthers();
  }
  return { through, rows };
}

/** A short body the same way, whole and at once. */
function layLent(slab: Slab, laying: Laying): Slice {
  const { count } = laying.scan;
  const created = laying.journal.stamp();
  let first = 0;
  let rows = 0;
  while (first < count) {
    const { through, turn } = judgeSlice(slab, first, laying);
    rows += layYears(slab, { first, turn, created, year: 0, to: slab.years }, laying);
    for (let i = 0; i < slab.slow; i++) {
      const place = slab.slowAt(i);
      if (layOne((first + place) * entryLength, created, turn + place, laying)) rows++;
    }
    first += through;
  }
  return { through: count, rows };
}

/** How many entries are of this slice; `turn`: that of its first entry. */
function judgeSlice(slab: Slab, first: number, { scan, sending }: Laying): { through: number; turn: number } {
  const through = slab.judge(first, scan.count, sending, sending.received + aheadMicrosMax);
  return { through, turn: takeTurns(through) };
}

/** The plain rows of some years of a slice, in columns; returns how many. */
function layYears(
  slab: Slab,
  slice: { first: number; turn: number; created: number; year: number; to: number },
  { sending, lane }: Laying,
): number {
  const { first, turn, created, to } = slice;
  let rows = 0;
  for (let { year } = slice; year < to; year++) {
    const laid = slab.lay(first, year, sending, created, turn);
    lane.appendMany(slab.yearAt(year), laid.rows, (block) => block.appendLaid(laid), sending.project_id);
    rows += laid.rows;
  }
  return rows;
}

/** One slice the slow way, before the first entry that is long. */
function laySlice(first: number, created: number, laying: Laying): Slice {
  const { entries, count } = laying.scan;
  const last = Math.min(count, first + limits.slowSliceRowsMax);
  const bytesEnd = entries[first * entryLength + field.item]! + limits.slowSliceBytesMax;
  let at = first;
  let rows = 0;
  for (; at < last && entries[at * entryLength + field.item]! <= bytesEnd; at++) {
    if (isLong(laying.scan, at * entryLength)) break;
    if (layOne(at * entryLength, created, takeTurns(1), laying)) rows++;
  }
  return { through: at - first, rows };
}

/** Filled anew for every event; used only between two awaits. */
const row = emptyRow();

/** Entry number `which`, a long one: if it is a piece of a recording, others get their turn while it is read. */
async function layLong(which: number, created: number, turn: number, laying: Laying): Promise<Slice> {
  const { scan, sending, recorder } = laying;
  const at = which * entryLength;
  row.created_at = created;
  row.turn = turn;
  const read = readEvent(scan, at, sending, row);
  const reason = read === "snapshot" ? await recorder.takeLong(scan, at) : read;
  return { through: 1, rows: layRead(at, read, reason, laying) ? 1 : 0 };
}

/** True when the entry at `at` was laid, false when it was ignored or is a piece of a recording. */
function layOne(at: number, created: number, turn: number, laying: Laying): boolean {
  const { scan, sending, recorder } = laying;
  row.created_at = created;
  row.turn = turn;
  const read = readEvent(scan, at, sending, row);
  return layRead(at, read, read === "snapshot" ? recorder.take(scan, at) : read, laying);
}

/** `read`: what reading the row said; `reason`: why nothing of it was taken at all. */
function layRead(at: number, read: Reason | undefined, reason: Reason | undefined, laying: Laying): boolean {
  const { scan, warned, lane, journal } = laying;
  if (reason) scan.ignored.add(scan.entries[at + field.ordinal]!, reason, scan.entries, at);
  if (read) return false;
  lane.append(row);
  if (row.merge !== mergeKind.none) journal.merging.append(mergeOf(row));
  if (row.warned !== 0) noteWarnings(scan, at, warned);
  return true;
}

function noteWarnings(scan: Scan, at: number, warned: Outcomes<Warning>): void {
  for (const warning of warnings) {
    if ((row.warned & warningBit[warning]) === 0) continue;
    warned.add(scan.entries[at + field.ordinal]!, warning, scan.entries, at, row.uuid);
  }
}

/** Merges are as safe as their events; what another request left in their lane goes along. */
function commitAll(lane: EventLane, { merging }: Journal): Promise<unknown> {
  if (merging.openRows + merging.writingRows === 0) return lane.commit();
  return Promise.all([lane.commit(), merging.commit()]);
}

/** An anonymous id comes under the identified one, an event's id under its alias, and dangerously the other way. */
function mergeOf({ project_id, merge, distinct_id, other_id, timestamp, created_at }: Row): MergeRow {
  const [own, other] = [textOf(distinct_id), textOf(other_id)];
  const [from, into] = merge === mergeKind.alias ? [own, other] : [other, own];
  return { project_id, kind: merge, from, into, at: timestamp, created_at, timestamp: created_at };
}
