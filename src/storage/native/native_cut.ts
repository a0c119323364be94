// Reads Native blocks and cuts them by rows. It knows only the column types of our own blocks.

import { BlockReader, CutShort } from "./block_reader.ts";
import { ByteColumn, writeBlockHead, writeColumnHead } from "./native.ts";

/** Writes the values of a fixed-width column in a cut: row number within the cut → the value's bytes. */
export type ColumnFill = (out: ByteColumn, row: number) => void;

/** Bytes of a value of each type of fixed width. */
export const fixedWidths: Record<string, number> = {
  UUID: 16,
  UInt8: 1,
  Int8: 1,
  Bool: 1,
  UInt32: 4,
  UInt64: 8,
  "DateTime64(6, 'UTC')": 8,
};

/**
 * A new block of rows `from` (inclusive) to `to` (exclusive) of a Native block. `fills` replaces the named columns.
 * @throws Error on an unknown type or an incomplete block (our bug, or a damaged file with a valid checksum).
 */
export function cutBlock(block: Uint8Array, from: number, to: number, fills: Record<string, ColumnFill>) {
  const read = new BlockReader(block);
  const [columns, rows] = [read.varuint(), read.varuint()];
  if (from < 0 || to > rows || from >= to) throw new Error(`cannot cut rows ${from}–${to} of ${rows}`);
  const out = new ByteColumn(Math.ceil((block.length * (to - from)) / rows) + 1024);
  writeBlockHead(out, columns, to - from);
  for (const { name, type } of columnHeads(read, columns)) {
    writeColumnHead(out, name, type);
    const fill = fills[name];
    const columnBytes = cutColumn(read, type, rows, from, to);
    if (fill) for (let row = 0; row < to - from; row++) fill(out, row);
    else out.raw(columnBytes);
  }
  return out.filled();
}

/**
 * A column of fixed width after other such columns. The block may end after it. Undefined when there is no column of
 * this name.
 * @throws Error as cutBlock().
 */
export function findFixedColumn(block: Uint8Array, columnName: string): Uint8Array | undefined {
  const read = new BlockReader(block);
  const [columns, rows] = [read.varuint(), read.varuint()];
  for (const { name, type } of columnHeads(read, columns)) {
    const width = fixedWidths[type];
    if (width === undefined) throw new Error(`a column of type ${type} lies before ${columnName}`);
    const values = read.slice(rows * width);
    if (name === columnName) return values;
  }
  return undefined;
}

/**
 * The columns of a Native block up to the one named `last`, as a block. Undefined when the bytes end before.
 * @throws Error on an unknown type, or when there is no such column.
 */
export function columnsThrough(block: Uint8Array, last: string): Uint8Array | undefined {
  const read = new BlockReader(block);
  let count = 0;
  try {
    const [columns, rows] = [read.varuint(), read.varuint()];
    for (const { name, type } of columnHeads(read, columns)) {
      count++;
      skipColumn(read, type, rows);
      if (name === last) break;
      if (count === columns) throw new Error(`a block without ${last}`);
    }
  } catch (thrown) {
    if (thrown instanceof CutShort) return undefined;
    throw thrown;
  }
  const out = block.slice(0, read.at);
  // Blocks of ours have fewer than 128 columns, so that the first byte is their number.
  out[0] = count;
  return out;
}

/** The head of each column; the caller reads the values before the next one. */
export function* columnHeads(read: BlockReader, columns: number) {
  for (let column = 0; column < columns; column++) yield readColumnHead(read);
}

export function readColumnHead(read: BlockReader) {
  const name = read.text();
  // A comment may follow a type.
  const [type = ""] = read.text().split("/*", 1);
  return { name, type };
}

export function cutColumn(read: BlockReader, type: string, rows: number, from: number, to: number) {
  const width = fixedWidths[type];
  if (width !== undefined) return read.slice(rows * width).subarray(from * width, to * width);
  if (type === "String") return read.strings(rows, from, to);
  if (type === "LowCardinality(String)")
    return rows === 0 ? read.slice(0) : joined(read.slice(8), cutLowCardinality(read, rows, from, to));
  if (type === "Nullable(String)")
    return joined(read.slice(rows).slice(from, to), read.strings(rows, from, to));
  const item = readItemType(type);
  if (item) return cutArrays(read, item, rows, from, to);
  throw new Error(`unknown column type ${type}`);
}

/** Moves past the values of a column. @throws Error as cutBlock(). */
export function skipColumn(read: BlockReader, type: string, rows: number): void {
  const width = fixedWidths[type];
  if (width !== undefined) return read.advance(rows * width);
  if (type === "String" || type === "Nullable(String)") {
    if (type !== "String") read.advance(rows);
    return void read.strings(rows, 0, 0);
  }
  const item = readItemType(type);
  const isNamed = (item ?? type) === "LowCardinality(String)";
  if (item === undefined && !isNamed) throw new Error(`unknown column type ${type}`);
  if (isNamed && (item !== undefined || rows > 0)) read.advance(8);
  const items = item === undefined ? rows : (read.lowWords(rows).at(-1) ?? 0);
  if (!isNamed) skipColumn(read, item!, items);
  else if (items > 0) {
    const indexBytes = 1 << (read.lowWord() & 255);
    read.strings(read.lowWord(), 0, 0);
    read.advance(read.lowWord() * indexBytes);
  }
}

/** The type of an array's items; undefined for what is none. */
export function readItemType(type: string): string | undefined {
  return type.startsWith("Array(") ? type.slice("Array(".length, -1) : undefined;
}

function cutArrays(read: BlockReader, item: string, rows: number, from: number, to: number): Uint8Array {
  const lowCardinality = item === "LowCardinality(String)";
  const version = lowCardinality ? read.slice(8) : read.slice(0);
  const ends = Array.from({ length: rows }, () => read.u64());
  const items = Number(ends.at(-1) ?? 0n);
  const first = from > 0 ? ends[from - 1]! : 0n;
  const last = to > 0 ? ends[to - 1]! : 0n;
  const offsets = new ByteColumn((to - from) * 8 + 8);
  for (const end of ends.slice(from, to)) offsets.u64(end - first);
  let cut = read.slice(0);
  if (!lowCardinality) cut = cutColumn(read, item, items, Number(first), Number(last));
  else if (items > 0) cut = cutLowCardinality(read, items, Number(first), Number(last));
  return joined(version, offsets.filled(), cut);
}

function joined(...parts: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

/** A LowCardinality column after its version; empty when no row is left. */
function cutLowCardinality(read: BlockReader, rows: number, from: number, to: number): Uint8Array {
  const start = read.at;
  const width = 1 << Number(read.u64() & 255n);
  const keys = Number(read.u64());
  read.strings(keys, 0, 0);
  const head = read.between(start, read.at);
  read.slice(8);
  const indexes = read.slice(rows * width);
  if (to === from) return read.slice(0);
  const out = new ByteColumn(head.length + 8 + (to - from) * width);
  out.raw(head);
  out.u64(BigInt(to - from));
  out.raw(indexes, from * width, to * width);
  return out.filled();
}
