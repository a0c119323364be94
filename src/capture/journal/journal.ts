// The journal: acknowledged events on disk until ClickHouse has them. Owns its lanes; never asks a store.

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
import { RecentFailures } from "./segments/recent_failures.ts";
import { type Damage, Recovery } from "./recovery/recovery.ts";
import { type LaneName, type Segment, byLane, flushesAtOnce, lanes, segmentId } from "./segments/segment.ts";
import { SegmentAges } from "./segment_ages.ts";
import { SegmentWaits } from "./segment_waits.ts";
import { SegmentRecycler } from "./segments/segment_recycler.ts";
import { MergeBlock, type MergeRow, type MergeTaker } from "../flush/merge_row.ts";
import type { SnapshotRow } from "../recordings/snapshot.ts";
import { SnapshotBlock } from "../recordings/snapshot_block.ts";
import { WarningBlock, type WarningRow } from "../warnings/warning.ts";

export interface JournalOptions {
  folder: string;
  /** This journal's number among all that feed the same ClickHouse. */
  number: number;
  flushIntervalMs: number;
  bytesMax: number;
  /** Takes merges in place of this journal's own lane of them. */
  mergesTo?: MergeTaker;
  /** Counts what is found damaged. */
  damaged?(damage: Damage): void;
  /** How much may be written; as much as there is unless told. */
  room?: DiskRoom;
  clock: Clock;
  log: Log;
}

