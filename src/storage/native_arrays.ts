// Arrays in ClickHouse's Native format: where each row's items end, and then the items. Never holds the items.

import { ByteColumn, writeLowCardinalityBody } from "./native.ts";

/** A column's array offsets: where each row's items end. Rows without any may be left to `pad`. */
export class Offsets {
  readonly #ends = new ByteColumn();
  #rows = 0;
  /** Items so far. */
  items = 0;

  /** The rows before `rows` that were not said to have items have none. */
  pad(rows: number): void {
    for (; this.#rows < rows; this.#rows++) this.#ends.i64(this.items);
  }

  /** Row number `row` (rising) has so many items. */
  add(row: number, items: number): void {
    this.pad(row);
    this.items += items;
    this.pad(row + 1);
  }

  encode(out: ByteColumn): void {
    out.raw(this.#ends.bytes, 0, this.#ends.length);
  }

  clear(): void {
    this.#ends.length = 0;
    this.#rows = 0;
    this.items = 0;
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
