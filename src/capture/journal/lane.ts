// A lane: the open blocks of one kind of traffic, their way onto the disk by group commit, and who waits for a group.

import { nextTurn, sleep } from "../../core/clock.ts";
import { type Fault, unavailable } from "../../core/fault.ts";
import { reasonOf } from "../../core/log.ts";
import type { PendingSize } from "./figures.ts";
import type { LaneBlock, LaneKind, LaneRow } from "./lane_kind.ts";
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
  readonly usage = new PendingByProject();
  readonly #options: LaneOptions<Block>;
  readonly #writer: SegmentWriter;
  #open = new Map<number, Block>();
  #recycled: Block[] = [];
  /** The group of rows that are appended now, and whether a request waits for it. */
  #group = new CommitWaiters();
  #isWanted = false;
  #writing: { blocks: Block[]; waiting: CommitWaiters } | undefined;
  #running: Promise<void> | undefined;
  #sealWanted = false;
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

  /** The segment that still grows, if any. */
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

  /** Rows on their way to the disk right now. */
  get writingRows(): number {
    return this.#writing?.blocks.reduce((rows, block) => rows + block.rows, 0) ?? 0;
  }

  /** Appends a row to its partition's open block. Nothing is promised until commit() resolves. */
  append(row: Row): void {
    const block = this.#blockOf(this.kind.partitionOf(row.timestamp));
    const before = block.changes;
    this.#count(row.project_id, 1, block.append(row), block.changes - before);
  }

  /**
   * Lets `append` put many rows of a project into a partition's open block at once; it returns about how many bytes
   * they have.
   */
  appendMany(partition: number, rows: number, append: (block: Block) => number, project_id: number): void {
    const block = this.#blockOf(partition);
    const before = block.changes;
    this.#count(project_id, rows, append(block), block.changes - before);
  }

  #count(project_id: number, rows: number, bytes: number, changes: number): void {
    this.openBytes += bytes;
    this.openRows += rows;
    this.usage.add(project_id, bytes, changes);
  }

  #blockOf(partition: number): Block {
    let block = this.#open.get(partition);
    if (!block) {
      block = this.#recycled.pop() ?? this.kind.openBlock();
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
   * Resolves when the rows that were appended in this turn are on the disk, or what is on its way if there are none.
   * @throws Fault unavailable when they could not be written (they are dropped: their sender sends them again).
   */
  commit(): Promise<void> {
    if (this.openRows === 0) return this.#writing?.waiting.promise ?? Promise.resolve();
    return this.#wantGroup().promise;
  }

  /** As commit(), with a waiter instead of a promise. */
  join(waiter: CommitWaiter): void {
    this.#wantGroup().add(waiter);
  }

  #wantGroup(): CommitWaiters {
    this.#requests++;
    this.#isWanted = true;
    // Started when all that has arrived is read, so that requests that arrived together share one group.
    this.#running ??= nextTurn().then(() => this.#run());
    return this.#group;
  }

  /**
   * Ends the growing segment, so that it can be flushed; rows that wait are written first. Resolves when its file is
   * closed; no group waits for that.
   */
  seal(): Promise<void> {
    this.#sealWanted = true;
    if (this.openRows > 0) this.#isWanted = true;
    this.#running ??= Promise.resolve().then(() => this.#run());
    return this.#running.then(() => this.#writer.closed());
  }

  /** Gives back what is kept for the next group's segment, if none is expected soon. */
  releaseIdle(): Promise<void> {
    return this.#running ? Promise.resolve() : this.#writer.releaseIdle();
  }

  /** Ends the lane: seals what grows, and leaves no file behind that holds nothing. */
  async close(): Promise<void> {
    await this.seal();
    await this.#writer.release();
  }

  async #run(): Promise<void> {
    while (this.#isWanted || this.#sealWanted) {
      // All rows that waited when seal() was called are in this group; later ones delay nothing.
      const [requests, sealing] = [this.#requests, this.#sealWanted];
      this.#requests = 0;
      this.#sealWanted = false;
      if (this.#isWanted) await this.#runGroup();
      if (sealing) this.#writer.close();
      // Many answers bring as many new requests: these share the next group with those that wait already.
      if (requests >= journalLimits.gatherRequestsMin && !this.isCrowded) await sleep(journalLimits.gatherMs);
    }
    this.#running = undefined;
  }

  async #runGroup(): Promise<void> {
    const [blocks, waiting] = [[...this.#open.values()], this.#group];
    this.#writing = { blocks, waiting };
    this.#group = new CommitWaiters();
    this.#isWanted = false;
    this.#open = new Map();
    this.openRows = 0;
    this.openBytes = 0;
    this.usage.begin();
    let written = false;
    try {
      await this.#writer.write(blocks);
      written = true;
    } catch (thrown) {
      this.#options.onFailed();
      const reason = reasonOf(thrown);
      this.#options.log.error("journal write failed; its events were refused", {
        lane: this.kind.name,
        reason,
      });
    }
    this.#writing = undefined;
    this.usage.drop();
    for (const block of blocks) {
      block.clear();
      if (this.#recycled.length < journalLimits.recycledBlocksMax) this.#recycled.push(block);
    }
    if (written) waiting.commit();
    else waiting.fail();
  }
}

