// A lane: the open blocks of one kind of traffic, their group commit to the disk, and those who wait for a group.

import { nextTurn, sleep } from "../../core/clock.ts";
import { type Fault, unavailable } from "../../core/fault.ts";
import { toReason } from "../../core/log.ts";
import type { LaneBlock, LaneKind, LaneRow, PendingSize } from "./lane_kind.ts";
import { journalLimits } from "./limits.ts";
import type { Segment } from "./segments/segment.ts";
import { SegmentWriter, type SegmentWriterOptions } from "./segments/segment_writer.ts";

interface LaneOptions<Block extends LaneBlock<LaneRow>> extends SegmentWriterOptions {
  kind: LaneKind<Block>;
  onFailed(): void;
}

export class Lane<Row extends LaneRow, Block extends LaneBlock<Row> = LaneBlock<Row>> {
  readonly kind: LaneKind<Block>;
  openRows = 0;
  openBytes = 0;
  /** Memory of the empty blocks that are kept for reuse. */
  recycledBytes = 0;
  readonly usage = new PendingByProject();
  readonly #options: LaneOptions<Block>;
  readonly #writer: SegmentWriter;
  #open = new Map<number, Block>();
  #recycled: Block[] = [];
  /** The group that rows are appended to now, and whether it is to be written. */
  #group = new CommitWaiters();
  #isScheduled = false;
  #writing: { blocks: Block[]; waiters: CommitWaiters } | undefined;
  #running: Promise<void> | undefined;
  #isSealRequested = false;
  #requests = 0;

  constructor(options: LaneOptions<Block>) {
    this.kind = options.kind;
    this.#options = options;
    const onSynced = (segment: Segment): void => {
      this.usage.assign(segment.id);
      options.onSynced(segment);
    };
    this.#writer = new SegmentWriter({ ...options, onSynced });
  }

  get segment(): Segment | undefined {
    return this.#writer.segment;
  }

  /** created_at of the oldest row that is not in a segment yet, in microseconds. */
  get oldest(): number | undefined {
    let oldest: number | undefined;
    for (const block of [...(this.#writing?.blocks ?? []), ...this.#open.values()]) {
      if (block.rows > 0 && (oldest === undefined || block.oldest < oldest)) oldest = block.oldest;
    }
    return oldest;
  }

  get writingRows(): number {
    return this.#writing?.blocks.reduce((rows, block) => rows + block.rows, 0) ?? 0;
  }

  /** Appends a row to its partition's open block. Nothing is promised until commit() resolves. */
  append(row: Row): void {
    const block = this.#readBlock(this.kind.toPartition(row.timestamp));
    const before = block.changes;
    this.#count(row.project_id, 1, block.append(row), block.changes - before);
  }

  /**
   * Lets `append` put many rows of a project into a partition's open block at once; it returns about how many bytes
   * they have.
   */
  appendMany(partition: number, rows: number, append: (block: Block) => number, project_id: number): void {
    const block = this.#readBlock(partition);
    const before = block.changes;
    this.#count(project_id, rows, append(block), block.changes - before);
  }

  #count(project_id: number, rows: number, bytes: number, changes: number): void {
    this.openBytes += bytes;
    this.openRows += rows;
    this.usage.add(project_id, bytes, changes);
  }

  #readBlock(partition: number): Block {
    let block = this.#open.get(partition);
    if (!block) {
      block = this.#recycled.pop();
      if (block) this.recycledBytes -= block.capacity;
      else block = this.kind.openBlock();
      block.partition = partition;
      this.#open.set(partition, block);
    }
    return block;
  }

  /** True when a writer should wait for commit() before it appends more. */
  get isCrowded(): boolean {
    return this.openBytes >= journalLimits.groupBytesMax || this.openRows >= journalLimits.groupRowsMax;
  }

  get group(): CommitWaiters {
    return this.#group;
  }

  /**
   * Resolves when the rows that were appended in this turn are on the disk; if there are none, when the group that is
   * being written is.
   * @throws Fault unavailable when they could not be written (they are dropped, and their sender sends them again).
   */
  commit(): Promise<void> {
    if (this.openRows === 0) return this.#writing?.waiters.promise ?? Promise.resolve();
    return this.#scheduleGroup().promise;
  }

  /** Variant of commit(), with a waiter instead of a promise. */
  join(waiter: CommitWaiter): void {
    this.#scheduleGroup().add(waiter);
  }

