// Who may take how much of the journal and of its disk: what each project has pending, and what is free for it. One
// project must not take the room that others need, and the journal not that of the stores.

import { statfs } from "node:fs/promises";
import { Fault } from "../../core/fault.ts";
import { type Log, reasonOf } from "../../core/log.ts";
import { journalLimits } from "./limits.ts";
import { type LaneName, type Segment, lanes } from "./segments/segment.ts";

export interface Pending {
  events: number;
  bytes: number;
}

interface LaneRoom {
  readonly openRows: number;
  readonly writingRows: number;
  readonly openBytes: number;
  readonly segment: Segment | undefined;
  readonly usage: LaneUsage;
}

interface JournalRoomOptions<EventLane> {
  lanes: Readonly<Record<LaneName, LaneRoom>> & { live: EventLane; historical: EventLane };
  /** Segments that wait to be flushed, or are being flushed. */
  sealed: Readonly<Record<LaneName, readonly Segment[]>>;
  bytesMax: number;
  /** Whether the disk is nearly full: then nothing more may be taken. */
  isTight(): boolean;
}

export class JournalRoom<EventLane extends LaneRoom> {
  /**
   * True while ClickHouse takes no inserts. Then no project delays others, so only bytes bound what a project sends,
   * and it gets through an outage for as long as the others.
   */
  isStoreAway = true;
  readonly #options: JournalRoomOptions<EventLane>;
  readonly #floorBytes: number;
  #changesPerSecond: number = journalLimits.changesPerSecondGuess;

  constructor(options: JournalRoomOptions<EventLane>) {
    this.#options = options;
    this.#floorBytes = options.bytesMax / journalLimits.journalFloorShare;
  }

