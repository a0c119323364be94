// Appends the events of a scanned body to the open blocks of its lane, slice by slice.

import { runAtOnce, runInTurns, type Slices, yieldToEventLoop } from "../core/clock.ts";
import {
  type AppendContext,
  type AppendedSlice,
  appendOne,
  type AppendProgress,
  appendSlowly,
} from "./append_slow_path.ts";
import type { Block } from "./columns/block.ts";
import { definitionLimits } from "./definitions/limits.ts";
import { readEvent } from "./event/event.ts";
import { field, toOffset } from "./fields/event_fields.ts";
import { captureLimits } from "./limits.ts";
import type { EventIndex } from "./scan/event_index.ts";
import { aheadMicrosMax } from "./scan/timestamp.ts";
import { layout, shapeUnknown } from "./wasm/layout.ts";
import type { ColumnBatch, ScanArena } from "./wasm/scan_arena.ts";

/**
 * Appends every event of a scanned body to its year's open block, and adds the others to index.ignored; within a slice
 * plain events come first. Returns the number of rows: at once for a short body, else as a promise, since the event
 * loop gets turns between slices.
 */
export function appendEvents(context: AppendContext): number | Promise<number> {
  const { index } = context.scanner;
  return index.isPartial ? appendParts(context) : appendIndex(context, index);
}

async function appendParts(context: AppendContext): Promise<number> {
  const { scanner } = context;
  let rows = 0;
  while (scanner.nextPart()) {
    do await yieldToEventLoop();
    while (!scanner.advance(captureLimits.sliceBytesMax));
    rows += await appendIndex(context, scanner.index);
  }
  return rows;
}

function appendIndex(context: AppendContext, index: EventIndex): number | Promise<number> {
  if (index.count === 0) return 0;
  const admitted = context.quota ? context.quota.acquire(index.count) : index.count;
  const start = { index, lane: context.lanes.next(), admitted, named: 0 };
  const progress: AppendProgress = Object.assign(context, start);
  let [next, rows] = [0, 0];
  while (index.isShared && next < index.count) {
    const slice = runAtOnce(appendSlice(next, progress));
    next += slice.entryCount;
    rows += slice.rows;
  }
  const isCrowded =
    progress.recorder?.isCrowded || progress.lane.isCrowded || context.journal.merging.isCrowded;
  return next === index.count && !isCrowded ? rows : appendRest(next, rows, progress);
}

/** Appends the entries from number `next` on; `accepted`: the rows of those before. */
async function appendRest(next: number, accepted: number, progress: AppendProgress): Promise<number> {
  const { index, journal } = progress;
  let writing: Promise<unknown> | undefined;
  for (let [at, rows] = [next, accepted]; ;) {
    if (progress.recorder?.isCrowded) await progress.recorder.commit();
    const lane = (progress.lane = progress.lanes.next());
    if (lane.isCrowded || journal.merging.isCrowded) {
      // Rows are appended to one group while the one before it is on its way to the disk.
      const before = writing;
      writing = Promise.allSettled([lane.commit(), journal.merging.commit()]);
      await before;
    }
    if (at === index.count) return rows;
    if (at > 0) await yieldToEventLoop();
    const slice = await runInTurns(appendSlice(at, progress));
    at += slice.entryCount;
    rows += slice.rows;
  }
}

function appendSlice(first: number, progress: AppendProgress): Slices<AppendedSlice> {
  const { fast } = progress.index;
  return fast && first < progress.admitted
    ? appendFast(fast, first, progress)
    : appendSlowly(first, progress);
}

