// The slow path of the append: events one by one, of which a long snapshot takes several turns.

import type { Slices } from "../core/clock.ts";
import { mergeKind } from "../persons/merge.ts";
import type { CaptureJournal, EventLane } from "./capture_journal.ts";
import type { BodyQuota } from "./daily_quota/daily_quotas.ts";
import type { DefinitionBook } from "./definitions/definition_book.ts";
import { definitionLimits } from "./definitions/limits.ts";
import { type EventContext, isSnapshot, readEvent } from "./event/event.ts";
import type { MergeRow } from "./event/merge_row.ts";
import { type EntryOffset, field, toOffset } from "./fields/event_fields.ts";
import { type Outcomes, type Reason, type Warning, warningBit, warnings } from "./fields/outcome.ts";
import { rangeText } from "./fields/raw_value.ts";
import type { Row } from "./fields/row.ts";
import type { CommitGroups } from "./journal/lane.ts";
import { captureLimits } from "./limits.ts";
import type { Recorder } from "./recordings/recorder.ts";
import type { BodyScanner } from "./scan/body_scanner.ts";
import type { EventIndex } from "./scan/event_index.ts";

export interface AppendContext {
  scanner: BodyScanner;
  eventContext: EventContext;
  warned: Outcomes<Warning>;
  lanes: { next(): EventLane };
  groups: CommitGroups;
  journal: CaptureJournal;
  definitions: Pick<DefinitionBook, "shapes" | "read" | "record">;
  /** Counts the events of a project that may send only so many a day. */
  quota?: BodyQuota | undefined;
  /** Appends the pieces of recordings; opened for the first one. */
  recorder?: Recorder;
  newRecorder(): Recorder;
}

export interface AppendProgress extends AppendContext {
  index: EventIndex;
  lane: EventLane;
  /** Entries within the quota; further ones are ignored, unless they are pieces of recordings. */
  admitted: number;
  /** Names that were read in this turn, of events that went the slow way. */
  named: number;
}

export interface AppendedSlice {
  /** Entries that were appended, ignored or recorded. */
  entryCount: number;
  rows: number;
}

/** One slice the slow way. */
export function* appendSlowly(first: number, progress: AppendProgress): Slices<AppendedSlice> {
  const { entries, count } = progress.index;
  const last = Math.min(count, first + captureLimits.slowSliceRowsMax);
  const bytesEnd = entries[toOffset(first) + field.item]! + captureLimits.slowSliceBytesMax;
  let [at, rows] = [first, 0];
  progress.named = 0;
  for (; at < last && entries[toOffset(at) + field.item]! <= bytesEnd; at++) {
    if (progress.named >= definitionLimits.namesAtOnceMax) break;
    const appended = appendOne(toOffset(at), progress.journal.allocateRanks(1), progress);
    rows += typeof appended === "number" ? appended : yield* appended;
  }
  return { entryCount: at - first, rows };
}

/**
 * Appends the entry at `at`: 0 when it was ignored or is a piece of a recording, which may take several turns, else 1.
 */
export function appendOne(at: EntryOffset, rank: number, progress: AppendProgress): number | Slices<number> {
  const read = readRow(at, rank, progress);
  return read === "recording" ? appendPiece(at, progress) : finishRow(at, read, progress);
}

function* appendPiece(at: EntryOffset, progress: AppendProgress): Slices<number> {
  const recorder = (progress.recorder ??= progress.newRecorder());
  return ignore(at, yield* recorder.append(progress.index, at), progress);
}

function readRow(at: EntryOffset, rank: number, progress: AppendProgress): ReturnType<typeof readEvent> {
  const { index, eventContext, journal, groups } = progress;
  if (at >= toOffset(progress.admitted) && !isSnapshot(index, at)) return "daily_event_quota_exceeded";
  const { row } = journal;
  const { openRows } = journal.merging;
  row.created_at = journal.stamp();
  row.rank = rank;
  const read = readEvent(index, at, eventContext, row);
  // A new group type travels in the lane of merges.
  if (journal.merging.openRows !== openRows) groups.join(journal.merging);
  return read;
}

/** Appends the row that was read, unless there is a reason not to; returns how many rows. */
function finishRow(at: EntryOffset, reason: Reason | undefined, progress: AppendProgress): number {
  if (reason) return ignore(at, reason, progress);
  const { index, warned, lane, journal, groups, definitions } = progress;
  const { row } = journal;
  progress.named += definitions.record(row);
  if (row.changes.count > 0) row.rank = journal.firstRanks.settle(row.uuidWords, 0, row.rank);
  lane.append(row);
  groups.join(lane);
  if (row.merge !== mergeKind.none) {
    journal.merging.append(toMerge(row));
    groups.join(journal.merging);
  }
  if (row.warned === 0) return 1;
  for (const warning of warnings) {
    if ((row.warned & warningBit[warning]) === 0) continue;
    warned.add(index.entries[at + field.ordinal]!, warning, index.entries, at, row.uuid);
  }
  return 1;
}

function ignore(at: EntryOffset, reason: Reason | undefined, { index }: AppendProgress): 0 {
  if (reason) index.ignored.add(index.entries[at + field.ordinal]!, reason, index.entries, at);
  return 0;
}

/**
 * `$identify` merges the anonymous id into the event's id, an alias the event's id into the alias, and
 * `$merge_dangerously` the alias into the event's id.
 */
function toMerge({ project_id, merge, distinct_id, other_id, timestamp, created_at }: Row): MergeRow {
  const [id, otherId] = [rangeText(distinct_id), rangeText(other_id)];
  const [from, into] = merge === mergeKind.alias ? [id, otherId] : [otherId, id];
  return { project_id, kind: merge, from, into, at: timestamp, created_at, timestamp: created_at };
}