  pending(): Pending {
    const pending = { events: 0, bytes: 0 };
    for (const name of lanes) {
      const { openRows, writingRows, segment } = this.#options.lanes[name];
      const isCounted = name !== "warnings" && name !== "merges";
      if (isCounted) pending.events += openRows + writingRows;
      for (const { rows, bytes } of [...(segment ? [segment] : []), ...this.#options.sealed[name]]) {
        if (isCounted) pending.events += rows;
        pending.bytes += rows > 0 ? bytes : 0;
      }
    }
    return pending;
  }

  /** True when nothing more may be taken until a flush makes room. */
  get full(): boolean {
    return this.#options.isTight() || this.#freeBytes() <= 0;
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
    if (bytes > this.#floorBytes && bytes > journalLimits.journalShare * this.#freeBytes()) {
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

  #freeBytes(): number {
    let bytes = 0;
    for (const name of lanes) bytes += this.#bytesIn(name);
    return this.#options.bytesMax - bytes;
  }

  #freeRecordingBytes(): number {
    return this.#options.bytesMax * journalLimits.recordingsJournalShare - this.#bytesIn("recordings");
  }

  #bytesIn(name: LaneName): number {
    const { openBytes, segment } = this.#options.lanes[name];
    let bytes = openBytes + (segment?.bytes ?? 0);
    for (const sealed of this.#options.sealed[name]) bytes += sealed.bytes;
    return bytes;
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

export interface Use {
  /** As blocks estimate them; for segments found at the start, as in the file. */
  bytes: number;
  /** Of persons and groups; each becomes a row when stored. Unknown, and 0, for segments found at the start. */
  changes: number;
}

type Uses = Map<number, Use>;

/**
 * What is pending in a lane, by project: bytes, and changes of persons and groups, from the open block until their
 * segment is flushed.
 */
export class LaneUsage {
  readonly total = nothing();
  /** The sum by project; only projects that have something. */
  readonly #held: Uses = new Map();
  /** Its parts: in open blocks, in the group that is being written, and in segments that are not flushed. */
  #open: Uses = new Map();
  #writing: Uses = new Map();
  readonly #segments = new Map<bigint, Uses>();
  /** The counts of the last project: rows of one project come in runs. */
  #project = -1;
  #projectOpen = nothing();
  #projectHeld = nothing();

  of(project_id: number): Readonly<Use> {
    return this.#held.get(project_id) ?? noUse;
  }

  /** Adds rows of an open block. */
  add(project_id: number, bytes: number, changes: number): void {
    if (project_id !== this.#project) {
      this.#projectOpen = useIn(this.#open, project_id);
      this.#projectHeld = useIn(this.#held, project_id);
      this.#project = project_id;
    }
    this.#projectOpen.bytes += bytes;
    this.#projectOpen.changes += changes;
    this.#projectHeld.bytes += bytes;
    this.#projectHeld.changes += changes;
    this.total.bytes += bytes;
    this.total.changes += changes;
  }

  /** The open blocks become the group that is written. */
  begin(): void {
    this.#writing = this.#open;
    this.#open = new Map();
    this.#project = -1;
  }

  /** The group, or its first part, was written to this segment. */
  place(segment: bigint): void {
    this.found(segment, this.#writing, false);
    this.#writing = new Map();
  }

  /** Subtracts the part of the group that could not be written. */
  drop(): void {
    this.#subtract(this.#writing);
    this.#writing = new Map();
  }

  /** Adds what a segment of an earlier process holds. */
  found(segment: bigint, uses: ReadonlyMap<number, Use>, isNew = true): void {
    if (uses.size === 0) return;
    let held = this.#segments.get(segment);
    if (!held) this.#segments.set(segment, (held = new Map()));
    for (const [project_id, use] of uses) {
      addTo(useIn(held, project_id), use);
      if (!isNew) continue;
      addTo(useIn(this.#held, project_id), use);
      addTo(this.total, use);
    }
  }

  free(segment: bigint): void {
    const uses = this.#segments.get(segment);
    if (!uses) return;
    this.#segments.delete(segment);
    this.#subtract(uses);
  }

  #subtract(uses: Uses): void {
    for (const [project_id, { bytes, changes }] of uses) {
      const held = useIn(this.#held, project_id);
      held.bytes -= bytes;
      held.changes -= changes;
      this.total.bytes -= bytes;
      this.total.changes -= changes;
      if (held.bytes <= 0 && held.changes <= 0) this.#held.delete(project_id);
    }
    // The last project's counts may have been deleted.
    this.#project = -1;
  }
}

const noUse: Readonly<Use> = nothing();

function nothing(): Use {
  return { bytes: 0, changes: 0 };
}

function useIn(uses: Uses, project_id: number): Use {
  let use = uses.get(project_id);
  if (!use) uses.set(project_id, (use = nothing()));
  return use;
}

function addTo(use: Use, { bytes, changes }: Use): void {
  use.bytes += bytes;
  use.changes += changes;
}

export interface VolumeFigures {
  /** Bytes that this process may use. */
  freeBytes: number;
  totalBytes: number;
}

interface DiskRoomOptions {
  folder: string;
  read?: (folder: string) => Promise<VolumeFigures>;
  log: Log;
}

/** A write that would use the reserve. */
export class NoRoom extends Error {}

/**
 * How much the journal may write on its volume. A reserve stays free for the stores: they need room before the
 * journal's events can be stored and the journal shrinks.
 */
export class DiskRoom {
  readonly #options: DiskRoomOptions;
  #figures: VolumeFigures = { freeBytes: Number.POSITIVE_INFINITY, totalBytes: Number.POSITIVE_INFINITY };
  /** Bytes that may be written until the next look(). */
  #allowed = Number.POSITIVE_INFINITY;
  #low = false;
  /** Whether the log says that it is low. */
  #logged = false;
  #failing = false;

  constructor(options: DiskRoomOptions) {
    this.#options = options;
  }

  /** True when captures must be refused. */
  get low(): boolean {
    return this.#low;
  }

  /** As of the last look(); undefined when none has succeeded. */
  get freeBytes(): number | undefined {
    return Number.isFinite(this.#figures.freeBytes) ? this.#figures.freeBytes : undefined;
  }

  get reserveBytes(): number {
    return reserveOf(this.#figures.totalBytes);
  }

  /** The longest segment: the store's part, and a copy that an embedded engine reads, must fit in the reserve. */
  get segmentBytesMax(): number {
    return this.reserveBytes / 4;
  }

  /**
   * Acquires bytes for writing.
   * @throws NoRoom when they would use the reserve.
   */
  take(bytes: number): void {
    if (bytes > this.#allowed) this.#low = true;
    if (this.#low) throw new NoRoom("the disk is nearly full");
    this.#allowed -= bytes;
  }

  /** Whether so many bytes may be written beside what must be; asking for them takes nothing. */
  has(bytes: number): boolean {
    return !this.#low && bytes <= this.#allowed;
  }

  async look(): Promise<void> {
    const { folder, read = readVolume, log } = this.#options;
    try {
      this.#figures = await read(folder);
      this.#failing = false;
    } catch (thrown) {
      // Unknown figures refuse nothing: a write that fails is refused then.
      if (!this.#failing)
        log.warn("the free space of the disk is not known", { folder, reason: reasonOf(thrown) });
      this.#failing = true;
      return;
    }
    const { freeBytes } = this.#figures;
    const { reserveBytes } = this;
    // It ends only with some room above the reserve; otherwise it would change with each write.
    const needed = this.#low ? reserveBytes * (1 + journalLimits.diskBackShare) : reserveBytes;
    this.#low = freeBytes < needed;
    this.#allowed = Math.max(0, freeBytes - reserveBytes);
    const figures = { free_bytes: freeBytes, reserve_bytes: reserveBytes };
    if (this.#low && !this.#logged) log.error("the disk is nearly full: captures are refused", figures);
    if (this.#logged && !this.#low) log.info("the disk has room again: captures are taken", figures);
    this.#logged = this.#low;
  }
}

/** The reserve of a volume of so many bytes. */
export function reserveOf(totalBytes: number): number {
  const wanted = Math.max(journalLimits.diskReserveBytesMin, totalBytes * journalLimits.diskReserveShare);
  return Math.floor(
    Math.min(wanted, journalLimits.diskReserveBytesMax, totalBytes * journalLimits.diskReserveShareMax),
  );
}

async function readVolume(folder: string): Promise<VolumeFigures> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
