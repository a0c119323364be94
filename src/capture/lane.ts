// A lane: the open blocks of one kind of traffic, and their way onto the disk by group commit. Never talks to
// a store.

import { type FileHandle, open, rename } from "node:fs/promises";
import { othersTurn, sleep } from "../core/clock.ts";
import { limits } from "../core/limits.ts";
import { type Log, reasonOf } from "../core/log.ts";
import type { ByteColumn } from "../storage/native.ts";
import { Pieces } from "../storage/native_pieces.ts";
import { syncFolder, writePieces, writeWhole } from "./files.ts";
import { writeNativeFrame } from "./native_frame.ts";
import {
  type Batch,
  type Frame,
  type LaneName,
  type Segment,
  batchFor,
  emptySegment,
  isNative,
  lanePartition,
  noteFrame,
  segmentHead,
  segmentHeadBytes,
  segmentName,
  writeFrame,
} from "./segment.ts";
import { type Waiter, Waiting } from "./waiting.ts";

/** What travels in a lane. */
export interface LaneRow {
  /** Microseconds since 1970, UTC: decides the partition. */
  timestamp: number;
}

/** Rows of one partition (lanePartition) as columns, until they are sealed into a frame. */
export interface LaneBlock<Row extends LaneRow> {
  partition: number;
  rows: number;
  /** created_at of the first row, in microseconds. */
  oldest: number;
  /** Takes a row; returns about how many bytes it weighs. */
  append(row: Row): number;
  /** Writes the rows as one Native block. */
  encode(out: ByteColumn, batch: bigint, firstRow: number): void;
  /** Empties the columns and keeps their memory. */
  clear(): void;
}

export interface LaneOptions<Row extends LaneRow, Block extends LaneBlock<Row> = LaneBlock<Row>> {
  name: LaneName;
  openBlock(): Block;
  folder: string;
  log: Log;
  segmentBytesMax: number;
  /** A new segment's id, greater than every earlier one of this journal. */
  nextId(): bigint;
  /** A file that may be written over, if there is one: then it is the lane's. */
  takeSpare(): string | undefined;
  /** Takes a segment that will not change any more. */
  onSealed(segment: Segment): void;
}

interface Group<Block> {
  blocks: Block[];
  waiting: Waiting;
}

export class Lane<Row extends LaneRow, Block extends LaneBlock<Row> = LaneBlock<Row>> {
  readonly name: LaneName;
  openRows = 0;
  openBytes = 0;
  /** Groups that could not be written: their rows are refused with a 503, not lost in silence. */
  failedGroups = 0;
  readonly #options: LaneOptions<Row, Block>;
  #open = new Map<number, Block>();
  #spare: Block[] = [];
  #next: Waiting | undefined;
  #writing: Group<Block> | undefined;
  #running: Promise<void> | undefined;
  #sealWanted = false;
  #asked = 0;
  #file: FileHandle | undefined;
  #segment: Segment | undefined;
  /** Resolves when the growing segment's name is durable: while its first group is written. */
  #named: Promise<void> | undefined;
  readonly #frames = new Pieces(1 << 16);

  constructor(options: LaneOptions<Row, Block>) {
    this.name = options.name;
    this.#options = options;
  }

  /** The segment that still grows, if any. */
  get segment(): Segment | undefined {
    return this.#segment;
  }

