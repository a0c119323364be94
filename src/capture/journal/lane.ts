// A lane: the open blocks of one kind of traffic, and their way onto the disk by group commit. Never talks to
// a store.

import { type FileHandle, unlink } from "node:fs/promises";
import { yieldToEventLoop, sleep } from "../../core/clock.ts";
import { journalLimits } from "./limits.ts";
import { type Log, reasonOf } from "../../core/log.ts";
import { Pieces } from "../../storage/native/native_pieces.ts";
import { NoRoom } from "./disk_room.ts";
import { openSegmentFile, syncFolder, writePieces } from "./segments/files.ts";
import { writeFrame } from "./segments/frame.ts";
import type { LaneBlock, LaneRow } from "./lane_block.ts";
import { LaneUsage } from "./lane_usage.ts";
import { writeNativeFrame } from "./segments/native_frame.ts";
import {
  type Batch,
  type Frame,
  type LaneName,
  type Segment,
  batchFor,
  emptySegment,
  frameOf,
  isNative,
  lanePartition,
  noteFrame,
  segmentHead,
  segmentHeadBytes,
  segmentName,
} from "./segments/segment.ts";
import { type CommitWaiter, CommitWaiters } from "./commit_waiters.ts";

export interface LaneOptions<Row extends LaneRow, Block extends LaneBlock<Row> = LaneBlock<Row>> {
  name: LaneName;
  openBlock(): Block;
  folder: string;
  log: Log;
  segmentBytesMax: number;
  /** A new segment's id, greater than every earlier one of this journal. */
  nextId(): bigint;
  /** A file that may be written over, if there is one: then it is the lane's. */
  takeRecycled(): string | undefined;
  /** Takes so many bytes for writing. @throws NoRoom when that may not be. */
  takeRoom(bytes: number): void;
  /** Takes that a segment is synced as far as it says, before that is told; must be quick. */
  onSynced(segment: Segment): void;
  /** Takes a segment that will not change any more. */
  onSealed(segment: Segment): void;
}

interface Group<Block> {
  blocks: Block[];
  waiting: CommitWaiters;
}

export class Lane<Row extends LaneRow, Block extends LaneBlock<Row> = LaneBlock<Row>> {
  readonly name: LaneName;
  openRows = 0;
  openBytes = 0;
  /** Groups that could not be written; only counted. */
  failedGroups = 0;
  /** What waits in it, by project. */
  readonly usage = new LaneUsage();
  readonly #options: LaneOptions<Row, Block>;
  #open = new Map<number, Block>();
  #spare: Block[] = [];
  /** The group that rows appended now belong to, and whether anybody waits for it. */
  #group = new CommitWaiters();
  #isWanted = false;
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

  /** Appends a row to its partition's open block. Nothing is promised until commit() resolves. */
  append(row: Row): void {
    const block = this.#blockOf(lanePartition[this.name](row.timestamp));
    const before = block.changes;
    this.#note(row.project_id, 1, block.append(row), block.changes - before);
  }

  /**
   * Lets `append` put many rows of a project into a partition's open block at once; it returns about how many bytes
   * they weigh.
   */
  appendMany(partition: number, rows: number, append: (block: Block) => number, project_id: number): void {
    const block = this.#blockOf(partition);
    const before = block.changes;
    this.#note(project_id, rows, append(block), block.changes - before);
  }

