// Sends batches to ClickHouse in one INSERT. An embedded engine reads a file by name: the segment itself, if it holds
// nothing else and no short blocks, or the spool. The spool is overwritten again and again, as pages that exist cost
// far less than new ones, but not while the engine may still read it.

import { limits } from "../../core/limits.ts";
import type { ClickHouse, NativeBody } from "../../storage/clickhouse/clickhouse.ts";
import { type JournalFile, type JournalIo, readWhole, writeWhole } from "../journal/journal_io.ts";
import type { LaneKind } from "../journal/lane_kind.ts";
import type { Batch, FileRange, Segment } from "../journal/segments/segment.ts";
import { insertBatches } from "../store.ts";
import { readFirstColumns, thinOldRows } from "./first_columns.ts";
import { areWholeFile, listFileRanges, type LoadedBatch, readBatches } from "./insert_plan.ts";
import { flushLimits } from "./limits.ts";
import { areShort, joinBlocks, readFrames } from "./short_blocks.ts";

/** Sends blocks of a lane; by default, to be stored. */
type Insert = (lane: LaneKind, body: NativeBody) => Promise<void>;

export class BatchSender {
  readonly #io: JournalIo;
  readonly #clickhouse: ClickHouse;
  readonly #insert: Insert;
  readonly #spoolStem: string;
  #generation = 0;
  #file: JournalFile | undefined;
  #buffer: Uint8Array | undefined;

  /** `spoolStem`: the path of the spool without its ending. */
  constructor(
    io: JournalIo,
    clickhouse: ClickHouse,
    spoolStem: string,
    insert: Insert = (lane, body) => insertBatches(clickhouse, lane.table, body),
  ) {
    this.#io = io;
    this.#clickhouse = clickhouse;
    this.#insert = insert;
    this.#spoolStem = spoolStem;
  }

  /** Frees the buffer, when nothing waits to be flushed. */
  releaseIdle(): void {
    this.#buffer = undefined;
  }

  async send(segment: Segment, batches: Batch[]): Promise<void> {
    if (areShort(batches, segment.lane)) {
      const blocks = joinBlocks(readFrames(this.#io, segment.path, batches));
      await this.sendBlocks(segment.lane, blocks);
    } else if (!this.#clickhouse.embedded) {
      await this.sendLoaded(segment.lane, await readBatches(this.#io, segment.path, batches));
    } else if (areWholeFile(this.#io, batches, segment)) {
      // After a failure the engine may still read the file.
      await this.#sendFile(segment.lane, segment.path, () => (segment.isBorrowed = true));
    } else await this.#sendSpool(segment.lane, this.#copyToSpool(segment.path, listFileRanges(batches)));
  }

  async sendLoaded(lane: LaneKind, batches: LoadedBatch[]): Promise<void> {
    await this.sendBlocks(
      lane,
      batches.flatMap(({ blocks }) => blocks.map(({ native }) => native)),
    );
  }

  /** Sends the columns up to `last` of all blocks of these segments, as of `now` in ms since 1970, in few INSERTs. */
  async sendFirstColumns(segments: readonly Segment[], last: string, now: number): Promise<void> {
    let [joined, joinedBytes]: [Uint8Array[], number] = [[], 0];
    let [blocks, bytes]: [Uint8Array[], number] = [[], 0];
    // Blocks of live events are short: a write for each would cost more than all else.
    const join = (): void => {
      joined.push(Buffer.concat(blocks));
      joinedBytes += bytes;
      [blocks, bytes] = [[], 0];
    };
    const send = async (lane: LaneKind) => {
      await this.sendBlocks(lane, joined);
      [joined, joinedBytes] = [[], 0];
    };
    for (const segment of segments) {
      for await (const columns of readFirstColumns(this.#io, segment, last)) {
        const block = thinOldRows(columns, now);
        blocks.push(block);
        bytes += block.length;
        if (bytes >= limits.copyBytesMax) join();
        if (joinedBytes >= flushLimits.firstColumnsSentBytes) await send(segment.lane);
      }
    }
    if (bytes > 0) join();
    if (joinedBytes > 0) await send(segments[0]!.lane);
  }

  async sendBlocks(lane: LaneKind, blocks: Uint8Array[] | AsyncIterable<Uint8Array>): Promise<void> {
    if (this.#clickhouse.embedded) await this.#sendSpool(lane, this.#writeSpool(blocks));
    else if (Array.isArray(blocks)) await this.#insert(lane, { bytes: blocks });
    else await this.#insert(lane, { bytes: await Array.fromAsync(blocks, (block) => block.slice()) });
  }

  #sendSpool(lane: LaneKind, path: Promise<string>): Promise<void> {
    return this.#sendFile(lane, path, () => this.abandon());
  }

  async #sendFile(lane: LaneKind, path: string | Promise<string>, onFailed: () => unknown): Promise<void> {
    try {
      await this.#insert(lane, { path: await path });
    } catch (thrown) {
      await onFailed();
      throw thrown;
    }
  }

  /** Replaces the spool's content with the blocks; resolves to its path. */
  async #writeSpool(blocks: Uint8Array[] | AsyncIterable<Uint8Array>): Promise<string> {
    const file = await this.#openSpool();
    let size = 0;
    for await (const block of blocks) {
      await writeWhole(file, block, size);
      size += block.length;
    }
    await file.truncate(size);
    return this.#path;
  }

  /**
   * Replaces the spool's content with these ranges of the file at `from`; resolves to its path.
   * @throws when that file ends before one of the ranges does.
   */
  async #copyToSpool(from: string, ranges: FileRange[]): Promise<string> {
    const file = await this.#openSpool();
    const buffer = (this.#buffer ??= new Uint8Array(flushLimits.spoolBufferBytes));
    const source = await this.#io.open(from, "r");
    let [size, buffered] = [0, 0];
    const write = async () => {
      await writeWhole(file, buffer.subarray(0, buffered), size);
      size += buffered;
      buffered = 0;
    };
    try {
      for (const { offset, length } of ranges) {
        for (let done = 0; done < length;) {
          const pieceBytes = Math.min(length - done, buffer.length - buffered);
          await readWhole(source, buffer.subarray(buffered, buffered + pieceBytes), offset + done);
          done += pieceBytes;
          buffered += pieceBytes;
          if (buffered === buffer.length) await write();
        }
      }
      await write();
    } finally {
      await source.close();
    }
    await file.truncate(size);
    return this.#path;
  }

  /** Deletes the spool; the next one gets another name. After a failure the engine may still read the old one. */
  async abandon(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
    await this.#io.removeSoon(this.#path);
    this.#generation++;
  }

  get #path(): string {
    return `${this.#spoolStem}-${this.#generation}.native`;
  }

  async #openSpool(): Promise<JournalFile> {
    return (this.#file ??= await this.#io.open(this.#path, "w"));
  }
}
