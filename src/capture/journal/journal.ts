// The journal: acknowledged events on disk until ClickHouse has them. Owns its lanes; reads no store.

import type { Clock } from "../../core/clock.ts";
import type { Log } from "../../core/log.ts";
import { openRepeatedLog, type RepeatedLog } from "../../work/repeated_log.ts";
import { Wakeup } from "../../work/wakeup.ts";
import { type JournalIo, syncFolder } from "./journal_io.ts";
import { Lane } from "./lane.ts";
import type { LaneBlock, LaneKind, LaneRow } from "./lane_kind.ts";
import { Ledger } from "./ledger.ts";
import { journalLimits } from "./limits.ts";
import type { DiskReserve } from "./quota.ts";
import { type Damage, Recovery } from "./recovery/recovery.ts";
import { SealedSegments, SegmentRecycler } from "./segments/sealed_segments.ts";
import { type Segment, segmentId } from "./segments/segment.ts";
import { foundUsage } from "./segments/segment_reader.ts";
import type { SegmentSpool } from "./segments/segment_spool.ts";

type RowOf<Block extends LaneBlock<LaneRow>> = Parameters<Block["append"]>[0];

export interface JournalOptions {
  io: JournalIo;
  lanes: readonly LaneKind[];
  folder: string;
  /** This journal's number among all journals that feed the same ClickHouse. */
  number: number;
  flushIntervalMs: number;
  bytesMax: number;
  damaged?(damage: Damage): void;
  /** The reserve of the volume; without it, all free space may be used. */
  reserve?: DiskReserve;
  /** Keeps the files of stored segments for the archive. */
  spool?: SegmentSpool | undefined;
  clock: Clock;
  log: Log;
}

