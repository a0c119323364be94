// The journal: acknowledged events on disk until ClickHouse has them. Owns its lanes; asks no store.

import { mkdirSync } from "node:fs";
import type { Clock } from "../../core/clock.ts";
import { journalLimits } from "./limits.ts";
import type { Log } from "../../core/log.ts";
import { RepeatedLog } from "../../work/repeated_log.ts";
import { Wakeup } from "../../work/wakeup.ts";
import { Block } from "../columns/block.ts";
import type { DiskRoom } from "./disk_room.ts";
import { syncFolder } from "./segments/files.ts";
import { foundUsage } from "./recovery/found_usage.ts";
import { type EventLane, JournalRoom, type Pending } from "./journal_room.ts";
import { Lane, type LaneOptions } from "./lane.ts";
import type { LaneBlock, LaneRow } from "./lane_block.ts";
import { Ledger } from "./ledger.ts";
import { type Damage, Recovery } from "./recovery/recovery.ts";
import { SealedSegments } from "./sealed_segments.ts";
import { type LaneName, type Segment, flushesAtOnce, segmentId } from "./segments/segment.ts";
import { SegmentRecycler } from "./segments/segment_recycler.ts";
import { MergeBlock, type MergeRow, type MergeTaker } from "../flush/merge_row.ts";
import type { SnapshotRow } from "../recordings/snapshot.ts";
import { SnapshotBlock } from "../recordings/snapshot_block.ts";
import { WarningBlock, type WarningRow } from "../warnings/warning.ts";

export interface JournalOptions {
  folder: string;
  /** This journal's number among all journals that feed the same ClickHouse. */
  number: number;
  flushIntervalMs: number;
  bytesMax: number;
  /** Takes merges instead of this journal's own lane. */
  mergesTo?: MergeTaker;
  /** Counts damage found at the start. */
  damaged?(damage: Damage): void;
  /** How much may be written; without it, all that is free. */
  room?: DiskRoom;
  clock: Clock;
  log: Log;
}

