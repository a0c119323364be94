// Joins short Native blocks into one of the same rows: a block costs the engine a microsecond or two for each of its
// columns, however few rows it has. It knows only the column types of our own blocks.

import { BlockReader } from "./block_reader.ts";
import { ByteColumn, Dictionary, writeBlockHead, writeColumnHead } from "./native.ts";
import { ArrayOffsets, writeLowCardinalityArrays } from "./native_arrays.ts";
import { fixedWidths, readColumnHead, readItemType, skipColumn } from "./native_cut.ts";

/** The values of a column in all rows so far. */
interface ColumnValues {
  append(read: BlockReader, rows: number): void;
  /** Adds zeros or empty arrays up to so many rows; undefined where a missing value would be none of these. */
  pad?(rows: number): void;
  encode(out: ByteColumn, rows: number): void;
  /** Forgets the rows and keeps their memory. */
  clear(): void;
}

class FixedValues implements ColumnValues {
  readonly #values = new ByteColumn();
  readonly #width: number;

  constructor(width: number) {
    this.#width = width;
  }

  append(read: BlockReader, rows: number): void {
    this.#values.raw(read.slice(rows * this.#width));
  }

  pad(rows: number): void {
    this.#values.zeros(rows * this.#width - this.#values.length);
  }

  encode(out: ByteColumn): void {
    out.raw(this.#values.filled());
  }

  clear(): void {
    this.#values.length = 0;
  }
}

class TextValues implements ColumnValues {
  readonly #values = new ByteColumn();
  /** A byte for each row of a Nullable column: whether it is null. */
  readonly #nulls: ByteColumn | undefined;

  constructor(isNullable: boolean) {
    if (isNullable) this.#nulls = new ByteColumn();
  }

  append(read: BlockReader, rows: number): void {
    this.#nulls?.raw(read.slice(rows));
    this.#values.raw(read.strings(rows, 0, rows));
  }

