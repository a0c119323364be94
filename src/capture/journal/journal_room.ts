// How much of the journal is free, and for whom: one project never takes all that others need to go on. Never moves a
// row itself.

import { Fault } from "../../core/fault.ts";
import { journalLimits } from "./limits.ts";
import type { Block } from "../columns/block.ts";
import type { Lane } from "./lane.ts";
import type { LaneUsage } from "./lane_usage.ts";
import type { Row } from "../event/row.ts";
import { type LaneName, type Segment, lanes } from "./segments/segment.ts";

export type EventLane = Lane<Row, Block>;

export interface Pending {
  events: number;
  bytes: number;
}

/** What is looked at of a lane. */
interface LaneRoom {
  readonly openRows: number;
  readonly writingRows: number;
  readonly openBytes: number;
  readonly segment: Segment | undefined;
  readonly usage: LaneUsage;
}

export interface JournalRoomOptions {
  lanes: Readonly<Record<Exclude<LaneName, "live" | "historical">, LaneRoom>> & {
    live: EventLane;
    historical: EventLane;
  };
  /** Segments that wait to be flushed, or are. */
  sealed: Readonly<Record<LaneName, readonly Segment[]>>;
  bytesMax: number;
  /** Whether little room is left on the disk: then nobody may take more. */
  isTight(): boolean;
}

/** Lanes whose rows count as events that wait. */
const countedLanes = ["live", "historical", "recordings"] as const;

export class JournalRoom {
  /**
   * True while ClickHouse takes no inserts. Nothing is late for others then: only bytes bound what one project sends,
   * so that an outage is as long for it as for all.
   */
  isStoreAway = true;
  readonly #options: JournalRoomOptions;
  readonly #floorBytes: number;
  #changesPerSecond: number = journalLimits.changesPerSecondGuess;

  constructor(options: JournalRoomOptions) {
    this.#options = options;
    this.#floorBytes = options.bytesMax / journalLimits.journalFloorShare;
  }

  pending(): Pending {
    const pending = { events: 0, bytes: 0 };
    for (const name of countedLanes) {
      const lane = this.#options.lanes[name];
      pending.events += lane.openRows + lane.writingRows;
    }
    for (const name of lanes) {
      for (const segment of this.#segments(name)) {
        if (name !== "warnings" && name !== "merges") pending.events += segment.rows;
        pending.bytes += segment.rows > 0 ? segment.bytes : 0;
      }
    }
    return pending;
  }

  /** True when no more may be taken until a flush has made room. */
  get full(): boolean {
    return this.#options.isTight() || this.#freeBytes() <= 0;
  }

  /** True when no more recordings may be taken, though events still may. */
  get recordingsFull(): boolean {
    return this.#options.isTight() || this.#freeRecordingBytes() <= 0;
  }

  /**
   * The lane that takes a project's next events: the live one for those that are live, unless so many of the project
   * wait there already that others' would have to wait for them.
   * @throws Fault journal_share_exceeded, changes_share_exceeded when the project has its share of what may wait.
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

  /** Whether the project's live events that wait are so many that further ones go behind imports. */
  isAhead(project_id: number): boolean {
    const { usage } = this.#options.lanes.live;
    const weight = weightOf(usage.of(project_id));
    const max = journalLimits.liveBacklogBytesMax;
    return weight > max / journalLimits.liveFloorShare && weight > max - weightOf(usage.total);
  }

  /** Why no recording of the project may be taken now, if none may, though others' may. */
  recordingRefusal(project_id: number): Fault | undefined {
    const { bytes } = this.#options.lanes.recordings.usage.of(project_id);
    if (bytes <= this.#floorBytes || bytes <= journalLimits.journalShare * this.#freeRecordingBytes())
      return undefined;
    return journalShareExceeded("recordings");
  }

  /** An insert brought so many changes in so many ms. */
  noteDerived(changes: number, ms: number): void {
    // A small one says how long any insert takes.
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
    for (const name of lanes) {
      const lane = this.#options.lanes[name];
      bytes += lane.openBytes + (lane.segment?.bytes ?? 0);
      for (const segment of this.#options.sealed[name]) bytes += segment.bytes;
    }
    return this.#options.bytesMax - bytes;
  }

  #freeRecordingBytes(): number {
    let bytes = this.#options.lanes.recordings.openBytes;
    for (const segment of this.#segments("recordings")) bytes += segment.bytes;
    return this.#options.bytesMax * journalLimits.recordingsJournalShare - bytes;
  }

  *#segments(name: LaneName): Iterable<Segment> {
    const growing = this.#options.lanes[name].segment;
    if (growing) yield growing;
    yield* this.#options.sealed[name];
  }
}

function weightOf({ bytes, changes }: LaneUsage["total"]): number {
  return bytes + changes * journalLimits.changeWeightBytes;
}

const retrySeconds = 5;

function journalShareExceeded(what: string): Fault {
  const detail =
    `So many ${what} of this project wait to be stored that the room left is others'. ` +
    "Send them again later.";
  return new Fault("journal_share_exceeded", detail, { retryAfterSeconds: retrySeconds });
}
