// Rows of a scanned body, laid into the open blocks of its lane, slice by slice. Never decides where they go on.

import { yieldToEventLoop } from "../../core/clock.ts";
import { captureLimits } from "../limits.ts";
import { mergeKind } from "../../persons/merge.ts";
import { type Sending, readEvent } from "../event/event.ts";
import type { Journal } from "../journal/journal.ts";
import type { EventLane } from "../journal/journal_room.ts";
import { entryLength, field } from "../scan/event_fields.ts";
import { type Outcomes, type Reason, type Warning, warningBit, warnings } from "../event/outcome.ts";
import type { MergeRow } from "../flush/merge_row.ts";
import type { Recorder } from "../recordings/recorder.ts";
import { type Row, emptyRow, takeTurns } from "../event/row.ts";
import type { BodyScanner } from "../scan/body_scanner.ts";
import type { ScanArena } from "../wasm/scan_arena.ts";
import { isLongSnapshot } from "../recordings/snapshot.ts";
import { rangeText } from "../scan/byte_range.ts";
import { aheadMicrosMax } from "../scan/timestamp.ts";

export interface Appending {
  scan: BodyScanner;
  sending: Sending;
  /** What is odd about rows that were taken is added here. */
  warned: Outcomes<Warning>;
  lane: EventLane;
  /** Which lane takes the next slice; `lane` unless told. */
  nextLane?: () => EventLane;
  journal: Journal;
  /** Takes what is no event but a piece of a recording. */
  recorder: Recorder;
  /** The scan's arena is only ours until the first turn of others: the body is short, and laid at once. */
  borrowed?: boolean;
}

/**
 * Lays every event that is one into its year's open block, and adds the others to scan.ignored; between slices
 * others get their turn. Within a slice plain events come first. Returns how many were laid: at once, when one
 * slice the slow way was all.
 */
export function appendEvents(appending: Appending): number | Promise<number> {
  const { scan, lane, journal, recorder } = appending;
  if (scan.count === 0) return 0;
  if (scan.arena && !appending.borrowed) return appendRest({ through: 0, rows: 0 }, appending);
  const first = scan.arena
    ? appendBorrowed(scan.arena, appending)
    : appendSlice(0, journal.stamp(), appending);
  const crowded = recorder.crowded || lane.crowded || journal.merging.crowded;
  return first.through === scan.count && !crowded ? first.rows : appendRest(first, appending);
}

/** The same for a body that was indexed in part only: part by part. */
export async function appendSlices(appending: Appending): Promise<number> {
  const { scan } = appending;
  let rows = 0;
  while (scan.nextPart()) {
    do await yieldToEventLoop();
    while (!scan.advance(captureLimits.sliceBytesMax));
    rows += await appendEvents(appending);
  }
  return rows;
}