/** One slice the fast way: columns of plain rows by year, and the other entries one by one. */
function* appendFast(fast: ScanArena, first: number, progress: AppendProgress): Slices<AppendedSlice> {
  const { index, journal } = progress;
  // Stamped anew after each turn: meanwhile the journal may have published a watermark that is later.
  let created = journal.stamp();
  const { entryCount, rank } = classifySlice(fast, first, progress);
  // Before the rows are appended: the names of what is in the journal must be in the book.
  for (let nth = 0; (nth = recordShapes(fast, { first, nth, entryCount, created }, progress)) < entryCount;) {
    yield;
    created = journal.stamp();
  }
  let rows = 0;
  for (let year = 0; year < fast.yearCount; year += captureLimits.yearsAtOnceMax) {
    if (year > 0) yield;
    const to = Math.min(fast.yearCount, year + captureLimits.yearsAtOnceMax);
    rows += appendYears(fast, { first, rank, created: journal.stamp(), year, to }, progress);
  }
  let [slowRows, slowBytes] = [0, 0];
  progress.named = 0;
  for (let i = 0; i < fast.slowCount; i++) {
    const nth = fast.slowAt(i);
    const at = toOffset(first + nth);
    const appended = appendOne(at, rank + nth, progress);
    rows += typeof appended === "number" ? appended : yield* appended;
    slowRows++;
    slowBytes += index.entries[at + field.item + 1]! - index.entries[at + field.item]!;
    const isShort = slowRows < captureLimits.slowSliceRowsMax && slowBytes < captureLimits.slowSliceBytesMax;
    if (isShort && progress.named < definitionLimits.namesAtOnceMax) continue;
    [slowRows, slowBytes, progress.named] = [0, 0, 0];
    yield;
  }
  return { entryCount, rows };
}

/** Classifies the next slice; returns how many entries it has, and the rank of its first entry. */
function classifySlice(
  fast: ScanArena,
  first: number,
  { admitted, eventContext, journal }: AppendProgress,
): { entryCount: number; rank: number } {
  const entryCount = fast.classify(first, admitted, eventContext, eventContext.received + aheadMicrosMax);
  return { entryCount, rank: journal.allocateRanks(entryCount) };
}

/**
 * Records the names of plain events of a slice, from number `nth` on, whose shapes the book does not know; returns
 * where it stopped, as reading takes long.
 */
function recordShapes(
  fast: ScanArena,
  slice: { first: number; nth: number; entryCount: number; created: number },
  { index, eventContext, definitions, journal: { row } }: AppendProgress,
): number {
  const { first, entryCount } = slice;
  const { shapes } = fast;
  const known = definitions.shapes.of(eventContext.project_id);
  let { nth } = slice;
  for (let left: number = definitionLimits.namesAtOnceMax; nth < entryCount && left > 0; nth++) {
    const low = shapes[nth * 2]!;
    const high = shapes[nth * 2 + 1]!;
    if (known.has(low, high)) continue;
    row.created_at = slice.created;
    left -= definitionLimits.namesOfRead;
    if (readEvent(index, toOffset(first + nth), eventContext, row) !== undefined) continue;
    if (low === 0 && high === shapeUnknown / 2 ** 32) left -= definitions.record(row);
    else {
      known.add(low, high);
      left -= definitions.read(row);
    }
  }
  return nth;
}

/** The plain rows of some years of a slice, in columns; returns how many. */
function appendYears(
  fast: ScanArena,
  slice: { first: number; rank: number; created: number; year: number; to: number },
  progress: AppendProgress,
): number {
  const { eventContext, lane, groups, journal } = progress;
  const { first, rank, created, to } = slice;
  let rows = 0;
  for (let { year } = slice; year < to; year++) {
    const columns = fast.writeColumns(first, year, eventContext, created, rank);
    if (columns.identity) journal.firstRanks.settleMany(columns.identity, columns.rows);
    const append = (block: Block) => block.appendColumns(columns);
    lane.appendMany(fast.yearAt(year), columns.rows, append, eventContext.project_id);
    if (fast.warnedCount > 0) recordPlainWarnings(fast, columns, first, progress);
    rows += columns.rows;
  }
  if (rows > 0) groups.join(lane);
  return rows;
}

/** Records the warnings of plain rows just written as columns; `first` is the slice's first entry. */
function recordPlainWarnings(
  fast: ScanArena,
  { bytes }: ColumnBatch,
  first: number,
  { index, warned, journal }: AppendProgress,
): void {
  const { uuid } = journal.row;
  for (let i = 0; i < fast.warnedCount; i++) {
    const pair = fast.warnedAt(i);
    const at = toOffset(first + (pair & 0xffff));
    const from = layout.OUT_UUID + (pair >>> 16) * 16;
    for (let byte = 0; byte < 16; byte++) uuid[byte] = bytes[from + byte]!;
    warned.add(index.entries[at + field.ordinal]!, fast.readWarning(pair & 0xffff), index.entries, at, uuid);
  }
}
