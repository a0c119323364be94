// The recorder appends the snapshots of a request to the lane of recordings if the project records sessions and the
// recordings leave the journal space for events.

import { unavailable } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import type { MemoryLease } from "../../work/bodies/memory_budget.ts";
import { runAtOnce, runInTurns } from "../../work/slices.ts";
import type { CaptureJournal } from "../capture_journal.ts";
import { type EntryOffset, field } from "../fields/event_fields.ts";
import type { Outcomes, Reason, Warning } from "../fields/outcome.ts";
import type { CommitGroups } from "../journal/lane.ts";
import type { EventIndex } from "../scan/event_index.ts";
import { recordingLimits } from "./limits.ts";
import { type SnapshotContext, SnapshotReader, type SnapshotRow } from "./snapshot.ts";

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
   * Appends entry `at` to the open block; returns the reason if it is ignored.
   * @throws Fault unavailable when recordings have filled their part of the journal, journal_share_exceeded when this
   * project's have filled its share.
   */
  append(index: EventIndex, at: EntryOffset): Reason | undefined {
    const refused = this.#refused();
    if (refused) return refused;
    this.#reader ??= new SnapshotReader();
    const row = runAtOnce(this.#reader.read(index, at, this.#options, Number.POSITIVE_INFINITY));
    return this.#append(row, index, at);
  }

  /**
   * Appends a long snapshot, with pauses for other requests. @throws Fault as append(); unavailable also without
   * memory.
   */
  async appendLong(index: EventIndex, at: EntryOffset): Promise<Reason | undefined> {
    const refused = this.#refused();
    if (refused) return refused;
    const { entries } = index;
    this.#options.lease?.acquire(entries[at + field.item + 1]! - entries[at + field.item]!);
    const { snapshotSliceBytesMax } = recordingLimits;
    const row = await runInTurns(new SnapshotReader().read(index, at, this.#options, snapshotSliceBytesMax));
    return this.#append(row, index, at);
  }

  #refused(): Reason | undefined {
    if (this.#options.wanted) return undefined;
    this.unwanted = true;
    return "snapshot";
  }

  #append(row: SnapshotRow | Reason, { entries }: EventIndex, at: EntryOffset): Reason | undefined {
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
