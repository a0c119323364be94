// The journal: acknowledged events on disk until ClickHouse has them. Owns its lanes; never asks a store.

import { mkdirSync, readdirSync, renameSync, rmSync, truncateSync } from "node:fs";
import { basename } from "node:path";
import type { Clock } from "../core/clock.ts";
import { limits } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { Block } from "./block.ts";
import { syncFolder } from "./files.ts";
import { Lane, type LaneBlock, type LaneOptions, type LaneRow } from "./lane.ts";
import { Ledger } from "./ledger.ts";
import type { Row } from "./row.ts";
import { type LaneName, type Segment, flushesAtOnce, lanes, millisOfSegment, segmentId } from "./segment.ts";
import { readSegment } from "./segment_read.ts";
import { keepSound } from "./salvage.ts";
import { Spares } from "./spares.ts";
import { MergeBlock, type MergeRow, type MergeTaker } from "./merge_row.ts";
import type { SnapshotRow } from "./snapshot.ts";
import { SnapshotBlock } from "./snapshot_block.ts";
import { WarningBlock, type WarningRow } from "./warning.ts";

export interface JournalOptions {
  folder: string;
  /** This journal's number among all that feed the same ClickHouse. */
  number: number;
  flushIntervalMs: number;
  bytesMax: number;
  /** Takes merges in place of this journal's own lane of them. */
  mergesTo?: MergeTaker;
  clock: Clock;
  log: Log;
}

/** How a file is named that quarantined rows come back in. */
export const returnedSuffix = ".returned.segment";

export type EventLane = Lane<Row, Block>;

export interface Pending {
  events: number;
  bytes: number;
}