/** Goes on behind the first slice, if there was one. */
async function appendRest(first: Slice, appending: Appending): Promise<number> {
  const { scan, journal, recorder } = appending;
  let next = first.through;
  let accepted = first.rows;
  let writing: Promise<unknown> | undefined;
  for (;;) {
    if (recorder.crowded) await recorder.makeRoom();
    const lane = (appending.lane = appending.nextLane?.() ?? appending.lane);
    if (lane.crowded || journal.merging.crowded) {
      // One group is laid while the one before it is on its way to the disk.
      const before = writing;
      writing = commitAll(lane, journal);
      writing.catch(() => {});
      // What could not be written shows in the lanes' failedGroups.
      await before?.catch(() => {});
    }
    if (next === scan.count) return accepted;
    if (next > 0) await yieldToEventLoop();
    const created = journal.stamp();
    const slice = scan.arena
      ? await appendFast(scan.arena, next, created, appending)
      : isLongSnapshot(scan, next * entryLength)
        ? await appendLong(next, created, takeTurns(1), appending)
        : appendSlice(next, created, appending);
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
async function appendFast(
  arena: ScanArena,
  first: number,
  from: number,
  appending: Appending,
): Promise<Slice> {
  const { scan, journal } = appending;
  let created = from;
  // Behind others' turn rows are stamped anew: the journal may have told that it has nothing older than now.
  const letOthers = async () => {
    await yieldToEventLoop();
    created = journal.stamp();
  };
  const { through, turn } = judgeSlice(arena, first, appending);
  let rows = 0;
  for (let year = 0; year < arena.years; year += captureLimits.yearsAtOnceMax) {
    if (year > 0) await letOthers();
    const to = Math.min(arena.years, year + captureLimits.yearsAtOnceMax);
    rows += appendYears(arena, { first, turn, created, year, to }, appending);
  }
  let [slow, slowBytes] = [0, 0];
  for (let i = 0; i < arena.slow; i++) {
    const place = arena.slowAt(i);
    const at = (first + place) * entryLength;
    if (isLongSnapshot(scan, at)) {
      rows += (await appendLong(first + place, created, turn + place, appending)).rows;
      created = journal.stamp();
      [slow, slowBytes] = [0, 0];
      continue;
    }
    if (appendOne(at, created, turn + place, appending)) rows++;
    slow++;
    slowBytes += scan.entries[at + field.item + 1]! - scan.entries[at + field.item]!;
    if (slow < captureLimits.slowSliceRowsMax && slowBytes < captureLimits.slowSliceBytesMax) continue;
    [slow, slowBytes] = [0, 0];
    await letOthers();
  }
  return { through, rows };
}

/** A short body the same way, whole and at once. */
function appendBorrowed(arena: ScanArena, appending: Appending): Slice {
  const { count } = appending.scan;
  const created = appending.journal.stamp();
  let first = 0;
  let rows = 0;
  while (first < count) {
    const { through, turn } = judgeSlice(arena, first, appending);
    rows += appendYears(arena, { first, turn, created, year: 0, to: arena.years }, appending);
    for (let i = 0; i < arena.slow; i++) {
      const place = arena.slowAt(i);
      if (appendOne((first + place) * entryLength, created, turn + place, appending)) rows++;
    }
    first += through;
  }
  return { through: count, rows };
}

/** How many entries are of this slice; `turn`: that of its first entry. */
function judgeSlice(
  arena: ScanArena,
  first: number,
  { scan, sending }: Appending,
): { through: number; turn: number } {
  const through = arena.judge(first, scan.count, sending, sending.received + aheadMicrosMax);
  return { through, turn: takeTurns(through) };
}

/** The plain rows of some years of a slice, in columns; returns how many. */
function appendYears(
  arena: ScanArena,
  slice: { first: number; turn: number; created: number; year: number; to: number },
  { sending, lane }: Appending,
): number {
  const { first, turn, created, to } = slice;
  let rows = 0;
  for (let { year } = slice; year < to; year++) {
    const columns = arena.lay(first, year, sending, created, turn);
    lane.appendMany(
      arena.yearAt(year),
      columns.rows,
      (block) => block.appendColumns(columns),
      sending.project_id,
    );
    rows += columns.rows;
  }
  return rows;
}

/** One slice the slow way, before the first entry that is long. */
function appendSlice(first: number, created: number, appending: Appending): Slice {
  const { entries, count } = appending.scan;
  const last = Math.min(count, first + captureLimits.slowSliceRowsMax);
  const bytesEnd = entries[first * entryLength + field.item]! + captureLimits.slowSliceBytesMax;
  let at = first;
  let rows = 0;
  for (; at < last && entries[at * entryLength + field.item]! <= bytesEnd; at++) {
    if (isLongSnapshot(appending.scan, at * entryLength)) break;
    if (appendOne(at * entryLength, created, takeTurns(1), appending)) rows++;
  }
  return { through: at - first, rows };
}

/** Filled anew for every event; used only between two awaits. */
const row = emptyRow();

/** Entry number `which`, a long one: if it is a piece of a recording, others get their turn while it is read. */
async function appendLong(
  which: number,
  created: number,
  turn: number,
  appending: Appending,
): Promise<Slice> {
  const { scan, sending, recorder } = appending;
  const at = which * entryLength;
  row.created_at = created;
  row.turn = turn;
  const read = readEvent(scan, at, sending, row);
  const reason = read === "snapshot" ? await recorder.takeLong(scan, at) : read;
  return { through: 1, rows: appendRead(at, read, reason, appending) ? 1 : 0 };
}

/** True when the entry at `at` was laid, false when it was ignored or is a piece of a recording. */
function appendOne(at: number, created: number, turn: number, appending: Appending): boolean {
  const { scan, sending, recorder } = appending;
  row.created_at = created;
  row.turn = turn;
  const read = readEvent(scan, at, sending, row);
  return appendRead(at, read, read === "snapshot" ? recorder.take(scan, at) : read, appending);
}

/** `read`: what reading the row said; `reason`: why nothing of it was taken at all. */
function appendRead(
  at: number,
  read: Reason | undefined,
  reason: Reason | undefined,
  appending: Appending,
): boolean {
  const { scan, warned, lane, journal } = appending;
  if (reason) scan.ignored.add(scan.entries[at + field.ordinal]!, reason, scan.entries, at);
  if (read) return false;
  lane.append(row);
  if (row.merge !== mergeKind.none) journal.merging.append(mergeOf(row));
  if (row.warned !== 0) noteWarnings(scan, at, warned);
  return true;
}

function noteWarnings(scan: BodyScanner, at: number, warned: Outcomes<Warning>): void {
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
  const [own, other] = [rangeText(distinct_id), rangeText(other_id)];
  const [from, into] = merge === mergeKind.alias ? [own, other] : [other, own];
  return { project_id, kind: merge, from, into, at: timestamp, created_at, timestamp: created_at };
}
