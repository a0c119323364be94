// A block: rows of one lane and month, as columns, until they are sealed into a journal frame. Never awaits.

import { limits } from "../core/limits.ts";
import {
  ByteColumn,
  type ColumnFill,
  cutBlock,
  writeBlockHead,
  writeColumnHead,
  writeLowCardinality,
} from "../storage/native.ts";
import type { LaneBlock } from "./lane.ts";
import type { Row } from "./row.ts";

const microsType = "DateTime64(6, 'UTC')";

export class Block implements LaneBlock<Row> {
  /** yyyymm of every row in it. */
  month = 0;
  rows = 0;
  /** created_at of the first row, in microseconds; meaningless while rows = 0. */
  oldest = 0;
  readonly #uuid = new ByteColumn();
  readonly #project = new ByteColumn();
  readonly #event = new Dictionary();
  readonly #distinctId = new ByteColumn();
  readonly #properties = new ByteColumn(4096);
  readonly #timestamp = new ByteColumn();
  readonly #createdAt = new ByteColumn();
  readonly #historical = new ByteColumn();

  append(row: Row): number {
    if (this.rows === 0) this.oldest = row.created_at;
    this.#uuid.raw(row.uuid);
    this.#project.u32(row.project_id);
    this.#event.append(row.event.source, row.event.from, row.event.to);
    this.#distinctId.string(row.distinct_id.source, row.distinct_id.from, row.distinct_id.to);
    this.#properties.string(row.properties.source, row.properties.from, row.properties.to);
    this.#timestamp.i64(row.timestamp);
    this.#createdAt.i64(row.created_at);
    this.#historical.u8(row.historical_migration ? 1 : 0);
    this.rows++;
    return row.properties.to - row.properties.from + limits.rowBytesGuess;
  }

  /**
   * Writes the rows as one Native block; `batch` and the row numbers from `firstRow` are decided here, once.
   */
  encode(out: ByteColumn, batch: bigint, firstRow: number): void {
    writeBlockHead(out, 10, this.rows);
    const plain = (name: string, type: string, column: ByteColumn) => {
      writeColumnHead(out, name, type);
      out.raw(column.bytes, 0, column.length);
    };
    plain("uuid", "UUID", this.#uuid);
    plain("project_id", "UInt32", this.#project);
    writeColumnHead(out, "event", "LowCardinality(String)");
    this.#event.encode(out, this.rows);
    plain("distinct_id", "String", this.#distinctId);
    plain("properties", "String", this.#properties);
    plain("timestamp", microsType, this.#timestamp);
    plain("created_at", microsType, this.#createdAt);
    plain("historical_migration", "Bool", this.#historical);
    writeColumnHead(out, "_batch", "UInt64");
    for (let row = 0; row < this.rows; row++) out.u64(batch);
    writeColumnHead(out, "_row", "UInt32");
    for (let row = 0; row < this.rows; row++) out.u32(firstRow + row);
  }

  /** Empties the columns and keeps their memory. */
  clear(): void {
    this.rows = 0;
    for (const column of [this.#uuid, this.#project, this.#distinctId, this.#properties]) column.length = 0;
    for (const column of [this.#timestamp, this.#createdAt, this.#historical]) column.length = 0;
    this.#event.clear();
  }
}

/**
 * Event names, each once: byte strings → 0, 1, 2 … in order of first sight, found by hash, compared by bytes.
 */
class Dictionary {
  #slots = new Int32Array(64).fill(-1);
  readonly #keys = new ByteColumn();
  #starts = new Uint32Array(64);
  #ends = new Uint32Array(64);
  #count = 0;
  #indexes = new Uint32Array(256);
  #rows = 0;

  append(source: Uint8Array, from: number, to: number): void {
    if (this.#rows === this.#indexes.length) this.#indexes = grown(this.#indexes);
    this.#indexes[this.#rows++] = this.#find(source, from, to);
  }

  encode(out: ByteColumn, rows: number): void {
    writeLowCardinality(out, this.#keys.filled(), this.#count, this.#indexes, rows);
  }

  clear(): void {
    if (this.#count > 0) this.#slots.fill(-1);
    this.#keys.length = 0;
    this.#count = 0;
    this.#rows = 0;
  }

  #find(source: Uint8Array, from: number, to: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = hashOf(source, from, to) & mask; ; slot = (slot + 1) & mask) {
      const key = this.#slots[slot]!;
      if (key < 0) return this.#add(source, from, to, slot);
      if (this.#same(key, source, from, to)) return key;
    }
  }

  #same(key: number, source: Uint8Array, from: number, to: number): boolean {
    const start = this.#starts[key]!;
    if (this.#ends[key]! - start !== to - from) return false;
    const keys = this.#keys.bytes;
    for (let at = from, other = start; at < to; at++, other++) if (source[at] !== keys[other]) return false;
    return true;
  }

  #add(source: Uint8Array, from: number, to: number, slot: number): number {
    const key = this.#count++;
    if (key === this.#starts.length) {
      this.#starts = grown(this.#starts);
      this.#ends = grown(this.#ends);
    }
    this.#keys.string(source, from, to);
    this.#ends[key] = this.#keys.length;
    this.#starts[key] = this.#keys.length - (to - from);
    this.#slots[slot] = key;
    if (this.#count * 2 > this.#slots.length) this.#rehash();
    return key;
  }

  #rehash(): void {
    this.#slots = new Int32Array(this.#slots.length * 2).fill(-1);
    const mask = this.#slots.length - 1;
    for (let key = 0; key < this.#count; key++) {
      let slot = hashOf(this.#keys.bytes, this.#starts[key]!, this.#ends[key]!) & mask;
      while (this.#slots[slot]! >= 0) slot = (slot + 1) & mask;
      this.#slots[slot] = key;
    }
  }
}

function grown(values: Uint32Array): Uint32Array<ArrayBuffer> {
  const bigger = new Uint32Array(values.length * 2);
  bigger.set(values);
  return bigger;
}

/** Differs from start to start, so that nobody can send names that all fall into one slot. */
const hashSeed = crypto.getRandomValues(new Uint32Array(1))[0]!;

/** FNV-1a from a secret seed, with a last stir. */
function hashOf(source: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5 ^ hashSeed;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ source[at]!, 0x01000193);
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 0;
}

/**
 * Cuts a frame's rows `from` to `to` out of its Native bytes for another batch, renumbered from `firstRow`.
 * Used when a refused batch is halved; a frame is one Native block.
 */
export function rebatch(
  frame: Uint8Array,
  from: number,
  to: number,
  batch: bigint,
  firstRow: number,
): Uint8Array {
  const batchFill: ColumnFill = (out) => out.u64(batch);
  const rowFill: ColumnFill = (out, row) => out.u32(firstRow + row);
  return cutBlock(frame, from, to, { _batch: batchFill, _row: rowFill });
}