export class Journal {
  readonly live: EventLane;
  readonly historical: EventLane;
  readonly warnings: Lane<WarningRow>;
  readonly merges: Lane<MergeRow>;
  /** Where merges go: their lane, or another process. */
  readonly merging: MergeTaker;
  readonly recordings: Lane<SnapshotRow>;
  readonly folder: string;
  /** Damaged stretches found and set aside since the start. */
  damagedFiles = 0;
  readonly #options: JournalOptions;
  readonly #ledger: Ledger;
  readonly #spares: Spares;
  readonly #everyMs: number;
  readonly #sealed: Record<LaneName, Segment[]> = {
    live: [],
    historical: [],
    warnings: [],
    merges: [],
    recordings: [],
  };
  readonly #known = new Set<string>();
  readonly #stored = new Map<bigint, PromiseWithResolvers<void>>();
  #lastMillis = 0;
  #lastMicros = 0;
  readonly #wake = new Set<() => void>();
  #ages = new Map<bigint, { openedMs: number; grownMs: number; bytes: number }>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.folder = options.folder;
    this.#ledger = new Ledger(options.folder);
    this.#spares = new Spares(options.folder, options.bytesMax / limits.sparesShare);
    this.#everyMs = Math.max(2, Math.min(100, options.flushIntervalMs / 10));
    const events = () => new Block();
    this.live = this.#openLane("live", limits.liveSegmentBytesMax, events);
    this.historical = this.#openLane("historical", limits.historicalSegmentBytesMax, events);
    this.warnings = this.#openLane("warnings", limits.warningSegmentBytesMax, () => new WarningBlock());
    this.merges = this.#openLane("merges", limits.mergeSegmentBytesMax, () => new MergeBlock());
    this.merging = options.mergesTo ?? this.merges;
    const recordings = () => new SnapshotBlock();
    this.recordings = this.#openLane("recordings", limits.snapshotSegmentBytesMax, recordings);
  }

  /** Takes in what an earlier process left, then starts the clock that ends segments by age. */
  open(): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const { finished, lastMillis } = this.#ledger.read();
    for (const name of finished) rmSync(`${this.folder}/${basename(name)}`, { force: true });
    this.#lastMillis = lastMillis;
    this.#spares.open();
    this.#takeIn(".segment");
    this.#ledger.restart(this.#lastMillis);
    this.#timer = setInterval(() => this.#sealByAge(), this.#everyMs);
  }

  /**
   * Writes what waits and ends the growing segments. What is not flushed by then is found again at the next
   * start.
   */
  async close(): Promise<void> {
    clearInterval(this.#timer);
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
    const pending = { events: 0, bytes: 0 };
    for (const lane of [this.live, this.historical, this.recordings])
      pending.events += lane.openRows + lane.writingRows;
    for (const segment of this.#segments()) {
      if (segment.lane !== "warnings" && segment.lane !== "merges") pending.events += segment.rows;
      pending.bytes += segment.rows > 0 ? segment.bytes : 0;
    }
    return pending;
  }

  /** True when no more may be taken until a flush has made room. */
  get full(): boolean {
    let bytes = 0;
    for (const name of lanes) {
      bytes += this[name].openBytes + (this[name].segment?.bytes ?? 0);
      for (const segment of this.#sealed[name]) bytes += segment.bytes;
    }
    return bytes >= this.#options.bytesMax;
  }

  /** True when no more recordings may be taken, though events still may. */
  get recordingsFull(): boolean {
    let bytes = this.recordings.openBytes;
    for (const segment of this.#segments()) if (segment.lane === "recordings") bytes += segment.bytes;
    return bytes >= this.#options.bytesMax * limits.recordingsJournalShare;
  }

  /** The oldest segment of a lane that is ready to be flushed, and not `taken` by somebody. */
  nextSealed(lane: LaneName, taken?: ReadonlySet<Segment>): Segment | undefined {
    return this.#sealed[lane].find((segment) => !taken?.has(segment));
  }

  /** Ends every sealedSoon() wait. */
  nudge(): void {
    for (const wake of this.#wake) wake();
    this.#wake.clear();
  }

  /** Resolves when a segment has been sealed, or after `ms`. */
  async sealedSoon(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#wake.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#wake.delete(resolve);
  }

  /** Resolves when every row on disk in this lane by now is in ClickHouse (or set aside by name). */
  async stored(lane: { name: LaneName; segment: Segment | undefined }): Promise<void> {
    const segments = [...this.#sealed[lane.name], ...(lane.segment ? [lane.segment] : [])];
    await Promise.all(segments.map((segment) => this.#storedPromise(segment.id).promise));
  }

  /** Forgets a flushed segment: noted in the ledger, its name removed, the folder synced; in this order. */
  async finish(segment: Segment): Promise<void> {
    await this.#ledger.note(basename(segment.path), this.#lastMillis);
    await this.#spares.keep(segment);
    await syncFolder(this.folder);
    const queue = this.#sealed[segment.lane];
    queue.splice(queue.indexOf(segment), 1);
    this.#known.delete(segment.path);
    this.#storedPromise(segment.id).resolve();
    this.#stored.delete(segment.id);
  }

  /** A number no segment of this journal had before. */
  nextId(): bigint {
    this.#lastMillis = Math.max(this.#lastMillis + 1, this.#options.clock.now());
    return segmentId(this.#lastMillis, this.#options.number);
  }

  /** Takes in quarantined rows that an operator handed back (`sluice journal retry`). */
  takeReturned(): void {
    this.#takeIn(returnedSuffix);
  }

  #takeIn(suffix: string): void {
    const names = readdirSync(this.folder).filter((name) => name.endsWith(suffix));
    const found = names.map((name) => `${this.folder}/${name}`).filter((path) => !this.#known.has(path));
    for (const path of found.toSorted()) this.#recover(path);
    for (const lane of lanes) this.#sealed[lane].sort((a, b) => (a.id < b.id ? -1 : 1));
    if (found.length > 0) this.nudge();
  }

  #recover(path: string): void {
    const read = readSegment(path);
    if (!read || read.sound.length > 1) {
      this.damagedFiles++;
      const aside = `${path}.damaged`;
      if (read) keepSound(path, aside, read.sound);
      else renameSync(path, aside);
      this.#options.log.error("a journal segment is damaged; the bad part was set aside", { path: aside });
      if (read) this.#recover(path);
      return;
    }
    const soundBytes = read.segment.bytes;
    if (soundBytes < read.fileBytes) {
      // A torn write, or what the file held before it was this segment's.
      this.#options.log.info("cut what follows the last whole frame", {
        path,
        bytes: read.fileBytes - soundBytes,
      });
      truncateSync(path, soundBytes);
    }
    this.#lastMillis = Math.max(this.#lastMillis, millisOfSegment(read.segment.id));
    this.#known.add(path);
    this.#sealed[read.segment.lane].push(read.segment);
  }

  #openLane<R extends LaneRow, B extends LaneBlock<R>>(
    name: LaneName,
    segmentBytesMax: number,
    openBlock: LaneOptions<R, B>["openBlock"],
  ): Lane<R, B> {
    const { folder, log } = this.#options;
    const onSealed = (segment: Segment) => this.#takeSealed(segment);
    const own = { nextId: () => this.nextId(), takeSpare: () => this.#spares.take(name), onSealed };
    return new Lane({ name, folder, log, segmentBytesMax, openBlock, ...own });
  }

  get #lanes() {
    return [this.live, this.historical, this.warnings, this.merges, this.recordings];
  }

  #takeSealed(segment: Segment): void {
    this.#ages.delete(segment.id);
    this.#known.add(segment.path);
    this.#sealed[segment.lane].push(segment);
    this.nudge();
  }

  #sealByAge(): void {
    for (const lane of this.#lanes) {
      const segment = lane.segment;
      // While the flush is behind, a segment goes on growing: fewer, bigger inserts.
      const behind = this.#sealed[lane.name].length >= flushesAtOnce[lane.name];
      if (!segment || segment.rows === 0 || behind) continue;
      const now = this.#options.clock.elapsed();
      const age = this.#ages.get(segment.id) ?? { openedMs: now, grownMs: now, bytes: segment.bytes };
      this.#ages.set(segment.id, age);
      if (segment.bytes > age.bytes) Object.assign(age, { grownMs: now, bytes: segment.bytes });
      const interval = this.#options.flushIntervalMs - this.#everyMs;
      const old =
        now - age.openedMs >= interval * (lane.name === "historical" ? limits.historicalPatience : 1);
      if (old || (lane.name === "historical" && now - age.grownMs >= interval)) void lane.seal();
    }
  }

  #storedPromise(id: bigint): PromiseWithResolvers<void> {
    let stored = this.#stored.get(id);
    if (!stored) this.#stored.set(id, (stored = Promise.withResolvers<void>()));
    return stored;
  }

  *#segments(): Iterable<Segment> {
    for (const lane of this.#lanes) {
      if (lane.segment) yield lane.segment;
      yield* this.#sealed[lane.name];
    }
  }
}
