// How much of the journal may be used: one project must not use what others need, nor recordings what events need.

import { Fault } from "../../core/fault.ts";
import type { PendingSize } from "./lane_kind.ts";
import { journalLimits } from "./limits.ts";

interface QuotaLane {
  readonly usage: { readonly total: PendingSize; of(project_id: number): PendingSize };
}

interface CaptureQuotaOptions<EventLane> {
  lanes: { live: EventLane; historical: EventLane; merges: QuotaLane; recordings: QuotaLane };
  bytesMax: number;
  freeBytes(): number;
  recordingBytes(): number;
  /** Whether the disk is nearly full: then nothing more may be appended. */
  isTight(): boolean;
}

export class CaptureQuota<EventLane extends QuotaLane> {
  /**
   * True while ClickHouse accepts no inserts. Then no project delays others: only bytes bound what a project sends, so
   * that its events last through an outage for as long as those of others.
   */
  isStoreUnavailable = true;
  readonly #options: CaptureQuotaOptions<EventLane>;
  readonly #floorBytes: number;
  #changesPerSecond: number = journalLimits.changesPerSecondGuess;

  constructor(options: CaptureQuotaOptions<EventLane>) {
    this.#options = options;
    this.#floorBytes = options.bytesMax / journalLimits.journalFloorDivisor;
  }

  /** True when no more recordings may be appended, though events still may. */
  get areRecordingsFull(): boolean {
    return this.#options.isTight() || this.#freeRecordingBytes() <= 0;
  }

  /**
   * The lane for a project's next events. Live events go to the historical lane when so many of the project's events
   * are pending that those of others would have to wait for them.
   * @throws Fault journal_share_exceeded, changes_share_exceeded when the project's share is used up.
   */
  chooseLane(project_id: number, isHistorical: boolean): EventLane {
    const { live, historical, merges } = this.#options.lanes;
    const imported = historical.usage.of(project_id);
    const bytes = live.usage.of(project_id).bytes + imported.bytes + merges.usage.of(project_id).bytes;
    if (bytes > this.#floorBytes && bytes > journalLimits.journalFreeMultiple * this.#options.freeBytes()) {
      throw journalShareExceeded("events");
    }
    if (!isHistorical && !this.isOverLiveQuota(project_id)) return live;
    const freeChanges = journalLimits.changesBacklogMax - historical.usage.total.changes;
    const { changes } = imported;
    if (!this.isStoreUnavailable && changes > journalLimits.changesFloor && changes > freeChanges) {
      throw this.#changesShareExceeded(changes);
    }
    return historical;
  }

  /** Whether so many live events of the project are pending that further ones go to the historical lane. */
  isOverLiveQuota(project_id: number): boolean {
    const { usage } = this.#options.lanes.live;
    const weight = weigh(usage.of(project_id));
    const max = journalLimits.liveBacklogBytesMax;
    return weight > max / journalLimits.liveFloorDivisor && weight > max - weigh(usage.total);
  }

  recordingRefusal(project_id: number): Fault | undefined {
    const { bytes } = this.#options.lanes.recordings.usage.of(project_id);
    const isFree =
      bytes <= this.#floorBytes || bytes <= journalLimits.journalFreeMultiple * this.#freeRecordingBytes();
    return isFree ? undefined : journalShareExceeded("recordings");
  }

  recordDerived(changes: number, ms: number): void {
    // The time of a small insert is mostly that of any insert.
    if (changes < journalLimits.changesFloor) return;
    this.#changesPerSecond = (this.#changesPerSecond + (changes / Math.max(1, ms)) * 1000) / 2;
  }

  #changesShareExceeded(waiting: number): Fault {
    const detail =
      `${waiting} changes of persons and groups of this project wait to be stored, its share of what may be pending. ` +
      "Send the events again later.";
    const seconds = Math.ceil(waiting / 2 / this.#changesPerSecond);
    const retryAfterSeconds = Math.min(journalLimits.shareRetrySecondsMax, Math.max(retrySeconds, seconds));
    return new Fault("changes_share_exceeded", detail, { retryAfterSeconds });
  }

  #freeRecordingBytes(): number {
    const { bytesMax, recordingBytes } = this.#options;
    return bytesMax * journalLimits.recordingsJournalFraction - recordingBytes();
  }
}

function weigh({ bytes, changes }: PendingSize): number {
  return bytes + changes * journalLimits.changeWeightBytes;
}

const retrySeconds = 5;

function journalShareExceeded(what: string): Fault {
  const detail =
    `So many ${what} of this project wait to be stored that the remaining space is others'. ` +
    "Send them again later.";
  return new Fault("journal_share_exceeded", detail, { retryAfterSeconds: retrySeconds });
}