export class Journal {
  readonly live: EventLane;
  readonly historical: EventLane;
  readonly warnings: Lane<WarningRow>;
  readonly merges: Lane<MergeRow>;
  /** Where merges go: their lane, or another process's. */
  readonly merging: MergeTaker;
  readonly recordings: Lane<SnapshotRow>;
  /** How much more may be taken, and from which project. */
  readonly room: JournalRoom;
  readonly folder: string;
  /** Files found damaged since the start. */
  damagedFiles = 0;
  readonly #options: JournalOptions;
  #number: number;
  readonly #ledger: Ledger;
  readonly #recycler: SegmentRecycler;
  readonly #lookMs: number;
  readonly #sealed = new SealedSegments();
  #lastMillis = 0;
  #lastMicros = 0;
  readonly #wakeup = new Wakeup();
  /** Growing segments, since when they are looked at. */
  readonly #ages = new Map<bigint, { openedMs: number; grownMs: number; bytes: number }>();
  #timer: ReturnType<typeof setInterval> | undefined;
  /** For failures that may repeat with each group. */
  readonly #log: RepeatedLog;
  #failedGroups = 0;
  #failedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#number = options.number;
    this.folder = options.folder;
    this.#ledger = new Ledger(options.folder);
    this.#recycler = new SegmentRecycler(
      options.folder,
      options.bytesMax / journalLimits.recycledFilesShare,
      options.clock,
    );
    this.#log = new RepeatedLog(options.log, options.clock);
    this.#lookMs = Math.max(2, Math.min(100, options.flushIntervalMs / 10));
    const events = () => new Block();
    this.live = this.#openLane("live", journalLimits.liveSegmentBytesMax, events);
    this.historical = this.#openLane("historical", journalLimits.historicalSegmentBytesMax, events);
    this.warnings = this.#openLane(
      "warnings",
      journalLimits.warningSegmentBytesMax,
      () => new WarningBlock(),
    );
    this.merges = this.#openLane("merges", journalLimits.mergeSegmentBytesMax, () => new MergeBlock());
    this.merging = options.mergesTo ?? this.merges;
    const recordings = () => new SnapshotBlock();
    this.recordings = this.#openLane("recordings", journalLimits.snapshotSegmentBytesMax, recordings);
    const { bytesMax } = options;
    this.room = new JournalRoom({
      lanes: this,
      sealed: this.#sealed.lanes,
      bytesMax,
      isTight: () => this.tight,
    });
  }

  /** Recovers what an earlier process left, then starts the clock that seals segments by age. */
  open(): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const recovery = this.#recovery();
    recovery.takeFolder(this.#ledger);
    this.#takeRecovered(recovery);
    this.#recycler.open(this.tight);
    recovery.beginLedger(this.#ledger);
    this.#timer = setInterval(() => void this.look(), this.#lookMs);
  }

  /** Writes what waits and seals the growing segments. The next start finds what is not flushed by then. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#log.close();
    await Promise.all(this.#lanes.map((lane) => lane.seal()));
  }

  /** Closes the ledger; after the last flush. */
  async release(): Promise<void> {
    await this.#ledger.close();
  }

  lane(historical: boolean): EventLane {
    return historical ? this.historical : this.live;
  }

  /** The arrival time of a row, in microseconds: not before that of an earlier row, whatever the clock says. */
  stamp(): number {
    this.#lastMicros = Math.max(this.#lastMicros, this.#options.clock.now() * 1000);
    return this.#lastMicros;
  }

  /** Everything this journal took before this time (microseconds) is in ClickHouse, merges included. */
  watermark(): number {
    let watermark = this.stamp();
    for (const lane of [this.live, this.historical, this.merges]) {
      for (const oldest of [lane.oldest, lane.segment?.rows ? lane.segment.oldest : undefined]) {
        if (oldest !== undefined) watermark = Math.min(watermark, oldest);
      }
      for (const segment of this.#sealed.lanes[lane.name]) watermark = Math.min(watermark, segment.oldest);
    }
    return watermark;
  }

  pending(): Pending {
    return this.room.pending();
  }

  /** True when no more may be taken until a flush has made room. */
  get full(): boolean {
    return this.room.full;
  }

  /** True when little room is left on the disk. */
  get tight(): boolean {
    return this.#options.room?.low === true;
  }

  /** Whether nothing waits, so that the journal may leave when its process stops: nobody would wait for it in vain. */
  get isEmpty(): boolean {
    const now = this.stamp();
    return this.watermark() >= now && this.pending().events === 0;
  }

  /** Whether a group could not be written within the last journalFailingMs; as precise as it is asked often. */
  isFailing(): boolean {
    const now = this.#options.clock.elapsed();
    const failedGroups = this.#lanes.reduce((sum, lane) => sum + lane.failedGroups, 0);
    if (failedGroups !== this.#failedGroups) this.#failedAtMs = now;
    this.#failedGroups = failedGroups;
    return now - this.#failedAtMs < journalLimits.journalFailingMs;
  }

  /** Logs, once a minute, how many requests were refused with a 503. */
  noteRefused(): void {
    this.#log.warn("captures are refused", { pending_bytes: this.pending().bytes, disk_low: this.tight });
  }

  /** The oldest sealed segment of a lane that is not among `taken`. */
  nextSealed(lane: LaneName, taken?: ReadonlySet<Segment>): Segment | undefined {
    return this.#sealed.lanes[lane].find((segment) => !taken?.has(segment));
  }

  /** Resolves every sealedSoon(). */
  nudge(): void {
    this.#wakeup.wake();
  }

  /** Resolves when a segment has been sealed, or after `ms`. */
  sealedSoon(ms: number): Promise<void> {
    return this.#wakeup.wait(ms);
  }

  /** Resolves when every row of this lane that is on disk now is in ClickHouse, or in quarantine. */
  async stored(lane: { name: LaneName; segment: Segment | undefined }): Promise<void> {
    const growing = lane.segment && lane.segment.rows > 0 ? [lane.segment] : [];
    const segments = [...this.#sealed.lanes[lane.name], ...growing];
    await Promise.all(segments.map((segment) => this.#sealed.gone(segment)));
  }

  /** Removes a flushed segment. The order matters: a note in the ledger, the file, a sync of the folder. */
  async finish(segment: Segment): Promise<void> {
    await this.#ledger.note(segment, this.#lastMillis);
    await this.#recycler.keep(segment, this.tight);
    await syncFolder(this.folder);
    this[segment.lane].usage.free(segment.id);
    this.#sealed.remove(segment);
  }

  /** Gives further segments this number; their ids go on rising. */
  renumber(number: number): void {
    this.#number = number;
  }

  /** A segment id that this journal has not used before. */
  nextId(): bigint {
    this.#lastMillis = Math.max(this.#lastMillis + 1, this.#options.clock.now());
    return segmentId(this.#lastMillis, this.#number);
  }

  /** Takes rows that an operator returned from quarantine (`sluice journal retry`). */
  takeReturned(): void {
    const recovery = this.#recovery();
    recovery.takeReturned(this.#sealed.paths);
    this.#takeRecovered(recovery);
    if (recovery.segments.length > 0) this.nudge();
  }

  #recovery(): Recovery {
    const damaged = (damage: Damage) => {
      this.damagedFiles += damage.files;
      this.#options.damaged?.(damage);
    };
    return new Recovery({ folder: this.folder, damaged, log: this.#options.log });
  }

  #takeRecovered({ segments, lastMillis }: Recovery): void {
    this.#lastMillis = Math.max(this.#lastMillis, lastMillis);
    this.#sealed.addFound(segments);
    for (const segment of segments) this[segment.lane].usage.found(segment.id, foundUsage(segment));
  }

  #openLane<R extends LaneRow, B extends LaneBlock<R>>(
    name: LaneName,
    segmentBytesMax: number,
    openBlock: LaneOptions<R, B>["openBlock"],
  ): Lane<R, B> {
    const { folder, room } = this.#options;
    const log = this.#log;
    const takeRoom = (bytes: number) => room?.take(bytes);
    const onSealed = (segment: Segment) => this.#takeSealed(segment);
    const own = { nextId: () => this.nextId(), takeRecycled: () => this.#recycler.take(name), onSealed };
    const onSynced = (segment: Segment) => this.#ledger.synced(segment);
    const bytesMax = Math.min(segmentBytesMax, room?.segmentBytesMax ?? segmentBytesMax);
    return new Lane({ name, folder, log, segmentBytesMax: bytesMax, openBlock, takeRoom, onSynced, ...own });
  }

  get #lanes() {
    return [this.live, this.historical, this.warnings, this.merges, this.recordings];
  }

  #takeSealed(segment: Segment): void {
    this.#ages.delete(segment.id);
    this.#ledger.sealed(segment, this.#lastMillis);
    this.#sealed.add(segment);
    this.nudge();
  }

  /**
   * Seals segments by age, deletes recycled files that no lane wants, writes repeated log lines; on the journal's
   * clock.
   */
  async look(): Promise<void> {
    this.#sealByAge();
    this.isFailing();
    this.#log.look();
    await this.#recycler.look(this.tight);
  }

  #sealByAge(): void {
    for (const lane of this.#lanes) {
      const segment = lane.segment;
      // While the flush is behind, a segment goes on growing: fewer and bigger inserts.
      const behind = this.#sealed.lanes[lane.name].length >= flushesAtOnce[lane.name];
      if (!segment || segment.rows === 0 || behind) continue;
      if (this.#isDue(segment)) void lane.seal();
    }
  }

  /** Whether a segment has grown for long enough; a historical one may grow longer while it does grow. */
  #isDue({ id, lane, bytes }: Segment): boolean {
    const now = this.#options.clock.elapsed();
    const intervalMs = this.#options.flushIntervalMs - this.#lookMs;
    const age = this.#ages.get(id) ?? { openedMs: now, grownMs: now, bytes };
    this.#ages.set(id, age);
    if (bytes > age.bytes) Object.assign(age, { grownMs: now, bytes });
    if (lane !== "historical") return now - age.openedMs >= intervalMs;
    return (
      now - age.openedMs >= intervalMs * journalLimits.historicalPatience || now - age.grownMs >= intervalMs
    );
  }
}
