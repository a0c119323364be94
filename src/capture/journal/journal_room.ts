// How much of the journal is free, and for which project: one project must not take the room that others need.

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

/** The part of a lane that is needed here. */
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
  /** Segments that wait to be flushed, or are being flushed. */
  sealed: Readonly<Record<LaneName, readonly Segment[]>>;
  bytesMax: number;
  /** Whether the disk is nearly full: then nothing more may be taken. */
  isTight(): boolean;
}

/** Lanes whose rows count as pending events. */
const countedLanes = ["live", "historical", "recordings"] as const;

export class JournalRoom {
  /**
   * True while ClickHouse takes no inserts. Then no project delays others, so only bytes bound what a project sends,
   * and it gets through an outage for as long as the others.
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

  /** The fault when the project's recordings have used up its share. */
  recordingRefusal(project_id: number): Fault | undefined {
    const { bytes } = this.#options.lanes.recordings.usage.of(project_id);
    if (bytes <= this.#floorBytes || bytes <= journalLimits.journalShare * this.#freeRecordingBytes())
      return undefined;
    return journalShareExceeded("recordings");
  }

  /** Notes that an insert of so many changes took so many ms. */
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