  /** created_at of the oldest row that is not in a segment yet, in microseconds. */
  get oldest(): number | undefined {
    let oldest: number | undefined;
    for (const block of [...(this.#writing?.blocks ?? []), ...this.#open.values()]) {
      if (block.rows > 0 && (oldest === undefined || block.oldest < oldest)) oldest = block.oldest;
    }
    return oldest;
  }

  /** Rows on their way to the disk right now. */
  get writingRows(): number {
    return this.#writing?.blocks.reduce((rows, block) => rows + block.rows, 0) ?? 0;
  }

  /** Lays a row into its partition's open block. Nothing is promised until commit() resolves. */
  append(row: Row): void {
    this.openBytes += this.#blockOf(lanePartition[this.name](row.timestamp)).append(row);
    this.openRows++;
  }

  /** Lets `lay` put many rows into a partition's open block at once; it returns about how many bytes they weigh. */
  appendMany(partition: number, rows: number, lay: (block: Block) => number): void {
    this.openBytes += lay(this.#blockOf(partition));
    this.openRows += rows;
  }

  #blockOf(partition: number): Block {
    let block = this.#open.get(partition);
    if (!block) {
      block = this.#spare.pop() ?? this.#options.openBlock();
      block.partition = partition;
      this.#open.set(partition, block);
    }
    return block;
  }

  /** True when a writer should wait for commit() before it appends more. */
  get crowded(): boolean {
    return this.openBytes >= limits.groupBytesMax || this.openRows >= limits.groupRowsMax;
  }

  /**
   * Resolves when every row appended so far is on the disk.
   * @throws Fault unavailable when they could not be written (they are dropped: their sender must send them
   *   again).
   */
  commit(): Promise<void> {
    if (this.openRows === 0) return this.#writing?.waiting.promise ?? Promise.resolve();
    return this.#nextGroup().promise;
  }

  /** The same for one who has appended in this very turn. */
  join(waiter: Waiter): void {
    this.#nextGroup().add(waiter);
  }

  #nextGroup(): Waiting {
    this.#asked++;
    // Started behind all that is here to be read, so that requests that arrived together share one group.
    this.#running ??= othersTurn().then(() => this.#run());
    return (this.#next ??= new Waiting());
  }

  /** Ends the growing segment, so that it can be flushed; rows that wait are written first. */
  seal(): Promise<void> {
    this.#sealWanted = true;
    if (this.openRows > 0) this.#next ??= new Waiting();
    this.#running ??= Promise.resolve().then(() => this.#run());
    return this.#running;
  }

  async #run(): Promise<void> {
    while (this.#next || this.#sealWanted) {
      // All rows that waited when seal() was called are in this group: what comes meanwhile holds nothing up.
      const [asked, sealing] = [this.#asked, this.#sealWanted];
      this.#asked = 0;
      this.#sealWanted = false;
      if (this.#next) await this.#runGroup(this.#next);
      if (sealing) await this.#closeSegment();
      // The answers to many bring many more: they share the next group with those that wait already.
      if (asked >= limits.gatherRequestsMin && !this.crowded) await sleep(limits.gatherMs);
    }
    this.#running = undefined;
  }

  async #runGroup(waiting: Waiting): Promise<void> {
    const group: Group<Block> = { blocks: [...this.#open.values()], waiting };
    let written = false;
    this.#writing = group;
    this.#next = undefined;
    this.#open = new Map();
    this.openRows = 0;
    this.openBytes = 0;
    try {
      await this.#write(group.blocks);
      written = true;
    } catch (thrown) {
      this.failedGroups++;
      const reason = reasonOf(thrown);
      this.#options.log.error("journal write failed; its events were refused", { lane: this.name, reason });
    }
    this.#writing = undefined;
    this.#recycle(group.blocks);
    if (written) waiting.keep();
    else waiting.refuse();
  }

  /** A file that failed is never trusted again: the rest of the group gets one try in a fresh segment. */
  async #write(blocks: Block[]): Promise<void> {
    let rest = blocks;
    let failures = 0;
    while (rest.length > 0) {
      try {
        const segment = this.#segment ?? (await this.#openSegment());
        rest = rest.slice(await this.#writeInto(segment, rest));
        if (rest.length > 0 || segment.bytes >= this.#options.segmentBytesMax) await this.#closeSegment();
      } catch (thrown) {
        this.#options.log.warn("journal segment given up", { lane: this.name, reason: reasonOf(thrown) });
        await this.#closeSegment();
        if (++failures === 2) throw thrown;
      }
    }
  }

  /** Writes as many of `blocks` as the segment has places for, syncs, and only then counts them in. */
  async #writeInto(segment: Segment, blocks: Block[]): Promise<number> {
    const out = this.#frames;
    out.clear();
    const written: { batch: Batch; frame: Frame }[] = [];
    for (const [i, block] of blocks.entries()) {
      // Nobody else writes meanwhile: the group is closed, and there is one writer.
      if (i % limits.framesAtOnceMax === limits.framesAtOnceMax - 1) await othersTurn();
      const batch = batchFor(segment, block);
      if (!batch) break;
      const { rows, partition, oldest } = block;
      const head = { batch: batch.id, partition, rows, oldest };
      const write = isNative(this.name) ? writeNativeFrame : writeFrame;
      const place = await write(out, head, (payload) => block.encode(payload, batch.id, batch.rows));
      written.push({ batch, frame: { offset: segment.bytes + place.offset, length: place.length, rows } });
    }
    const file = this.#file;
    if (!file) throw new Error("the segment's file is closed");
    await writePieces(file, out.list(), segment.bytes);
    await file.datasync();
    await this.#named;
    const oldest = Math.min(...blocks.slice(0, written.length).map((block) => block.oldest));
    if (segment.rows === 0) segment.oldest = oldest;
    segment.bytes += out.total;
    for (const { batch, frame } of written) noteFrame(segment, batch, frame);
    return written.length;
  }

  async #openSegment(): Promise<Segment> {
    const id = this.#options.nextId();
    const path = `${this.#options.folder}/${segmentName(this.name, id)}`;
    const headBytes = isNative(this.name) ? 0 : segmentHeadBytes;
    const spare = this.#options.takeSpare();
    const file = await (spare === undefined ? open(path, "wx", 0o600) : open(spare, "r+"));
    try {
      if (headBytes > 0) await writeWhole(file, segmentHead(this.name, id), 0);
      if (spare !== undefined) {
        // Under its new name the file never begins with its old number: frames behind it count by that.
        if (headBytes > 0) await file.datasync();
        await rename(spare, path);
      }
    } catch (thrown) {
      await file.close().catch(() => {});
      throw thrown;
    }
    this.#named = syncFolder(this.#options.folder);
    this.#named.catch(() => {});
    this.#file = file;
    this.#segment = emptySegment(this.name, id, path, headBytes);
    return this.#segment;
  }

  async #closeSegment(): Promise<void> {
    const [segment, file] = [this.#segment, this.#file];
    this.#file = undefined;
    if (!segment || !file) return;
    // Bytes behind the last acknowledged frame belong to a refused group: they must not come back after a
    // restart.
    await file.truncate(segment.bytes).catch((thrown: unknown) => {
      this.#options.log.warn("could not cut a segment's tail", {
        path: segment.path,
        reason: reasonOf(thrown),
      });
    });
    await file.close().catch(() => {});
    segment.batches = segment.batches.filter((batch) => batch.rows > 0);
    // Handed over in one turn: at no moment is the segment nobody's, or the watermark would pass its rows.
    this.#segment = undefined;
    this.#options.onSealed(segment);
  }

  #recycle(blocks: Block[]): void {
    for (const block of blocks) {
      block.clear();
      if (this.#spare.length < limits.spareBlocksMax) this.#spare.push(block);
    }
  }
}
