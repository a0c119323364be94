// Takes the snapshots of one request into the lane of recordings, if the project records sessions. Recordings have a
// share of the journal, so that they leave room for events.

import { yieldToEventLoop } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { recordingLimits } from "./limits.ts";
import type { MemoryLease } from "../../work/memory_budget.ts";
import type { Journal } from "../journal/journal.ts";
import { field } from "../scan/event_fields.ts";
import type { Reason } from "../event/outcome.ts";
import type { BodyScanner } from "../scan/body_scanner.ts";
import { type SnapshotRow, type SnapshotSending, SnapshotReading, readSnapshot } from "./snapshot.ts";

export interface RecorderOptions extends SnapshotSending {
  journal: Journal;
  /** Whether the project records sessions. */
  wanted: boolean;
  /** Days for which a recording is kept. */
  retentionDays: number;
  /** Charged for copies of long snapshots. */
  lease?: MemoryLease | undefined;
}

export class Recorder {
  /** Number of snapshots taken. */
  taken = 0;
  /** Whether some were refused because the project does not record sessions; their sender may stop. */
  unwanted = false;
  readonly #options: RecorderOptions;
  readonly #failedBefore: number;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#failedBefore = options.journal.recordings.failedGroups;
  }

  /**
   * Appends entry `at` to the open block; returns the reason when it is refused.
   * @throws Fault unavailable when recordings have filled their share of the journal; journal_share_exceeded when this
   * project has.
   */
  take(scan: BodyScanner, at: number): Reason | undefined {
    return this.#refused() ?? this.#keep(readSnapshot(scan, at, this.#options));
  }

  /**
   * As take(), for a long snapshot: yields to the event loop between slices.
   * @throws Fault unavailable also when there is no memory for the copy.
   */
  async takeLong(scan: BodyScanner, at: number): Promise<Reason | undefined> {
    const refused = this.#refused();
    if (refused) return refused;
    const { entries } = scan;
    this.#options.lease?.acquire(entries[at + field.item + 1]! - entries[at + field.item]!);
    const reading = new SnapshotReading();
    reading.open(scan, at, this.#options);
    while (!reading.advance(recordingLimits.snapshotSliceBytesMax)) await yieldToEventLoop();
    return this.#keep(reading.outcome!);
  }

  #refused(): Reason | undefined {
    if (this.#options.wanted) return undefined;
    this.unwanted = true;
    return "snapshot";
  }

  #keep(row: SnapshotRow | Reason): Reason | undefined {
    if (typeof row === "string") return row;
    const { journal, retentionDays, project_id } = this.#options;
    if (journal.room.recordingsFull) throw notKept();
    const refusal = journal.room.recordingRefusal(project_id);
    if (refusal) throw refusal;
    row.timestamp = journal.stamp();
    row.expires_at = row.timestamp + retentionDays * dayMicros;
    journal.recordings.append(row);
    this.taken++;
    return undefined;
  }

  /** Whether enough recordings wait for the disk that makeRoom() must be called before more are taken. */
  get crowded(): boolean {
    return this.taken > 0 && this.#options.journal.recordings.crowded;
  }

  /** Resolves when the waiting recordings are on disk. */
  async makeRoom(): Promise<void> {
    await this.#options.journal.recordings.commit();
  }

  /**
   * Resolves when the snapshots taken are as durable as `ack` says.
   * @throws Fault unavailable when some could not be written.
   */
  async acknowledge(ack: "journal" | "stored" | "memory"): Promise<void> {
    const { journal } = this.#options;
    const { recordings } = journal;
    if (ack === "memory") return void recordings.commit().catch(() => {});
    await recordings.commit();
    // The commit of another request may have included them.
    if (recordings.failedGroups !== this.#failedBefore) throw notKept();
    if (ack === "stored") await journal.stored(recordings);
  }
}

function notKept(): Fault {
  const detail = "Recordings cannot be kept right now. Send them again later.";
  return new Fault("unavailable", detail, { retryAfterSeconds: 5 });
}

const dayMicros = limits.dayMs * 1000;