  #scheduleGroup(): CommitWaiters {
    this.#requests++;
    this.#isScheduled = true;
    // The group is written from the next turn on, so that requests that arrived together share it.
    this.#running ??= nextTurn().then(() => this.#run());
    return this.#group;
  }

  /**
   * Ends the growing segment, so that it can be flushed; open blocks are written first. Resolves when its file is
   * closed; no group waits for that.
   */
  seal(): Promise<void> {
    this.#isSealRequested = true;
    if (this.openRows > 0) this.#isScheduled = true;
    this.#running ??= Promise.resolve().then(() => this.#run());
    return this.#running.then(() => this.#writer.closed());
  }

  /** Releases empty blocks, and the file that is made ahead for the next segment, unless a group is being written. */
  releaseIdle(): Promise<void> {
    this.#recycled = [];
    this.recycledBytes = 0;
    return this.#running ? Promise.resolve() : this.#writer.releaseIdle();
  }

  /** Ends the lane: seals the growing segment, and deletes the file that is made ahead. */
  async close(): Promise<void> {
    await this.seal();
    await this.#writer.release();
  }

  async #run(): Promise<void> {
    while (this.#isScheduled || this.#isSealRequested) {
      // All rows that were open when seal() was called are in this group; later ones do not delay the seal.
      const [requests, isSealing] = [this.#requests, this.#isSealRequested];
      this.#requests = 0;
      this.#isSealRequested = false;
      if (this.#isScheduled) await this.#runGroup();
      if (isSealing) this.#writer.close();
      // Many replies lead to as many new requests: these share the next group with those that wait already.
      if (requests >= journalLimits.gatherRequestsMin && !this.isCrowded) await sleep(journalLimits.gatherMs);
    }
    this.#running = undefined;
  }

  async #runGroup(): Promise<void> {
    const [blocks, waiters] = [[...this.#open.values()], this.#group];
    this.#writing = { blocks, waiters };
    this.#group = new CommitWaiters();
    this.#isScheduled = false;
    this.#open = new Map();
    this.openRows = 0;
    this.openBytes = 0;
    this.usage.beginWrite();
    let isWritten = false;
    try {
      await this.#writer.write(blocks);
      isWritten = true;
    } catch (thrown) {
      this.#options.onFailed();
      const reason = toReason(thrown);
      this.#options.log.error("journal write failed; its events were refused", {
        lane: this.kind.name,
        reason,
      });
    }
    this.#writing = undefined;
    this.usage.dropUnwritten();
    for (const block of blocks) this.#recycle(block);
    if (isWritten) waiters.commit();
    else waiters.fail();
  }

  #recycle(block: Block): void {
    block.clear();
    const { capacity } = block;
    const { recycledBlocksMax, recycledBlocksBytesMax } = journalLimits;
    if (this.#recycled.length >= recycledBlocksMax) return;
    if (this.recycledBytes + capacity > recycledBlocksBytesMax) return;
    this.recycledBytes += capacity;
    this.#recycled.push(block);
  }
}

/** Called without a promise, in the turn in which the group is written or has failed. Neither method may throw. */
export interface CommitWaiter {
  onCommitted(): void;
  /** It could not be written: its rows are dropped. */
  onFailed(fault: Fault): void;
}

export class CommitWaiters {
  fault: Fault | undefined;
  #isCommitted = false;
  readonly #waiters: CommitWaiter[] = [];
  #promised: PromiseWithResolvers<void> | undefined;

