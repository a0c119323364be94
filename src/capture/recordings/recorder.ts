// The recorder appends the snapshots of a request to the lane of recordings if the project records sessions and the
// recordings leave the journal space for events.

import type { Slices } from "../../core/clock.ts";
import { unavailable } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import type { MemoryLease } from "../../work/bodies/memory_budget.ts";
import type { CaptureJournal } from "../capture_journal.ts";
import { type EntryOffset, field } from "../fields/event_fields.ts";
import type { Outcomes, Reason, Warning } from "../fields/outcome.ts";
import type { CommitGroups } from "../journal/lane.ts";
import { captureLimits } from "../limits.ts";
import type { EventIndex } from "../scan/event_index.ts";
import { type SnapshotContext, SnapshotReader } from "./snapshot.ts";

interface RecorderOptions extends SnapshotContext {
  journal: CaptureJournal;
  wanted: boolean;
  retentionDays: number;
  /** Gives memory for copies of long snapshots. */
  lease?: MemoryLease | undefined;
  groups: CommitGroups;
  warned: Outcomes<Warning>;
}

export class Recorder {
  recorded = 0;
  /** Whether snapshots were ignored because the project records no sessions: their sender may stop. */
  unwanted = false;
  readonly #options: RecorderOptions;
  /** Reads short snapshots. */
  #reader: SnapshotReader | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /**
   * Appends entry `at` to the open block, a long one with pauses for other requests; returns the reason if it is
   * ignored.
   * @throws Fault unavailable when recordings have filled their part of the journal, or there is no memory for a long
   *   one; journal_share_exceeded when this project's have filled its share.
   */
  *append(index: EventIndex, at: EntryOffset): Slices<Reason | undefined> {
    const { wanted, lease } = this.#options;
    this.unwanted ||= !wanted;
    if (!wanted) return "snapshot";
    const { entries } = index;
    const bytes = entries[at + field.item + 1]! - entries[at + field.item]!;
    const isLong = bytes > captureLimits.snapshotSliceBytesMax;
    if (isLong) lease?.acquire(bytes);
    const reader = isLong ? new SnapshotReader() : (this.#reader ??= new SnapshotReader());
    const row = yield* reader.read(index, at, this.#options);
    if (typeof row === "string") return row;
    const { journal, retentionDays, project_id, groups, warned } = this.#options;
    if (journal.quota.areRecordingsFull) {
      throw unavailable("Recordings cannot be stored right now. Send them again later.");
    }
    const refusal = journal.quota.recordingRefusal(project_id);
    if (refusal) throw refusal;
    row.timestamp = journal.stamp();
    row.expires_at = row.timestamp + retentionDays * dayMicros;
    journal.recordings.append(row);
    groups.join(journal.recordings);
    this.recorded++;
    if (row.facts.leftOut > 0) warned.add(entries[at + field.ordinal]!, "snapshot_left_out", entries, at);
    return undefined;
  }

  /** True when commit() must be called before further snapshots are appended. */
  get isCrowded(): boolean {
    return this.recorded > 0 && this.#options.journal.recordings.isCrowded;
  }

  /** Waits for the disk. The request's groups report what could not be written. */
  async commit(): Promise<void> {
    await this.#options.journal.recordings.commit().catch(() => {});
  }

  /** Resolves when the appended snapshots are in ClickHouse. */
  async stored(): Promise<void> {
    const { journal } = this.#options;
    if (this.recorded > 0) await journal.stored(journal.recordings);
  }
}

const dayMicros = limits.dayMs * 1000;
