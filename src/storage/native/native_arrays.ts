// Arrays in ClickHouse's Native format: the offset at which each row's items end, then the items.

import type { ByteColumn, Dictionary } from "./native.ts";

/** A column's array offsets: where each row's items end. Rows without items may be left to `pad`. */
export class ArrayOffsets {
  /** Two words for each offset; the high one is 0, since a block has fewer items than 2^32. */
  #ends = new Uint32Array(512);
  #rows = 0;
  items = 0;

  /** Bytes of memory that they have, filled or not. */
  get capacity(): number {
    return this.#ends.byteLength;
  }

  /** Adds the missing rows before `rows`, without items. */
  pad(rows: number): void {
    this.#reserve(rows);
    for (; this.#rows < rows; this.#rows++) this.#ends[this.#rows * 2] = this.items;
  }

  /** Adds row number `row` (rising) with so many items. */
  add(row: number, items: number): void {
    this.pad(row);
    this.items += items;
    this.pad(row + 1);
  }

  /** Adds so many rows from number `row` (rising) on; `ends` has where the items of each end, counted from here. */
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

/** An Array(LowCardinality(String)) column: the version, the offsets, then dictionary and indexes. */
export function writeLowCardinalityArrays(out: ByteColumn, offsets: ArrayOffsets, dictionary: Dictionary) {
  out.u64(1n);
  offsets.encode(out);
  if (offsets.items > 0) dictionary.encodeBody(out, offsets.items);
}
