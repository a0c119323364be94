// Who may take how much of the journal. One project must not take the room that others need, nor recordings that of
// events.

import { Fault } from "../core/fault.ts";
import { journalLimits } from "./journal/limits.ts";
import type { PendingByProject, Use } from "./journal/lane.ts";

interface QuotaLane {
  readonly usage: PendingByProject;
}

interface CaptureQuotaOptions<EventLane> {
  lanes: { live: EventLane; historical: EventLane; merges: QuotaLane; recordings: QuotaLane };
  bytesMax: number;
  freeBytes(): number;
  recordingBytes(): number;
  /** Whether the disk is nearly full: then nothing more may be taken. */
  isTight(): boolean;
}

export class CaptureQuota<EventLane extends QuotaLane> {
  /**
   * True while ClickHouse takes no inserts. Then no project delays others, so only bytes bound what a project sends,
   * and it gets through an outage for as long as the others.
   */
  isStoreAway = true;
  readonly #options: CaptureQuotaOptions<EventLane>;
  readonly #floorBytes: number;
  #changesPerSecond: number = journalLimits.changesPerSecondGuess;

  constructor(options: CaptureQuotaOptions<EventLane>) {
    this.#options = options;
    this.#floorBytes = options.bytesMax / journalLimits.journalFloorShare;
  }

  /** True when no more recordings may be taken, though events still may. */
  get recordingsFull(): boolean {
    return this.#options.isTight() || this.#freeRecordingBytes() <= 0;
  }

  /**
   * The lane for a project's next events. Live events go to the historical lane when so many of the project's events
   * are pending that those of others would have to wait for them.
   * @throws Fault journal_share_exceeded, changes_share_exceeded when the project's share is used up.
   */
  laneFor(project_id: number, isHistorical: boolean): EventLane {
    const { live, historical, merges } = this.#options.lanes;
    const late = historical.usage.of(project_id);
    const bytes = live.usage.of(project_id).bytes + late.bytes + merges.usage.of(project_id).bytes;
    if (bytes > this.#floorBytes && bytes > journalLimits.journalShare * this.#options.freeBytes()) {
      throw journalShareExceeded("events");
    }
    if (!isHistorical && !this.isAhead(project_id)) return live;
    const free = journalLimits.changesBacklogMax - historical.usage.total.changes;
    if (!this.isStoreAway && late.changes > journalLimits.changesFloor && late.changes > free) {
      throw this.#changesShareExceeded(late.changes);
    }
    return historical;
  }

  /** Whether so many live events of the project are pending that further ones go to the historical lane. */
  isAhead(project_id: number): boolean {
    const { usage } = this.#options.lanes.live;
    const weight = weightOf(usage.of(project_id));
    const max = journalLimits.liveBacklogBytesMax;
    return weight > max / journalLimits.liveFloorShare && weight > max - weightOf(usage.total);
  }

  recordingRefusal(project_id: number): Fault | undefined {
    const { bytes } = this.#options.lanes.recordings.usage.of(project_id);
    const isFree =
      bytes <= this.#floorBytes || bytes <= journalLimits.journalShare * this.#freeRecordingBytes();
    return isFree ? undefined : journalShareExceeded("recordings");
  }

  noteDerived(changes: number, ms: number): void {
    // The time of a small insert is mostly that of any insert.
    if (changes < journalLimits.changesFloor) return;
    this.#changesPerSecond = (this.#changesPerSecond + (changes / Math.max(1, ms)) * 1000) / 2;
  }

  #changesShareExceeded(waiting: number): Fault {
    const detail =
      `${waiting} changes of persons and groups of this project wait to be stored, its share of what may wait. ` +
      "Send the events again later.";
    const seconds = Math.ceil(waiting / 2 / this.#changesPerSecond);
    const retryAfterSeconds = Math.min(journalLimits.shareRetrySecondsMax, Math.max(retrySeconds, seconds));
    return new Fault("changes_share_exceeded", detail, { retryAfterSeconds });
  }

  #freeRecordingBytes(): number {
    const { bytesMax, recordingBytes } = this.#options;
    return bytesMax * journalLimits.recordingsJournalShare - recordingBytes();
  }
}

function weightOf({ bytes, changes }: Use): number {
  return bytes + changes * journalLimits.changeWeightBytes;
}

const retrySeconds = 5;

function journalShareExceeded(what: string): Fault {
  const detail =
    `So many ${what} of this project wait to be stored that the room left is others'. ` +
    "Send them again later.";
  return new Fault("journal_share_exceeded", detail, { retryAfterSeconds: retrySeconds });
}