export class Journal {
  readonly io: JournalIo;
  readonly lanes: readonly LaneKind[];
  readonly folder: string;
  damagedFiles = 0;
  readonly #options: JournalOptions;
  readonly #lanes: ReadonlyMap<LaneKind, Lane<LaneRow>>;
  readonly #ledger: Ledger;
  readonly #recycler: SegmentRecycler;
  readonly #pollMs: number;
  readonly #sealed: SealedSegments;
  /** Segments whose rows are stored, until their sessions are derived. */
  readonly #underived = new Set<Segment>();
  #lastMillis = 0;
  #lastMicros = 0;
  #nextRank = 0;
  readonly #wakeup = new Wakeup();
  /**
   * Growing segments: when each was first polled, and when a poll last found it larger, in ms of Clock.elapsed(); its
   * bytes then; whether it is the first one of an import.
   */
  readonly #ages = new Map<bigint, { openedMs: number; grownMs: number; bytes: number; isFirst: boolean }>();
  #importedAt = Number.NEGATIVE_INFINITY;
  /** When a lane last had a growing segment; only lanes that still keep something for their next one. */
  readonly #busyAt = new Map<LaneKind, number>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #cleaning: Promise<void> = Promise.resolve();
  /** Logs failures that may repeat with each group. */
  readonly #log: RepeatedLog;
  #failedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.io = options.io;
    this.lanes = options.lanes;
    this.folder = options.folder;
    this.#ledger = new Ledger(options, options.folder);
    this.#sealed = new SealedSegments(options);
    this.#recycler = new SegmentRecycler(options);
    this.#log = openRepeatedLog(options.log, options.clock);
    this.#pollMs = Math.max(2, Math.min(100, options.flushIntervalMs / 10));
    this.#lanes = new Map(options.lanes.map((kind) => [kind, this.#openLane(kind)]));
  }

  /** Recovers what an earlier process left, then starts the clock that seals segments by age. */
  open(): void {
    this.io.makeFolder(this.folder);
    const recovery = this.#recovery();
    recovery.readFolder(this.#ledger);
    this.#adoptRecovered(recovery);
    this.#recycler.open(this.isTight);
    recovery.beginLedger(this.#ledger);
    const found = this.pending();
    if (found.events > 0)
      this.#options.log.info("found events of an earlier run in the journal", { ...found });
    this.#timer = setInterval(() => void this.poll(), this.#pollMs);
  }

  /** Writes the open blocks and seals the growing segments. The next start finds what is not flushed by then. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#log.close();
    await Promise.all(this.#lanes.values().map((lane) => lane.close()));
  }

  /** Closes the ledger; after the last flush. */
  async release(): Promise<void> {
    await this.#ledger.close();
  }

  /** The arrival time of a row, in microseconds: never before that of an earlier row, whatever the clock. */
  stamp(): number {
    this.#lastMicros = Math.max(this.#lastMicros, this.#options.clock.now() * 1000);
    return this.#lastMicros;
  }

  /**
   * Allocates `count` ranks; returns the first. They rise from event to event, from the last stamp() on, so
   * that of two events of one moment the later arrival has the higher rank, after a restart too.
   */
  allocateRanks(count: number): number {
    const first = Math.max(this.#nextRank, Math.floor(this.#lastMicros));
    this.#nextRank = first + count;
    return first;
  }

  /** Arrival times in microseconds: everything that this journal appended before them is in ClickHouse. */
  watermarks() {
    const stored = this.#countStored("stored");
    let derived = stored;
    for (const segment of this.#underived) derived = Math.min(derived, segment.oldest);
    return {
      /** Events, and merges. */
      stored,
      /** Events and merges, with the sessions that are derived from them. */
      derived,
      /** Pieces of recordings. */
      recordings: this.#countStored("recordings"),
    };
  }

  /** Every row that the lanes of this watermark appended before this time (microseconds) is stored. */
  #countStored(name: LaneKind["watermark"]): number {
    let watermark = this.stamp();
    for (const [kind, lane] of this.#lanes) {
      if (kind.watermark !== name) continue;
      for (const oldest of [lane.oldest, lane.segment?.rows ? lane.segment.oldest : undefined]) {
        if (oldest !== undefined) watermark = Math.min(watermark, oldest);
      }
      for (const segment of this.#sealed.lanes.get(kind)!) watermark = Math.min(watermark, segment.oldest);
    }
    return watermark;
  }

  pending() {
    const pending = { events: 0, bytes: 0 };
    for (const [kind, { openRows, writingRows, segment }] of this.#lanes) {
      if (kind.isCounted) pending.events += openRows + writingRows;
      for (const { rows, bytes } of [...(segment ? [segment] : []), ...this.#sealed.lanes.get(kind)!]) {
        if (kind.isCounted) pending.events += rows;
        pending.bytes += rows > 0 ? bytes : 0;
      }
    }
    return pending;
  }

  /** Bytes that a lane holds, on disk and on their way there. */
  bytesIn(kind: LaneKind): number {
    const { openBytes, segment } = this.#lanes.get(kind)!;
    let bytes = openBytes + (segment?.bytes ?? 0);
    for (const sealed of this.#sealed.lanes.get(kind)!) bytes += sealed.bytes;
    return bytes;
  }

  get freeBytes(): number {
    let free = this.#options.bytesMax;
    for (const kind of this.#lanes.keys()) free -= this.bytesIn(kind);
    return free;
  }

  /** True when nothing more may be appended until a flush has freed space. */
  get isFull(): boolean {
    return this.isTight || this.freeBytes <= 0;
  }

  get isTight(): boolean {
    return this.#options.reserve?.isLow === true;
  }

  /**
   * Whether nothing is pending, so that the journal may leave when its process stops: others would wait for it in vain.
   */
  get isEmpty(): boolean {
    const now = this.stamp();
    return this.watermarks().derived >= now && this.pending().events === 0;
  }

  /** Whether a group could not be written within the last journalFailingMs. */
  isFailing(): boolean {
    return this.#options.clock.elapsed() - this.#failedAtMs < journalLimits.journalFailingMs;
  }

  /** Logs, once a minute, how many requests were refused with a 503. */
  reportRefused(): void {
    this.#log.warn("captures are refused", { pending_bytes: this.pending().bytes, disk_low: this.isTight });
  }

  /** The oldest sealed segment of a lane that is not among `except`. */
  nextSealed(kind: LaneKind, except?: ReadonlySet<Segment>): Segment | undefined {
    return this.#sealed.lanes.get(kind)!.find((segment) => !except?.has(segment));
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
  async stored(lane: { kind: LaneKind; segment: Segment | undefined }): Promise<void> {
    const growing = lane.segment && lane.segment.rows > 0 ? [lane.segment] : [];
    const segments = [...this.#sealed.lanes.get(lane.kind)!, ...growing];
    await Promise.all(segments.map((segment) => this.#sealed.stored(segment)));
  }

  /** Records that a segment's rows are in ClickHouse; finish() removes its file once all is derived from them. */
  retain(segment: Segment): void {
    this.#underived.add(segment);
    this.#releaseStored(segment);
  }

  /** Removes a flushed segment. The order matters: its name for the archive, a line in the ledger, the file, a sync. */
  async finish(segment: Segment): Promise<void> {
    await segment.closed;
    const isKept = await this.#options.spool?.retain(segment, this.isTight);
    await this.#ledger.writeFinished(segment, this.#lastMillis);
    await this.#recycler.retain(segment, this.isTight || isKept === true);
    await syncFolder(this.io, this.folder);
    if (!this.#underived.delete(segment)) this.#releaseStored(segment);
    this.#sealed.paths.delete(segment.path);
  }

  #releaseStored(segment: Segment): void {
    this.#lanes.get(segment.lane)!.usage.release(segment.id);
    this.#sealed.remove(segment);
  }

  get number(): number {
    return this.#options.number;
  }

  /** Events that are stored and whose sessions are not derived yet. */
  get underivedEvents(): number {
    return this.#underived.values().reduce((sum, { rows }) => sum + rows, 0);
  }

  /** Whether events wait to be stored, or an import is coming in. */
  get isBusy(): boolean {
    return this.#lanes.entries().some(([kind, { segment }]) => {
      const isImport = kind.growIntervalsMax > 1 && segment !== undefined && segment.rows > 0;
      return kind.isNative && (isImport || this.#sealed.lanes.get(kind)!.length > 0);
    });
  }

  nextId(): bigint {
    this.#lastMillis = Math.max(this.#lastMillis + 1, this.#options.clock.now());
    return segmentId(this.#lastMillis, this.number);
  }

  /** An id for rows in no segment: no later process uses it again, even when its clock goes back. */
  async lastingId(): Promise<bigint> {
    const id = this.nextId();
    await this.#ledger.writeMillis(this.#lastMillis);
    return id;
  }

  /** Adopts rows that an operator returned from quarantine (`sluice journal retry`). */
  adoptReturned(): void {
    const recovery = this.#recovery();
    recovery.readReturned(this.#sealed.paths);
    this.#adoptRecovered(recovery);
    if (recovery.segments.length > 0) this.nudge();
  }

  #recovery(): Recovery {
    const damaged = (damage: Damage) => {
      this.damagedFiles += damage.files;
      this.#options.damaged?.(damage);
    };
    return new Recovery({ setup: this.#options, folder: this.folder, damaged, log: this.#options.log });
  }

  #adoptRecovered({ segments, lastMillis }: Recovery): void {
    this.#lastMillis = Math.max(this.#lastMillis, lastMillis);
    this.#sealed.addFound(segments);
    for (const segment of segments) {
      this.#lanes.get(segment.lane)!.usage.addFound(segment.id, foundUsage(this.#options, segment));
    }
  }

  getLane<Block extends LaneBlock<LaneRow>>(kind: LaneKind<Block>): Lane<RowOf<Block>, Block> {
    return this.#lanes.get(kind) as unknown as Lane<RowOf<Block>, Block>;
  }

  #openLane(kind: LaneKind): Lane<LaneRow> {
    const { folder, reserve } = this.#options;
    const { segmentBytesMax, batchBytesMax } = kind;
    return new Lane({
      setup: this.#options,
      kind,
      folder,
      log: this.#log,
      segmentBytesMax: Math.min(segmentBytesMax, reserve?.segmentBytesMax ?? segmentBytesMax),
      batchBytesMax,
      nextId: () => this.nextId(),
      acquireRecycled: () => this.#recycler.acquire(kind),
      acquireSpace: (bytes) => reserve?.acquire(bytes),
      hasSpace: (bytes) => reserve?.hasSpace(bytes) ?? true,
      onSynced: (segment) => this.#ledger.marks.write(segment),
      onSealed: (segment) => this.#addSealed(segment),
      onFailed: () => void (this.#failedAtMs = this.#options.clock.elapsed()),
    });
  }

  #addSealed(segment: Segment): void {
    this.#ages.delete(segment.id);
    const now = this.#options.clock.elapsed();
    this.#busyAt.set(segment.lane, now);
    if (segment.lane.growIntervalsMax > 1) this.#importedAt = now;
    this.#ledger.writeSealed(segment, this.#lastMillis);
    this.#sealed.add(segment);
    this.nudge();
  }

  /**
   * Seals segments by age, writes repeated log lines, deletes recycled files that no lane needs; it resolves when what
   * an earlier call has begun to delete is deleted as well. Called by the journal's clock.
   */
  poll(): Promise<void> {
    this.#sealByAge();
    this.#log.poll();
    return (this.#cleaning = this.#cleaning.then(async () => {
      await this.#recycler.poll(this.isTight);
      await Promise.all(this.#lanes.values().map((lane) => this.#releaseIdle(lane)));
    }));
  }

  /** Releases the file that a lane has made ahead, after a long idle time or where the disk is nearly full. */
  async #releaseIdle(lane: Lane<LaneRow>): Promise<void> {
    const now = this.#options.clock.elapsed();
    if (lane.segment || lane.openRows > 0) this.#busyAt.set(lane.kind, now);
    const idleMs = now - (this.#busyAt.get(lane.kind) ?? now);
    if (!this.isTight && idleMs < journalLimits.recycledIdleMs) return;
    this.#busyAt.delete(lane.kind);
    await lane.releaseIdle();
  }

  #sealByAge(): void {
    for (const [kind, lane] of this.#lanes) {
      const { segment } = lane;
      if (!segment || segment.rows === 0 || !this.#isDue(segment)) continue;
      // While the flush is late, a segment goes on growing: inserts become fewer and bigger.
      if (this.#sealed.lanes.get(kind)!.length < kind.flushesAtOnce) void lane.seal();
    }
  }

  /** Whether a segment has grown for long enough; one of a patient lane may grow longer while it does grow. */
  #isDue({ id, lane, bytes }: Segment): boolean {
    const now = this.#options.clock.elapsed();
    const intervalMs = this.#options.flushIntervalMs - this.#pollMs;
    const isFirst = now - this.#importedAt > intervalMs * lane.growIntervalsMax;
    const age = this.#ages.get(id) ?? { openedMs: now, grownMs: now, bytes, isFirst };
    this.#ages.set(id, age);
    if (bytes > age.bytes) Object.assign(age, { grownMs: now, bytes });
    // The first segment of an import does not grow: the engine has nothing else to do.
    if (lane.growIntervalsMax === 1 || age.isFirst) return now - age.openedMs >= intervalMs;
    return now - age.openedMs >= intervalMs * lane.growIntervalsMax || now - age.grownMs >= intervalMs;
  }
}