export class Journal {
  readonly live: EventLane;
  readonly historical: EventLane;
  readonly warnings: Lane<WarningRow>;
  readonly merges: Lane<MergeRow>;
  /** Where merges go: their lane, or another process. */
  readonly merging: MergeTaker;
  readonly recordings: Lane<SnapshotRow>;
  /** How much more may be taken, and of whom. */
  readonly room: JournalRoom;
  readonly folder: string;
  /** Files found damaged since the start. */
  damagedFiles = 0;
  readonly #options: JournalOptions;
  #number: number;
  readonly #ledger: Ledger;
  readonly #spares: SegmentRecycler;
  readonly #everyMs: number;
  readonly #sealed = byLane<Segment[]>(() => []);
  readonly #known = new Set<string>();
  readonly #waits = new SegmentWaits();
  #lastMillis = 0;
  #lastMicros = 0;
  readonly #wakeup = new Wakeup();
  readonly #ages = new SegmentAges();
  #timer: ReturnType<typeof setInterval> | undefined;
  /** What may fail with each group. */
  readonly #log: RepeatedLog;
  readonly #failures: RecentFailures;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#number = options.number;
    this.folder = options.folder;
    this.#ledger = new Ledger(options.folder);
    this.#spares = new SegmentRecycler(
      options.folder,
      options.bytesMax / journalLimits.recycledFilesShare,
      options.clock,
    );
    this.#log = new RepeatedLog(options.log, options.clock);
    this.#failures = new RecentFailures(options.clock, journalLimits.journalFailingMs);
    this.#everyMs = Math.max(2, Math.min(100, options.flushIntervalMs / 10));
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
    this.room = new JournalRoom({ lanes: this, sealed: this.#sealed, bytesMax, isTight: () => this.tight });
  }

  /** Takes in what an earlier process left, then starts the clock that ends segments by age. */
  open(): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const recovery = this.#recovery();
    recovery.takeFolder(this.#ledger);
    this.#takeRecovered(recovery);
    this.#spares.open(this.tight);
    recovery.beginLedger(this.#ledger);
    this.#timer = setInterval(() => void this.look(), this.#everyMs);
  }

  /** Writes what waits and ends the growing segments. What is not flushed by then is found at the next start. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#log.close();
    await Promise.all(this.#lanes.map((lane) => lane.seal()));
  }

  /** Lets go of the ledger; after the last flush. */
  async release(): Promise<void> {
    await this.#ledger.close();
  }

  lane(historical: boolean): EventLane {
    return historical ? this.historical : this.live;
  }

  /** The time a row is taken in, in microseconds: never earlier than an earlier row's. */
  stamp(): number {
    this.#lastMicros = Math.max(this.#lastMicros, this.#options.clock.now() * 1000);
    return this.#lastMicros;
  }

  /** Everything this journal took before this time (microseconds) is in ClickHouse. */
  watermark(): number {
    let watermark = this.stamp();
    for (const lane of [this.live, this.historical, this.merges]) {
      for (const oldest of [lane.oldest, lane.segment?.rows ? lane.segment.oldest : undefined]) {
        if (oldest !== undefined) watermark = Math.min(watermark, oldest);
      }
      for (const segment of this.#sealed[lane.name]) watermark = Math.min(watermark, segment.oldest);
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

  /** Whether a group could not be written just now. */
  isFailing(): boolean {
    return this.#failures.look(this.#lanes.reduce((sum, lane) => sum + lane.failedGroups, 0));
  }

  /** Takes that a request was refused with a 503; the log tells how many, once a minute. */
  noteRefused(): void {
    this.#log.warn("captures are refused", { pending_bytes: this.pending().bytes, disk_low: this.tight });
  }

  /** The oldest segment of a lane that is ready to be flushed, and not `taken` by somebody. */
  nextSealed(lane: LaneName, taken?: ReadonlySet<Segment>): Segment | undefined {
    return this.#sealed[lane].find((segment) => !taken?.has(segment));
  }

  /** Ends every sealedSoon() wait. */
  nudge(): void {
    this.#wakeup.wake();
  }

  /** Resolves when a segment has been sealed, or after `ms`. */
  sealedSoon(ms: number): Promise<void> {
    return this.#wakeup.wait(ms);
  }

  /** Resolves when every row on disk in this lane by now is in ClickHouse (or set aside by name). */
  async stored(lane: { name: LaneName; segment: Segment | undefined }): Promise<void> {
    const growing = lane.segment && lane.segment.rows > 0 ? [lane.segment] : [];
    const segments = [...this.#sealed[lane.name], ...growing];
    await Promise.all(segments.map((segment) => this.#waits.wait(segment)));
  }

  /** Forgets a flushed segment: noted in the ledger, its name removed, the folder synced; in this order. */
  async finish(segment: Segment): Promise<void> {
    await this.#ledger.note(segment, this.#lastMillis);
    await this.#spares.keep(segment, this.tight);
    await syncFolder(this.folder);
    const queue = this.#sealed[segment.lane];
    queue.splice(queue.indexOf(segment), 1);
    this.#known.delete(segment.path);
    this[segment.lane].usage.free(segment.id);
    this.#waits.done(segment);
  }

  /** Segments from now on carry this number; their times go on rising. */
  renumber(number: number): void {
    this.#number = number;
  }

  /** A number no segment of this journal had before. */
  nextId(): bigint {
    this.#lastMillis = Math.max(this.#lastMillis + 1, this.#options.clock.now());
    return segmentId(this.#lastMillis, this.#number);
  }

  /** Takes in quarantined rows that an operator handed back (`sluice journal retry`). */
  takeReturned(): void {
    const recovery = this.#recovery();
    recovery.takeReturned(this.#known);
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
    for (const segment of segments) {
      this.#known.add(segment.path);
      this.#sealed[segment.lane].push(segment);
      this[segment.lane].usage.found(segment.id, foundUsage(segment));
    }
    for (const lane of lanes) this.#sealed[lane].sort((a, b) => (a.id < b.id ? -1 : 1));
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
    const own = { nextId: () => this.nextId(), takeRecycled: () => this.#spares.take(name), onSealed };
    const onSynced = (segment: Segment) => this.#ledger.synced(segment);
    const bytesMax = Math.min(segmentBytesMax, room?.segmentBytesMax ?? segmentBytesMax);
    return new Lane({ name, folder, log, segmentBytesMax: bytesMax, openBlock, takeRoom, onSynced, ...own });
  }

  get #lanes() {
    return [this.live, this.historical, this.warnings, this.merges, this.recordings];
  }

  #takeSealed(segment: Segment): void {
    this.#ages.forget(segment);
    this.#ledger.sealed(segment, this.#lastMillis);
    this.#known.add(segment.path);
    this.#sealed[segment.lane].push(segment);
    this.nudge();
  }

  /** Ends segments by age, gives back files that nobody wants, says what was not said; on the journal's clock. */
  async look(): Promise<void> {
    this.#sealByAge();
    this.isFailing();
    this.#log.look();
    await this.#spares.look(this.tight);
  }

  #sealByAge(): void {
    for (const lane of this.#lanes) {
      const segment = lane.segment;
      // While the flush is behind, a segment goes on growing: fewer, bigger inserts.
      const behind = this.#sealed[lane.name].length >= flushesAtOnce[lane.name];
      if (!segment || segment.rows === 0 || behind) continue;
      const interval = this.#options.flushIntervalMs - this.#everyMs;
      if (this.#ages.isDue(segment, interval, this.#options.clock.elapsed())) void lane.seal();
    }
  }
}
