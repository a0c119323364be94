// The journal: acknowledged events on disk until ClickHouse has them. Owns its lanes; asks no store.

import { mkdirSync } from "node:fs";
import type { Clock } from "../../core/clock.ts";
import { journalLimits } from "./limits.ts";
import type { Log } from "../../core/log.ts";
import { RepeatedLog } from "../../work/repeated_log.ts";
import { Wakeup } from "../../work/wakeup.ts";
import { type DiskRoom, JournalRoom, type Pending } from "./journal_room.ts";
import { Lane, type LaneKind, type LaneRow, type RowTaker } from "./lane.ts";
import { Ledger } from "./ledger.ts";
import { type Damage, Recovery } from "./recovery/recovery.ts";
import { syncFolder } from "./segments/files.ts";
import { SealedSegments, SegmentRecycler } from "./segments/sealed_segments.ts";
import { type LaneName, type Segment, isOfJournal, laneKinds, segmentId } from "./segments/segment.ts";
import { foundUsage } from "./segments/segment_reader.ts";

type LaneKinds = Readonly<Record<LaneName, LaneKind>>;
type BlockOf<Kind extends LaneKind> = ReturnType<Kind["openBlock"]>;
type RowOf<Kind extends LaneKind> = Parameters<BlockOf<Kind>["append"]>[0];
export type LaneOf<Kind extends LaneKind> = Lane<RowOf<Kind>, BlockOf<Kind>>;

export interface JournalOptions<Kinds extends LaneKinds> {
  lanes: Kinds;
  folder: string;
  /** This journal's number among all journals that feed the same ClickHouse. */
  number: number;
  flushIntervalMs: number;
  bytesMax: number;
  /** Takes merges instead of this journal's own lane. */
  mergesTo?: RowTaker<RowOf<Kinds["merges"]>>;
  damaged?(damage: Damage): void;
  /** How much may be written; without it, all that is free. */
  room?: DiskRoom;
  clock: Clock;
  log: Log;
}

/** Arrival times in microseconds: everything this journal took before them is in ClickHouse. */
export interface Watermarks {
  /** Events, and merges. */
  stored: number;
  /** Events and merges, with the sessions that are derived from them. */
  derived: number;
  /** Pieces of recordings. */
  recordings: number;
}

interface SegmentAge {
  /** When it was first seen, and when it had grown the last time, in ms of Clock.elapsed(). */
  openedMs: number;
  grownMs: number;
  /** Its bytes then. */
  bytes: number;
  /** Whether it is the first one of an import. */
  isFirst: boolean;
}