  encode(out: ByteColumn): void {
    if (this.#nulls) out.raw(this.#nulls.filled());
    out.raw(this.#values.filled());
  }

  clear(): void {
    this.#values.length = 0;
    if (this.#nulls) this.#nulls.length = 0;
  }
}

class NameValues implements ColumnValues {
  readonly #names = new Dictionary();

  append(read: BlockReader, rows: number): void {
    if (rows === 0) return;
    read.advance(8);
    appendNames(this.#names, read);
  }

  encode(out: ByteColumn, rows: number): void {
    this.#names.encode(out, rows);
  }

  clear(): void {
    this.#names.clear();
  }
}

/** Appends the rows of a LowCardinality column, after its version. */
function appendNames(names: Dictionary, read: BlockReader): void {
  const indexBytes = 1 << (read.lowWord() & 255);
  const count = read.lowWord();
  const offsets = new Uint32Array(count * 2);
  for (let i = 0; i < count; i++) {
    const length = read.varuint();
    offsets[i * 2] = read.at;
    offsets[i * 2 + 1] = length;
    read.advance(length);
  }
  const rows = read.lowWord();
  const indexes = read.slice(rows * indexBytes);
  const numbers = indexBytes === 1 ? indexes : new Uint16Array(indexes.slice().buffer);
  names.appendNumbered(numbers, rows, { source: read.bytes, offsets, count });
}

class ArrayValues implements ColumnValues {
  readonly #offsets = new ArrayOffsets();
  readonly #items: ColumnValues | Dictionary;
  #rows = 0;

  constructor(item: string) {
    this.#items = item === "LowCardinality(String)" ? new Dictionary() : openValues(item);
  }

  append(read: BlockReader, rows: number): void {
    const isNamed = this.#items instanceof Dictionary;
    if (isNamed) read.advance(8);
    const ends = read.lowWords(rows);
    const items = ends.at(-1) ?? 0;
    this.#offsets.addMany(this.#rows, ends, rows);
    this.#rows += rows;
    if (!(this.#items instanceof Dictionary)) this.#items.append(read, items);
    else if (items > 0) appendNames(this.#items, read);
  }

  pad(rows: number): void {
    this.#offsets.pad(rows);
    this.#rows = rows;
  }

  encode(out: ByteColumn): void {
    if (this.#items instanceof Dictionary) return writeLowCardinalityArrays(out, this.#offsets, this.#items);
    this.#offsets.encode(out);
    this.#items.encode(out, this.#offsets.items);
  }

  clear(): void {
    this.#rows = 0;
    this.#offsets.clear();
    this.#items.clear();
  }
}

function openValues(type: string): ColumnValues {
  const width = fixedWidths[type];
  if (width !== undefined) return new FixedValues(width);
  if (type === "String" || type === "Nullable(String)") return new TextValues(type !== "String");
  if (type === "LowCardinality(String)") return new NameValues();
  const item = readItemType(type);
  if (item === undefined) throw new Error(`unknown column type ${type}`);
  return new ArrayValues(item);
}

interface JoinedColumn {
  /** Its name and type as a block has them, without a comment behind them. */
  head: Uint8Array;
  name: string;
  type: string;
  values: ColumnValues;
  /** Where its values are in the last block; 0 where that has none. */
  at: number;
  /** Whether one of the blocks has it. */
  isUsed: boolean;
}

export class BlockJoiner {
  /** Columns of these blocks, and of those before the last drainBlock(), whose memory is used again. */
  #columns: JoinedColumn[] = [];
  readonly #out = new ByteColumn();
  rows = 0;
  /** Bytes of the blocks. */
  bytes = 0;

  /**
   * Adds the rows of a block, which has at least one, and at most 65,536 names. Columns of numbers and arrays that some
   * blocks lack are 0 and empty there, as the tables' defaults are.
   * @returns false, and adds nothing, when another column is missing in this block or in those before, or has another
   * type there.
   * @throws Error on an unknown type or an incomplete block.
   */
  append(block: Uint8Array): boolean {
    const read = new BlockReader(block);
    const [count, rows] = [read.varuint(), read.varuint()];
    for (const column of this.#columns) column.at = 0;
    const names = new Set<string>();
    for (let i = 0, next = 0; i < count; i++) {
      const number = this.#findColumn(read, next);
      const column = this.#columns[number]!;
      column.at = read.at;
      names.add(column.name);
      skipColumn(read, column.type, rows);
      next = number + 1;
    }
    const isRefused = ({ name, at, isUsed, values }: JoinedColumn) =>
      at > 0 ? !isUsed && !values.pad : isUsed && (!values.pad || names.has(name));
    if (this.rows > 0 && this.#columns.some(isRefused)) return false;
    for (const column of this.#columns) {
      if (column.at === 0) continue;
      column.isUsed = true;
      column.values.pad?.(this.rows);
      read.at = column.at;
      column.values.append(read, rows);
    }
    this.rows += rows;
    this.bytes += block.length;
    return true;
  }

  /** Moves past the head of a column, mostly the one that came here in the blocks before; returns its number. */
  #findColumn(read: BlockReader, likely: number): number {
    if (this.#columns[likely] && read.skipEqual(this.#columns[likely].head)) return likely;
    const { name, type } = readColumnHead(read);
    const number = this.#columns.findIndex((column) => column.name === name && column.type === type);
    if (number >= 0) return number;
    const head = new ByteColumn(64);
    writeColumnHead(head, name, type);
    const column = { head: head.filled(), name, type, values: openValues(type), at: 0, isUsed: false };
    return this.#columns.push(column) - 1;
  }

  /** Returns the rows as one block, valid until the next call, and forgets them; undefined where there are none. */
  drainBlock(): Uint8Array | undefined {
    if (this.rows === 0) return undefined;
    this.#columns = this.#columns.filter(({ isUsed }) => isUsed);
    this.#out.length = 0;
    writeBlockHead(this.#out, this.#columns.length, this.rows);
    for (const column of this.#columns) {
      this.#out.raw(column.head);
      column.values.pad?.(this.rows);
      column.values.encode(this.#out, this.rows);
      column.values.clear();
      column.isUsed = false;
    }
    this.rows = this.bytes = 0;
    return this.#out.filled();
  }
}