/** Called in the turn in which the group's end is known, without a promise. Neither method may throw. */
export interface CommitWaiter {
  /** The group is on the disk. */
  onCommitted(): void;
  /** It could not be written: its rows are dropped. */
  onFailed(fault: Fault): void;
}

export class CommitWaiters {
  fault: Fault | undefined;
  #isCommitted = false;
  readonly #waiters: CommitWaiter[] = [];
  #promised: PromiseWithResolvers<void> | undefined;

  /**
   * Resolves when the group is on the disk.
   * @throws Fault unavailable when it could not be written.
   */
  get promise(): Promise<void> {
    if (!this.#promised) {
      this.#promised = Promise.withResolvers<void>();
      this.#promised.promise.catch(() => {});
      if (this.#isCommitted) this.#promised.resolve();
      if (this.fault) this.#promised.reject(this.fault);
    }
    return this.#promised.promise;
  }

  /** Before the group is written only. */
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

/** Takes rows in order: a lane, or another process that has it. */
export interface RowAppender<Row> extends Committing {
  /** True when a writer should wait for commit() before it appends more. */
  readonly isCrowded: boolean;
  readonly openRows: number;
  append(row: Row): void;
}

/** The groups that hold the rows of one request: what it is answered depends on these and no others. */
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

  /**
   * Resolves when all rows are on the disk.
   * @throws Fault unavailable when some could not be written.
   */
  async commit(): Promise<void> {
    for (const { lane, group } of this.#joined) if (lane.group === group) void lane.commit();
    for (const { group } of this.#joined) await group.promise;
  }
}

type SizeByProject = Map<number, PendingSize>;

/**
 * What is pending in a lane, by project: bytes, and changes of persons and groups, from the open block until their
 * segment is flushed.
 */
export class PendingByProject {
  readonly total = nothing();
  /** The sum by project; only projects that have something. */
  readonly #pending: SizeByProject = new Map();
  /** Its parts: in open blocks, in the group that is being written, and in segments that are not flushed. */
  #open: SizeByProject = new Map();
  #writing: SizeByProject = new Map();
  readonly #segments = new Map<bigint, SizeByProject>();
  /** The counts of the last project: rows of one project come in runs. */
  #project = -1;
  #projectOpen = nothing();
  #projectPending = nothing();

  of(project_id: number): Readonly<PendingSize> {
    return this.#pending.get(project_id) ?? nonePending;
  }

  /** Adds rows of an open block. */
  add(project_id: number, bytes: number, changes: number): void {
    if (project_id !== this.#project) {
      this.#projectOpen = this.#open.getOrInsertComputed(project_id, nothing);
      this.#projectPending = this.#pending.getOrInsertComputed(project_id, nothing);
      this.#project = project_id;
    }
    this.#projectOpen.bytes += bytes;
    this.#projectOpen.changes += changes;
    this.#projectPending.bytes += bytes;
    this.#projectPending.changes += changes;
    this.total.bytes += bytes;
    this.total.changes += changes;
  }

  /** The open blocks become the group that is written. */
  begin(): void {
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
  drop(): void {
    this.#subtract(this.#writing);
    this.#writing = new Map();
  }

  /** Adds what a segment of an earlier process holds. */
  addFound(segment: bigint, uses: ReadonlyMap<number, PendingSize>, isNew = true): void {
    if (uses.size === 0) return;
    const sizes: SizeByProject = this.#segments.getOrInsertComputed(segment, () => new Map());
    for (const [project_id, use] of uses) {
      addTo(sizes.getOrInsertComputed(project_id, nothing), use);
      if (!isNew) continue;
      addTo(this.#pending.getOrInsertComputed(project_id, nothing), use);
      addTo(this.total, use);
    }
  }

  release(segment: bigint): void {
    const uses = this.#segments.get(segment);
    if (!uses) return;
    this.#segments.delete(segment);
    this.#subtract(uses);
  }

  #subtract(uses: SizeByProject): void {
    for (const [project_id, { bytes, changes }] of uses) {
      const size = this.#pending.getOrInsertComputed(project_id, nothing);
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

const nonePending: Readonly<PendingSize> = nothing();

function nothing(): PendingSize {
  return { bytes: 0, changes: 0 };
}

function addTo(use: PendingSize, { bytes, changes }: PendingSize): void {
  use.bytes += bytes;
  use.changes += changes;
}