export class Journal<Kinds extends LaneKinds = LaneKinds> {
  readonly live: LaneOf<Kinds["live"]>;
  readonly historical: LaneOf<Kinds["historical"]>;
  readonly warnings: LaneOf<Kinds["warnings"]>;
  readonly merges: LaneOf<Kinds["merges"]>;
  /** Where merges go: their lane, or another process's. */
  readonly merging: RowTaker<RowOf<Kinds["merges"]>>;
  readonly recordings: LaneOf<Kinds["recordings"]>;
  readonly room: JournalRoom<LaneOf<Kinds["live"] | Kinds["historical"]>>;
  readonly folder: string;
  damagedFiles = 0;
  readonly #options: JournalOptions<Kinds>;
  #number: number;
  readonly #ledger: Ledger;
  readonly #recycler: SegmentRecycler;
  readonly #lookMs: number;
  readonly #sealed = new SealedSegments();
  /** Segments whose rows are stored, until their sessions are derived. */
  readonly #held = new Set<Segment>();
  #lastMillis = 0;
  #lastMicros = 0;
  readonly #wakeup = new Wakeup();
  /** Growing segments, since when they are looked at. */
  readonly #ages = new Map<bigint, SegmentAge>();
  /** When the last segment of an import was sealed. */
  #importedAt = Number.NEGATIVE_INFINITY;
  /** When a lane last had a segment that grows; only lanes that had one since they rested. */
  readonly #busyAt = new Map<LaneName, number>();
  #timer: ReturnType<typeof setInterval> | undefined;
  /** For failures that may repeat with each group. */
  readonly #log: RepeatedLog;
  #failedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: JournalOptions<Kinds>) {
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
    this.live = this.#openLane("live");
    this.historical = this.#openLane("historical");
    this.warnings = this.#openLane("warnings");
    this.merges = this.#openLane("merges");
    this.merging = options.mergesTo ?? this.merges;
    this.recordings = this.#openLane("recordings");
    const { bytesMax } = options;
    const isTight = () => this.tight;
    this.room = new JournalRoom({ lanes: this, sealed: this.#sealed.lanes, bytesMax, isTight });
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
    await Promise.all(this.#lanes.map((lane) => lane.close()));
  }

  /** Closes the ledger; after the last flush. */
  async release(): Promise<void> {
    await this.#ledger.close();
  }

  /** The arrival time of a row, in microseconds: not before that of an earlier row, whatever the clock says. */
  stamp(): number {
    this.#lastMicros = Math.max(this.#lastMicros, this.#options.clock.now() * 1000);
    return this.#lastMicros;
  }

  watermarks(): Watermarks {
    const stored = this.#storedOf([this.live, this.historical, this.merges]);
    let derived = stored;
    for (const segment of this.#held) derived = Math.min(derived, segment.oldest);
    return { stored, derived, recordings: this.#storedOf([this.recordings]) };
  }

  /** Every row that these lanes took before this time (microseconds) is stored. */
  #storedOf(lanes: readonly Pick<Lane<LaneRow>, "name" | "oldest" | "segment">[]): number {
    let watermark = this.stamp();
    for (const lane of lanes) {
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

  get tight(): boolean {
    return this.#options.room?.low === true;
  }

  /** Whether nothing waits, so that the journal may leave when its process stops: nobody would wait for it in vain. */
  get isEmpty(): boolean {
    const now = this.stamp();
    return this.watermarks().derived >= now && this.pending().events === 0;
  }

  /** Whether a group could not be written within the last journalFailingMs. */
  isFailing(): boolean {
    return this.#options.clock.elapsed() - this.#failedAtMs < journalLimits.journalFailingMs;
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

  /** Its rows are in ClickHouse; its file waits for finish(), when all is derived from them. */
  hold(segment: Segment): void {
    this.#held.add(segment);
    this[segment.lane].usage.free(segment.id);
    this.#sealed.stored(segment);
  }

  /** Removes a flushed segment. The order matters: a note in the ledger, the file, a sync of the folder. */
  async finish(segment: Segment): Promise<void> {
    await segment.closed;
    await this.#ledger.note(segment, this.#lastMillis);
    await this.#recycler.keep(segment, this.tight);
    await syncFolder(this.folder);
    if (!this.#held.delete(segment)) {
      this[segment.lane].usage.free(segment.id);
      this.#sealed.stored(segment);
    }
    this.#sealed.paths.delete(segment.path);
  }

  get number(): number {
    return this.#number;
  }

  /** Events that are stored and whose sessions are not derived yet. */
  get heldEvents(): number {
    return this.#held.values().reduce((sum, { rows }) => sum + rows, 0);
  }

  /** Whether events wait to be stored, or an import is coming in. */
  get isBusy(): boolean {
    const { live, historical } = this.#sealed.lanes;
    return live.length + historical.length > 0 || (this.historical.segment?.rows ?? 0) > 0;
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

  /** The same for rows that are in no segment: no later process uses it again, even when its clock goes back. */
  async lastingId(): Promise<bigint> {
    const id = this.nextId();
    await this.#ledger.noteMillis(this.#lastMillis);
    return id;
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

  #openLane<Name extends LaneName>(name: Name): LaneOf<Kinds[Name]> {
    const { folder, room, lanes } = this.#options;
    const { segmentBytesMax } = laneKinds[name];
    const kind = lanes[name] as LaneKind<BlockOf<Kinds[Name]>>;
    return new Lane<RowOf<Kinds[Name]>, BlockOf<Kinds[Name]>>({
      name,
      folder,
      log: this.#log,
      segmentBytesMax: Math.min(segmentBytesMax, room?.segmentBytesMax ?? segmentBytesMax),
      kind,
      nextId: () => this.nextId(),
      isOwnId: (id) => isOfJournal(id, this.#number),
      takeRecycled: () => this.#recycler.take(name),
      takeRoom: (bytes) => room?.take(bytes),
      hasRoom: (bytes) => room?.has(bytes) ?? true,
      onSynced: (segment) => this.#ledger.marks.note(segment),
      onSealed: (segment) => this.#takeSealed(segment),
      onFailed: () => void (this.#failedAtMs = this.#options.clock.elapsed()),
    });
  }

  get #lanes() {
    return [this.live, this.historical, this.warnings, this.merges, this.recordings];
  }

  #takeSealed(segment: Segment): void {
    this.#ages.delete(segment.id);
    const now = this.#options.clock.elapsed();
    this.#busyAt.set(segment.lane, now);
    if (segment.lane === "historical") this.#importedAt = now;
    this.#ledger.sealed(segment, this.#lastMillis);
    this.#sealed.add(segment);
    this.nudge();
  }

  /**
   * Seals segments by age, deletes recycled files that no lane wants, writes repeated log lines. Called by the
   * journal's clock.
   */
  async look(): Promise<void> {
    this.#sealByAge();
    this.#log.look();
    await this.#recycler.look(this.tight);
    await Promise.all(this.#lanes.map((lane) => this.#restIdle(lane)));
  }

  /** Gives back what a lane keeps for its next segment, after a long rest or where the disk is nearly full. */
  async #restIdle(lane: Pick<Lane<LaneRow>, "name" | "segment" | "openRows" | "rest">): Promise<void> {
    const now = this.#options.clock.elapsed();
    if (lane.segment || lane.openRows > 0) this.#busyAt.set(lane.name, now);
    const idleMs = now - (this.#busyAt.get(lane.name) ?? now);
    if (!this.tight && idleMs < journalLimits.recycledIdleMs) return;
    this.#busyAt.delete(lane.name);
    await lane.rest();
  }

  #sealByAge(): void {
    for (const lane of this.#lanes) {
      const segment = lane.segment;
      // While the flush is behind, a segment goes on growing: fewer and bigger inserts.
      const behind = this.#sealed.lanes[lane.name].length >= laneKinds[lane.name].flushesAtOnce;
      if (!segment || segment.rows === 0 || behind) continue;
      if (this.#isDue(segment)) void lane.seal();
    }
  }

  /** Whether a segment has grown for long enough; a historical one may grow longer while it does grow. */
  #isDue({ id, lane, bytes }: Segment): boolean {
    const now = this.#options.clock.elapsed();
    const intervalMs = this.#options.flushIntervalMs - this.#lookMs;
    const isFirst = now - this.#importedAt > intervalMs * journalLimits.historicalPatience;
    const age = this.#ages.get(id) ?? { openedMs: now, grownMs: now, bytes, isFirst };
    this.#ages.set(id, age);
    if (bytes > age.bytes) Object.assign(age, { grownMs: now, bytes });
    // The first segment of an import does not grow: the engine has nothing else to do.
    if (lane !== "historical" || age.isFirst) return now - age.openedMs >= intervalMs;
    return (
      now - age.openedMs >= intervalMs * journalLimits.historicalPatience || now - age.grownMs >= intervalMs
    );
  }
}
