// ClickHouse's Native format: columns written by cursor, blocks read back and cut by rows. Never touches a
// socket.
// Source of the format: ClickHouse's own description of Native and of LowCardinality's serialization
// (revision 0,
// as in files and HTTP bodies: no per-column flags). A block is
//   varuint columns, varuint rows, then per column: name, type, data; strings are varuint length + bytes.

const scratch = new TextEncoder();

/** One growing byte buffer with a cursor; kept and reused, so that a warm one never allocates. */
export class ByteColumn {
  bytes: Uint8Array;
  length = 0;
  #view: DataView;

  constructor(capacity = 1024) {
    this.bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.bytes.buffer);
  }

  /** Makes room for `more` bytes behind the cursor. */
  reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
    this.#view = new DataView(grown.buffer);
  }

  u8(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  u16(value: number): void {
    this.reserve(2);
    this.#view.setUint16(this.length, value, true);
    this.length += 2;
  }

  u32(value: number): void {
    this.reserve(4);
    this.#view.setUint32(this.length, value, true);
    this.length += 4;
  }

  u64(value: bigint): void {
    this.reserve(8);
    this.#view.setBigUint64(this.length, value, true);
    this.length += 8;
  }

  /**
   * A signed 64-bit integer from a double that holds it exactly (|value| < 2^53); no BigInt on the hot path.
   */
  i64(value: number): void {
    this.reserve(8);
    const high = Math.floor(value / 4294967296);
    this.#view.setUint32(this.length, value - high * 4294967296, true);
    this.#view.setInt32(this.length + 4, high, true);
    this.length += 8;
  }

  varuint(value: number): void {
    this.reserve(5);
    let rest = value;
    while (rest >= 128) {
      this.bytes[this.length++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.bytes[this.length++] = rest;
  }

  raw(source: Uint8Array, from = 0, to = source.length): void {
    const size = to - from;
    this.reserve(size);
    if (size < 32) for (let i = from; i < to; i++) this.bytes[this.length++] = source[i]!;
    else {
      this.bytes.set(from === 0 && to === source.length ? source : source.subarray(from, to), this.length);
      this.length += size;
    }
  }

  /** A String value: its length, then its bytes. */
  string(source: Uint8Array, from = 0, to = source.length): void {
    this.varuint(to - from);
    this.raw(source, from, to);
  }

  text(value: string): void {
    this.string(scratch.encode(value));
  }

  /** The bytes so far; valid until the next write. */
  filled(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }
}

/** Writes a block's head into `out`. */
export function writeBlockHead(out: ByteColumn, columns: number, rows: number): void {
  out.varuint(columns);
  out.varuint(rows);
}

export function writeColumnHead(out: ByteColumn, name: string, type: string): void {
  out.text(name);
  out.text(type);
}

/**
 * A LowCardinality(String) column: `dictionary` holds `keys` String values back to back, `indexes` one u32
 * per row.
 * The narrowest index type that fits is written.
 */
export function writeLowCardinality(
  out: ByteColumn,
  dictionary: Uint8Array,
  keys: number,
  indexes: Uint32Array,
  rows: number,
): void {
  const width = keys <= 256 ? 0 : keys <= 65_536 ? 1 : 2;
  out.u64(1n);
  // additional keys are in this block (bit 9), and the dictionary is new with it (bit 10)
  out.u64(BigInt(width) | (1n << 9n) | (1n << 10n));
  out.u64(BigInt(keys));
  out.raw(dictionary);
  out.u64(BigInt(rows));
  out.reserve(rows * 4);
  for (let row = 0; row < rows; row++) {
    if (width === 0) out.u8(indexes[row]!);
    else if (width === 1) out.u16(indexes[row]!);
    else out.u32(indexes[row]!);
  }
}

/** Replaces a fixed-width column when a block is cut: row number within the cut → the value's bytes. */
export type ColumnFill = (out: ByteColumn, row: number) => void;

const fixedWidths: Record<string, number> = {
  UUID: 16,
  UInt8: 1,
  Int8: 1,
  Bool: 1,
  UInt32: 4,
  UInt64: 8,
  "DateTime64(6, 'UTC')": 8,
};

/**
 * Cuts rows `from` (inclusive) to `to` (exclusive) out of one Native block, as a block of its own.
 * `fills` writes named columns anew. Knows the types our own blocks are made of.
 * @throws Error on a type it does not know or a block cut short (our bug, or a damaged file past its
 *   checksum).
 */
export function cutBlock(
  block: Uint8Array,
  from: number,
  to: number,
  fills: Record<string, ColumnFill>,
): Uint8Array {
  const read = new BlockReader(block);
  const columns = read.varuint();
  const rows = read.varuint();
  if (from < 0 || to > rows || from >= to) throw new Error(`cannot cut rows ${from}–${to} of ${rows}`);
  const out = new ByteColumn(Math.ceil((block.length * (to - from)) / rows) + 1024);
  writeBlockHead(out, columns, to - from);
  for (let column = 0; column < columns; column++) {
    const name = read.text();
    const type = read.text();
    writeColumnHead(out, name, type);
    const fill = fills[name];
    const kept = cutColumn(read, type, rows, from, to);
    if (fill) for (let row = 0; row < to - from; row++) fill(out, row);
    else out.raw(kept);
  }
  return out.filled();
}

/** The number of rows a block says it has. */
export function rowsOfBlock(block: Uint8Array): number {
  const read = new BlockReader(block);
  read.varuint();
  return read.varuint();
}

/** Where the first block of `bytes` ends: several may follow each other in one frame or file. */
export function lengthOfBlock(bytes: Uint8Array): number {
  const read = new BlockReader(bytes);
  const columns = read.varuint();
  const rows = read.varuint();
  for (let column = 0; column < columns; column++) {
    read.text();
    cutColumn(read, read.text(), rows, 0, 0);
  }
  return read.at;
}

function cutColumn(read: BlockReader, type: string, rows: number, from: number, to: number): Uint8Array {
  const width = fixedWidths[type];
  if (width !== undefined) return read.slice(rows * width).subarray(from * width, to * width);
  if (type === "String") return read.strings(rows, from, to);
  if (type === "LowCardinality(String)") return cutLowCardinality(read, rows, from, to);
  throw new Error(`unknown column type ${type}`);
}

function cutLowCardinality(read: BlockReader, rows: number, from: number, to: number): Uint8Array {
  if (rows === 0) return read.slice(0);
  const start = read.at;
  read.slice(8);
  const width = 1 << Number(read.u64() & 255n);
  const keys = Number(read.u64());
  read.strings(keys, 0, 0);
  const head = read.between(start, read.at);
  read.slice(8);
  const indexes = read.slice(rows * width);
  const out = new ByteColumn(head.length + 8 + (to - from) * width);
  out.raw(head);
  out.u64(BigInt(to - from));
  out.raw(indexes, from * width, to * width);
  return out.filled();
}

class BlockReader {
  at = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  varuint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.slice(1)[0]!;
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
    throw new Error("varuint too long");
  }

  u64(): bigint {
    const at = this.at;
    this.slice(8);
    return this.#view.getBigUint64(at, true);
  }

  text(): string {
    return new TextDecoder().decode(this.slice(this.varuint()));
  }

  slice(size: number): Uint8Array {
    if (this.at + size > this.#bytes.length) throw new Error("block is cut short");
    return this.between(this.at, (this.at += size));
  }

  between(from: number, to: number): Uint8Array {
    return this.#bytes.subarray(from, to);
  }

  /** Walks `count` String values and returns the bytes of those from `from` to `to`. */
  strings(count: number, from: number, to: number): Uint8Array {
    let first = this.at;
    let last = this.at;
    for (let i = 0; i < count; i++) {
      if (i === from) first = this.at;
      this.slice(this.varuint());
      if (i + 1 === to) last = this.at;
    }
    return this.between(first, Math.max(first, last));
  }
}