  #note(project_id: number, rows: number, bytes: number, changes: number): void {
    this.openBytes += bytes;
    this.openRows += rows;
    this.usage.add(project_id, bytes, changes);
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
    return this.openBytes >= journalLimits.groupBytesMax || this.openRows >= journalLimits.groupRowsMax;
  }

  get group(): CommitWaiters {
    return this.#group;
  }

  /**
   * Resolves when the rows that were appended in this turn are on the disk, or what is on its way if there are none.
   * @throws Fault unavailable when they could not be written (they are dropped: their sender sends them again).
   */
  commit(): Promise<void> {
    if (this.openRows === 0) return this.#writing?.waiting.promise ?? Promise.resolve();
    return this.#wantGroup().promise;
  }

  /** The same without a promise. */
  join(waiter: CommitWaiter): void {
    this.#wantGroup().add(waiter);
  }

  #wantGroup(): CommitWaiters {
    this.#asked++;
    this.#isWanted = true;
    // Started behind all that is here to be read, so that requests that arrived together share one group.
    this.#running ??= yieldToEventLoop().then(() => this.#run());
    return this.#group;
  }

  /** Ends the growing segment, so that it can be flushed; rows that wait are written first. */
  seal(): Promise<void> {
    this.#sealWanted = true;
    if (this.openRows > 0) this.#isWanted = true;
    this.#running ??= Promise.resolve().then(() => this.#run());
    return this.#running;
  }

  async #run(): Promise<void> {
    while (this.#isWanted || this.#sealWanted) {
      // All rows that waited when seal() was called are in this group: what comes meanwhile holds nothing up.
      const [asked, sealing] = [this.#asked, this.#sealWanted];
      this.#asked = 0;
      this.#sealWanted = false;
      if (this.#isWanted) await this.#runGroup();
      if (sealing) await this.#closeSegment();
      // The answers to many bring many more: they share the next group with those that wait already.
      if (asked >= journalLimits.gatherRequestsMin && !this.crowded) await sleep(journalLimits.gatherMs);
    }
    this.#running = undefined;
  }

  async #runGroup(): Promise<void> {
    const waiting = this.#group;
    const group: Group<Block> = { blocks: [...this.#open.values()], waiting };
    this.#writing = group;
    this.#group = new CommitWaiters();
    this.#isWanted = false;
    this.#open = new Map();
    this.openRows = 0;
    this.openBytes = 0;
    this.usage.begin();
    let written = false;
    try {
      await this.#write(group.blocks);
      written = true;
    } catch (thrown) {
      this.failedGroups++;
      const reason = reasonOf(thrown);
      this.#options.log.error("journal write failed; its events were refused", { lane: this.name, reason });
    }
    this.#writing = undefined;
    this.usage.drop();
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
        // The file is as good as it was.
        if (thrown instanceof NoRoom) throw thrown;
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
    let before = segment.rows;
    for (const [i, block] of blocks.entries()) {
      // Nobody else writes meanwhile: the group is closed, and there is one writer.
      if (i % journalLimits.framesAtOnceMax === journalLimits.framesAtOnceMax - 1) await yieldToEventLoop();
      const batch = batchFor(segment, block);
      if (!batch) break;
      const { rows, partition, oldest, changes } = block;
      const head = { batch: batch.id, partition, rows, oldest, synced: segment.bytes, before };
      const write = isNative(this.name) ? writeNativeFrame : writeFrame;
      const place = await write(out, head, (payload) => block.encode(payload, batch.id, batch.rows));
      before += rows;
      const at = { offset: segment.bytes + place.offset, length: place.length };
      written.push({ batch, frame: frameOf(at, rows, changes) });
    }
    this.#options.takeRoom(out.total);
    const file = this.#file;
    if (!file) throw new Error("the segment's file is closed");
    await writePieces(file, out.list(), segment.bytes);
    await file.datasync();
    await this.#named;
    const oldest = Math.min(...blocks.slice(0, written.length).map((block) => block.oldest));
    if (segment.rows === 0) segment.oldest = oldest;
    segment.bytes += out.total;
    for (const { batch, frame } of written) noteFrame(segment, batch, frame);
    this.usage.place(segment.id);
    this.#options.onSynced(segment);
    return written.length;
  }

  async #openSegment(): Promise<Segment> {
    const id = this.#options.nextId();
    const path = `${this.#options.folder}/${segmentName(this.name, id)}`;
    const headBytes = isNative(this.name) ? 0 : segmentHeadBytes;
    const spare = this.#options.takeRecycled();
    const head = headBytes > 0 ? segmentHead(this.name, id) : undefined;
    const file = await openSegmentFile(path, head, spare);
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
    // Bytes behind the last acknowledged frame are a refused group's: they must not come back after a restart.
    await file.truncate(segment.bytes).catch((thrown: unknown) => {
      const { path } = segment;
      this.#options.log.warn("could not cut a segment's tail", { path, reason: reasonOf(thrown) });
    });
    await file.close().catch(() => {});
    // Nobody was told of anything in an empty one.
    if (segment.rows === 0) await unlink(segment.path).catch(() => {});
    segment.batches = segment.batches.filter((batch) => batch.rows > 0);
    // Handed over in one turn: at no moment is the segment nobody's, or the watermark would pass its rows.
    this.#segment = undefined;
    if (segment.rows > 0) this.#options.onSealed(segment);
  }

  #recycle(blocks: Block[]): void {
    for (const block of blocks) {
      block.clear();
      if (this.#spare.length < journalLimits.recycledBlocksMax) this.#spare.push(block);
    }
  }
}
