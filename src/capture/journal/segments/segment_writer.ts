// The growing segment of a lane: frames are appended to its file, synced, and only then counted.

import { nextTurn } from "../../../core/clock.ts";
import { toReason } from "../../../core/log.ts";
import { Pieces } from "../../../storage/native/native.ts";
import { captureLimits } from "../../limits.ts";
import type { JournalFile, JournalIo } from "../journal_io.ts";
import type { FrameBlock } from "../lane_kind.ts";
import { journalLimits } from "../limits.ts";
import { DiskFullError } from "../quota.ts";
import { writeFrame } from "./frame.ts";
import { writeNativeFrame } from "./native_frame.ts";
import { type Batch, batchId, type Frame, type Segment } from "./segment.ts";
import { SegmentFiles, type SegmentFilesOptions } from "./segment_files.ts";

export interface SegmentWriterOptions extends SegmentFilesOptions {
  segmentBytesMax: number;
  batchBytesMax: number;
  /** Called when a segment is synced up to its `bytes`, before the requests are answered; must be quick. */
  onSynced(segment: Segment): void;
  onSealed(segment: Segment): void;
}

export class SegmentWriter {
  readonly #options: SegmentWriterOptions;
  #file: JournalFile | undefined;
  #segment: Segment | undefined;
  readonly #files: SegmentFiles;
  /** Resolves when the growing segment's name is durable. */
  #named: Promise<void> | undefined;
  #lastBytes = 0;
  readonly #closing = new Set<Promise<void>>();
  readonly #frames = new Pieces(1 << 16);

  constructor(options: SegmentWriterOptions) {
    this.#options = options;
    this.#files = new SegmentFiles(options);
  }

  get segment(): Segment | undefined {
    return this.#segment;
  }