  /** Resolves when the group is on the disk. @throws Fault unavailable when it could not be written. */
  get promise(): Promise<void> {
    if (!this.#promised) {
      this.#promised = Promise.withResolvers<void>();
      this.#promised.promise.catch(() => {});
      if (this.#isCommitted) this.#promised.resolve();
      if (this.fault) this.#promised.reject(this.fault);
    }
    return this.#promised.promise;
  }

  /** Only before the group is written. */
  add(waiter: CommitWaiter): void {
    this.#waiters.push(waiter);
  }

  commit(): void {
    this.#isCommitted = true;
    this.#promised?.resolve();
    for (const waiter of this.#waiters) waiter.onCommitted();
  }

  fail(): void {
    const fault = unavailable("The journal cannot be written. Send the events again later.");
    this.fault = fault;
    this.#promised?.reject(fault);
    for (const waiter of this.#waiters) waiter.onFailed(fault);
  }
}

export interface Committing {
  /** The group that rows appended in this turn belong to. */
  readonly group: CommitWaiters;
  /** Writes that group, and resolves or rejects with it. */
  commit(): Promise<void>;
}

/** Appends rows in order: a lane, or the connection to the process that has it. */
export interface RowAppender<Row> extends Committing {
  /** True when a writer should wait for commit() before it appends more. */
  readonly isCrowded: boolean;
  readonly openRows: number;
  append(row: Row): void;
}

/** The groups that hold the rows of one request: its reply depends on these and no others. */
export class CommitGroups {
  readonly #joined: { lane: Committing; group: CommitWaiters }[] = [];

  join(lane: Committing): void {
    const { group } = lane;
    for (let i = this.#joined.length - 1; i >= 0; i--) if (this.#joined[i]!.group === group) return;
    this.#joined.push({ lane, group });
  }

  /** Throws when one of the groups is known to have failed. @throws Fault unavailable. */
  check(): void {
    for (const { group } of this.#joined) if (group.fault) throw group.fault;
  }

  /** Resolves when all rows are on the disk. @throws Fault unavailable when some could not be written. */
  async commit(): Promise<void> {
    for (const { lane, group } of this.#joined) if (lane.group === group) void lane.commit();
    for (const { group } of this.#joined) await group.promise;
  }
}

type SizeByProject = Map<number, PendingSize>;

/**
 * Counts what is pending in a lane, by project: bytes, and changes of persons and groups, from the open block until
 * their segment is flushed.
 */
export class PendingByProject {
  readonly total = noSize();
  /** The sum by project; only projects that have something. */
  readonly #pending: SizeByProject = new Map();
  /** The parts of that sum: in open blocks, in the group that is being written, in segments that are not flushed. */
  #open: SizeByProject = new Map();
  #writing: SizeByProject = new Map();
  readonly #segments = new Map<bigint, SizeByProject>();
  /** The counts of the last project: rows of one project come in runs. */
  #project = -1;
  #projectOpen = noSize();
  #projectPending = noSize();

  of(project_id: number): Readonly<PendingSize> {
    return this.#pending.get(project_id) ?? nonePending;
  }

  add(project_id: number, bytes: number, changes: number): void {
    if (project_id !== this.#project) {
      this.#projectOpen = this.#open.getOrInsertComputed(project_id, noSize);
      this.#projectPending = this.#pending.getOrInsertComputed(project_id, noSize);
      this.#project = project_id;
    }
    this.#projectOpen.bytes += bytes;
    this.#projectOpen.changes += changes;
    this.#projectPending.bytes += bytes;
    this.#projectPending.changes += changes;
    this.total.bytes += bytes;
    this.total.changes += changes;
  }

  beginWrite(): void {
    this.#writing = this.#open;
    this.#open = new Map();
    this.#project = -1;
  }

  /** The group, or its first part, was written to this segment. */
  assign(segment: bigint): void {
    this.addFound(segment, this.#writing, false);
    this.#writing = new Map();
  }

  /** Subtracts the part of the group that could not be written. */
  dropUnwritten(): void {
    this.#subtract(this.#writing);
    this.#writing = new Map();
  }

  addFound(segment: bigint, found: ReadonlyMap<number, PendingSize>, isNew = true): void {
    if (found.size === 0) return;
    const sizes: SizeByProject = this.#segments.getOrInsertComputed(segment, () => new Map());
    for (const [project_id, size] of found) {
      addTo(sizes.getOrInsertComputed(project_id, noSize), size);
      if (!isNew) continue;
      addTo(this.#pending.getOrInsertComputed(project_id, noSize), size);
      addTo(this.total, size);
    }
  }

  release(segment: bigint): void {
    const sizes = this.#segments.get(segment);
    if (!sizes) return;
    this.#segments.delete(segment);
    this.#subtract(sizes);
  }

  #subtract(sizes: SizeByProject): void {
    for (const [project_id, { bytes, changes }] of sizes) {
      const size = this.#pending.getOrInsertComputed(project_id, noSize);
      size.bytes -= bytes;
      size.changes -= changes;
      this.total.bytes -= bytes;
      this.total.changes -= changes;
      if (size.bytes <= 0 && size.changes <= 0) this.#pending.delete(project_id);
    }
    // The last project's counts may have been deleted.
    this.#project = -1;
  }
}

const nonePending: Readonly<PendingSize> = noSize();

function noSize(): PendingSize {
  return { bytes: 0, changes: 0 };
}

function addTo(sum: PendingSize, { bytes, changes }: PendingSize): void {
  sum.bytes += bytes;
  sum.changes += changes;
}
