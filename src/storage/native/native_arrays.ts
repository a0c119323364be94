// Arrays in ClickHouse's Native format: where each row's items end, and then the items. Never holds the items.

import { type ByteColumn, writeLowCardinalityBody } from "./native.ts";

/** A column's array offsets: where each row's items end. Rows without any may be left to `pad`. */
export class Offsets {
  /** Two words each, of which the high one stays 0: a block has fewer items than 2^32. */
  #ends = new Uint32Array(512);
  #rows = 0;
  /** Items so far. */
  items = 0;

  /** The rows before `rows` that were not said to have items have none. */
  pad(rows: number): void {
    this.#reserve(rows);
    for (; this.#rows < rows; this.#rows++) this.#ends[this.#rows * 2] = this.items;
  }

  /** Row number `row` (rising) has so many items. */
  add(row: number, items: number): void {
    this.pad(row);
    this.items += items;
    this.pad(row + 1);
  }

  /** So many rows from number `row` (rising) on have items; those of each end at `ends`, counted from here. */
  addMany(row: number, ends: Uint32Array, rows: number): void {
    this.pad(row);
    this.#reserve(row + rows);
    const [all, before] = [this.#ends, this.items];
    for (let i = 0; i < rows; i++) all[(row + i) * 2] = before + ends[i]!;
    this.#rows = row + rows;
    this.items = before + ends[rows - 1]!;
  }

  encode(out: ByteColumn): void {
    out.raw(new Uint8Array(this.#ends.buffer, 0, this.#rows * 8));
  }

  clear(): void {
    this.#rows = 0;
    this.items = 0;
  }

  #reserve(rows: number): void {
    if (rows * 2 <= this.#ends.length) return;
    const grown = new Uint32Array(Math.max(rows * 2, this.#ends.length * 2));
    grown.set(this.#ends);
    this.#ends = grown;
  }
}

/** An Array(LowCardinality(String)) column: the version stands before the offsets, the rest behind them. */
export function writeLowCardinalityArrays(
  out: ByteColumn,
  offsets: Offsets,
  dictionary: Uint8Array,
  keys: number,
  indexes: Uint32Array,
): void {
  out.u64(1n);
  offsets.encode(out);
  if (offsets.items > 0) writeLowCardinalityBody(out, dictionary, keys, indexes, offsets.items);
}