  /**
   * Writes a group; durable when it resolves. A file that failed is never trusted again: the rest of the group gets one
   * try in a fresh segment.
   */
  async write(blocks: readonly FrameBlock[]): Promise<void> {
    let unwritten = blocks;
    let failures = 0;
    while (unwritten.length > 0) {
      try {
        const segment = this.#segment ?? (await this.#open());
        unwritten = unwritten.slice(await this.#writeInto(segment, unwritten));
        if (unwritten.length > 0 || segment.bytes >= this.#options.segmentBytesMax) this.close();
      } catch (thrown) {
        // Nothing was written: the file can still be used.
        if (thrown instanceof DiskFullError) throw thrown;
        const { kind, log } = this.#options;
        log.warn("journal segment abandoned", { lane: kind.name, reason: toReason(thrown) });
        this.close();
        // The group's refusal is not reported while it may still come back.
        await this.closed();
        if (++failures === 2) throw thrown;
      }
    }
  }

  /** Writes as many of `blocks` as the segment has batches for, syncs, and only then counts them; returns how many. */
  async #writeInto(segment: Segment, blocks: readonly FrameBlock[]): Promise<number> {
    const out = this.#frames;
    out.clear();
    const written: { batch: Batch; frame: Frame; changes: number }[] = [];
    let rowsBefore = segment.rows;
    for (const [i, block] of blocks.entries()) {
      // Nothing else is written meanwhile: the group is closed, and there is one writer.
      if (i % journalLimits.framesAtOnceMax === journalLimits.framesAtOnceMax - 1) await nextTurn();
      const batch = batchFor(segment, block, this.#options.batchBytesMax);
      if (!batch) break;
      const { rows, partition, oldest, changes } = block;
      const head = { batch: batch.id, partition, rows, oldest, synced: segment.bytes, before: rowsBefore };
      const write = segment.lane.isNative ? writeNativeFrame : writeFrame;
      const range = await write(out, head, (payload) => block.encode(payload, batch.id, batch.rows));
      rowsBefore += rows;
      const frame = { offset: segment.bytes + range.offset, length: range.length, rows };
      written.push({ batch, frame, changes });
    }
    this.#options.acquireSpace(out.total);
    const file = this.#file;
    if (!file) throw new Error("the segment's file is closed");
    await writeChunks(this.#options.setup.io, file, out.list(), segment.bytes);
    await file.datasync();
    await this.#named;
    const oldest = Math.min(...blocks.slice(0, written.length).map((block) => block.oldest));
    const isFirst = segment.rows === 0;
    if (isFirst) segment.oldest = oldest;
    segment.bytes += out.total;
    for (const { batch, frame, changes } of written) {
      countFrame(segment, batch, frame);
      if (changes > 0) batch.changes = (batch.changes ?? 0) + changes;
    }
    this.#options.onSynced(segment);
    if (isFirst) this.#files.prepare(Math.max(this.#lastBytes, segment.bytes) * journalLimits.preparedFactor);
    return written.length;
  }

  async #open(): Promise<Segment> {
    const { id, path, file, headBytes, named } = await this.#files.open();
    this.#file = file;
    this.#named = named;
    const lane = this.#options.kind;
    const empty = { bytes: headBytes, rows: 0, oldest: 0, batches: [], isRecovered: false };
    return (this.#segment = { id, lane, path, ...empty });
  }

  /** Ends the growing segment, so that it can be flushed. Its file is cut and closed afterwards: see closed(). */
  close(): void {
    const [segment, file] = [this.#segment, this.#file];
    this.#file = undefined;
    if (!segment || !file) return;
    segment.batches = segment.batches.filter((batch) => batch.rows > 0);
    this.#lastBytes = segment.bytes;
    const closed = this.#files.cut(segment, file).finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
    segment.closed = closed;
    // Handed over in one turn: at no moment is the segment nobody's, or the watermark would pass its rows.
    this.#segment = undefined;
    if (segment.rows > 0) this.#options.onSealed(segment);
  }

  /** Resolves when the files of all segments that ended are cut and closed. */
  async closed(): Promise<void> {
    await Promise.all(this.#closing);
  }

  /** Releases the file that was made ahead, while no segment grows. */
  async releaseIdle(): Promise<void> {
    if (!this.#segment) await this.#files.drop();
  }

  /** Releases the file that was made ahead; no further one is made. */
  async release(): Promise<void> {
    await this.#files.close();
  }
}

const chunksMax = 512;

/**
 * Writes several chunks without copying them; short writes are normal. Few bytes are written synchronously, which takes
 * 20 µs; more by another thread, so that other requests do not wait.
 */
async function writeChunks(
  io: JournalIo,
  file: JournalFile,
  chunks: Uint8Array[],
  position: number,
): Promise<void> {
  const isFew = chunks.reduce((sum, chunk) => sum + chunk.length, 0) <= journalLimits.writeNowBytesMax;
  let at = position;
  for (let next = 0; next < chunks.length; next += chunksMax) {
    for (let tail = chunks.slice(next, next + chunksMax); tail.length > 0;) {
      const bytesWritten = isFew ? io.writevNow(file, tail, at) : (await file.writev(tail, at)).bytesWritten;
      if (bytesWritten <= 0) throw new Error("the disk took no more bytes");
      at += bytesWritten;
      tail = withoutFirst(tail, bytesWritten);
    }
  }
}

function withoutFirst(chunks: Uint8Array[], bytes: number): Uint8Array[] {
  let skipped = bytes;
  const tail: Uint8Array[] = [];
  for (const chunk of chunks) {
    if (skipped < chunk.length) tail.push(skipped > 0 ? chunk.subarray(skipped) : chunk);
    skipped = Math.max(0, skipped - chunk.length);
  }
  return tail;
}

/**
 * The batch for a block's rows: the partition's last one, or a new one when that is full. Undefined when the segment is
 * full, or should end here.
 */
function batchFor(segment: Segment, block: FrameBlock, batchBytesMax: number): Batch | undefined {
  const open = segment.batches.findLast(({ partition }) => partition === block.partition);
  const hasSpace = open && open.rows + block.rows <= segment.lane.batchRowsMax && open.bytes < batchBytesMax;
  const changes = (open?.changes ?? 0) + block.changes;
  if (hasSpace && (changes <= captureLimits.batchChangesMax || open.rows === 0)) return open;
  // The engine reads the file of a segment with one batch as it is: a second batch goes to the next segment.
  if (open && segment.batches.length === 1) return undefined;
  if (segment.batches.length >= journalLimits.segmentBatchesMax) return undefined;
  const id = batchId(segment.id, segment.batches.length);
  const batch: Batch = { id, partition: block.partition, rows: 0, bytes: 0, frames: [] };
  segment.batches.push(batch);
  return batch;
}

/** Counts a frame that was written into its batch and segment. */
export function countFrame(segment: Segment, batch: Batch, frame: Frame): void {
  batch.frames.push(frame);
  batch.rows += frame.rows;
  batch.bytes += frame.length;
  segment.rows += frame.rows;
}
