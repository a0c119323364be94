// How much of the journal may be used. A reserve of its volume stays free for the stores; of the rest, one
// project must not use what others need, nor recordings what events need.

import { statfs } from "node:fs/promises";
import { Fault } from "../../core/fault.ts";
import { type Log, toReason } from "../../core/log.ts";
import type { PendingSize } from "./lane_kind.ts";
import { journalLimits } from "./limits.ts";

export interface VolumeFigures {
  freeBytes: number;
  totalBytes: number;
}

interface DiskReserveOptions {
  folder: string;
  readVolume?: (folder: string) => Promise<VolumeFigures>;
  log: Log;
}

/** A write that would use the reserve. */
export class DiskFullError extends Error {}

/** The stores need space before the journal's events can be stored and the journal shrinks. */
export class DiskReserve {
  readonly #options: DiskReserveOptions;
  #figures: VolumeFigures = { freeBytes: Number.POSITIVE_INFINITY, totalBytes: Number.POSITIVE_INFINITY };
  /** Bytes that may be written until the next poll(). */
  #writableBytes = Number.POSITIVE_INFINITY;
  /** True when captures must be refused. */
  isLow = false;
  #isLogged = false;
  #isFailing = false;

  constructor(options: DiskReserveOptions) {
    this.#options = options;
  }

  /** The figure of the last poll(); undefined when none has succeeded. */
  get freeBytes(): number | undefined {
    return Number.isFinite(this.#figures.freeBytes) ? this.#figures.freeBytes : undefined;
  }

  get reserveBytes(): number {
    return computeReserve(this.#figures.totalBytes);
  }

  /** The longest segment: the part it becomes, and a copy that an embedded engine reads, must fit in the reserve. */
  get segmentBytesMax(): number {
    return this.reserveBytes / 4;
  }

  /** Acquires bytes for writing. @throws DiskFullError when they would use the reserve. */
  acquire(bytes: number): void {
    if (bytes > this.#writableBytes) this.isLow = true;
    if (this.isLow) throw new DiskFullError("the disk is nearly full");
    this.#writableBytes -= bytes;
  }

  /** Whether so many bytes may be written that need not be; acquires nothing. */
  hasSpace(bytes: number): boolean {
    return !this.isLow && bytes <= this.#writableBytes;
  }

  async poll(): Promise<void> {
    const { folder, readVolume = statVolume, log } = this.#options;
    try {
      this.#figures = await readVolume(folder);
      this.#isFailing = false;
    } catch (thrown) {
      // Unknown figures refuse nothing: a write that fails is refused then.
      if (!this.#isFailing) log.warn("the free disk space is unknown", { folder, reason: toReason(thrown) });
      this.#isFailing = true;
      return;
    }
    const { freeBytes } = this.#figures;
    const { reserveBytes } = this;
    // Refusals end only with some space above the reserve; otherwise each write would begin or end them.
    const needed = this.isLow ? reserveBytes * (1 + journalLimits.diskBackFraction) : reserveBytes;
    this.isLow = freeBytes < needed;
    this.#writableBytes = Math.max(0, freeBytes - reserveBytes);
    const figures = { free_bytes: freeBytes, reserve_bytes: reserveBytes };
    if (this.isLow && !this.#isLogged) log.error("the disk is nearly full: captures are refused", figures);
    if (this.#isLogged && !this.isLow) log.info("the disk has space again: captures are accepted", figures);
    this.#isLogged = this.isLow;
  }
}

export function computeReserve(totalBytes: number): number {
  const share = Math.max(journalLimits.diskReserveBytesMin, totalBytes * journalLimits.diskReserveFraction);
  return Math.floor(
    Math.min(share, journalLimits.diskReserveBytesMax, totalBytes * journalLimits.diskReserveFractionMax),
  );
}

async function statVolume(folder: string): Promise<VolumeFigures> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

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
