// ClickHouse's Native format: a growing buffer that writes columns. Source: ClickHouse's description of Native and of
// LowCardinality's serialization (revision 0, as in files and HTTP bodies: no per-column flags). A block is
//   varuint columns, varuint rows, then per column: name, type, data; strings are varuint length + bytes.

/** The type of moments in tables. */
export const microsType = "DateTime64(6, 'UTC')";

const scratch = new TextEncoder();

/** A growing byte buffer with a cursor, reused so that it stops allocating. */
export class ByteColumn {
  bytes: Uint8Array;
  length = 0;
  #view: DataView;

  constructor(capacity = 1024) {
    this.bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.bytes.buffer);
  }

  /** Bytes of memory that it has, filled or not. */
  get capacity(): number {
    return this.bytes.length;
  }

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

  zeros(count: number): void {
    this.repeat(0, count);
  }

  /** A byte, `count` times; nothing where that is not above 0. */
  repeat(byte: number, count: number): void {
    if (count <= 0) return;
    this.reserve(count);
    this.bytes.fill(byte, this.length, this.length + count);
    this.length += count;
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

  /** An unsigned 64-bit integer, `times` times. */
  u64Repeated(value: bigint, times: number): void {
    if (times === 0) return;
    this.reserve(times * 8);
    const from = this.length;
    this.u64(value);
    for (let done = 8; done < times * 8; done *= 2)
      this.bytes.copyWithin(from + done, from, from + Math.min(done, times * 8 - done));
    this.length = from + times * 8;
  }

  /** A signed 64-bit integer from a number that holds it exactly (|value| < 2^53), without a BigInt on the hot path. */
  i64(value: number): void {
    this.reserve(8);
    const high = Math.floor(value / 4294967296);
    this.#view.setUint32(this.length, value - high * 4294967296, true);
    this.#view.setInt32(this.length + 4, high, true);
    this.length += 8;
  }

  varuint(value: number): void {
    this.reserve(5);
    let remainder = value;
    while (remainder >= 128) {
      this.bytes[this.length++] = (remainder & 127) | 128;
      remainder >>>= 7;
    }
    this.bytes[this.length++] = remainder;
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

/** Shorter arrays are copied: another chunk costs more. */
const borrowedBytesMin = 16 * 1024;

/** A buffer that borrows long byte arrays instead of copying them: they must not change until they are written. */
export class Pieces extends ByteColumn {
  #borrowed: {
    at: number;
    bytes: Uint8Array;
  }[] = [];
  #borrowedBytes = 0;

  override raw(source: Uint8Array, from = 0, to = source.length): void {
    if (to - from < borrowedBytesMin) super.raw(source, from, to);
    else this.borrow(source.subarray(from, to));
  }

  borrow(bytes: Uint8Array): void {
    this.#borrowed.push({ at: this.length, bytes });
    this.#borrowedBytes += bytes.length;
  }

  /** Copies bytes of any length, for those that may change before they are written. */
  copy(source: Uint8Array, from: number, to: number): void {
    super.raw(source, from, to);
  }

  /** The number of bytes so far, with the borrowed ones. */
  get total(): number {
    return this.length + this.#borrowedBytes;
  }

  /** All bytes in order, from offset `from` of the own ones on; valid until the next write. */
  list(from = 0): Uint8Array[] {
    const list: Uint8Array[] = [];
    let copied = from;
    const appendOwn = (to: number): void => {
      if (to > copied) list.push(this.bytes.subarray(copied, to));
      copied = to;
    };
    for (const { at, bytes } of this.#borrowed) {
      if (at < from) continue;
      appendOwn(at);
      list.push(bytes);
    }
    appendOwn(this.length);
    return list;
  }

  writeTo(out: ByteColumn): void {
    if (this.#borrowed.length === 0) out.raw(this.bytes, 0, this.length);
    else for (const chunk of this.list()) out.raw(chunk);
  }

  clear(): void {
    this.length = 0;
    this.#borrowed = [];
    this.#borrowedBytes = 0;
  }
}

export function writeBlockHead(out: ByteColumn, columns: number, rows: number): void {
  out.varuint(columns);
  out.varuint(rows);
}

export function writeColumnHead(out: ByteColumn, name: string, type: string): void {
  out.text(name);
  out.text(type);
}

/** Writes the two columns that name a stored row: the number of its batch, and its index in that. */
export function writeRowKeys(out: ByteColumn, rows: number, batch: bigint, firstRow: number): void {
  writeColumnHead(out, "_batch", "UInt64");
  out.u64Repeated(batch, rows);
  writeColumnHead(out, "_row", "UInt32");
  for (let row = 0; row < rows; row++) out.u32(firstRow + row);
}

/** Names that were numbered elsewhere. */
export interface Names {
  source: Uint8Array;
  /** Start and length of each in `source`. */
  offsets: Uint32Array;
  count: number;
}

/**
 * A LowCardinality(String) column. Names, each once: byte strings → 0, 1, 2 … in order of first sight, found by hash,
 * compared by bytes.
 */
export class Dictionary {
  #slots = new Int32Array(64).fill(-1);
  readonly #keys = new ByteColumn();
  #starts = new Uint32Array(64);
  #ends = new Uint32Array(64);
  #hashes = new Uint32Array(64);
  count = 0;
  #indexes = new Uint32Array(256);
  #rows = 0;
  /** Index at which appendNumbered() found the name of each number. */
  #found = new Int32Array(64);
  /** It is secret, so nobody can send names that all fall into one slot. */
  readonly #seed = crypto.getRandomValues(new Uint32Array(1))[0]!;

  get bytes(): number {
    return this.#keys.length;
  }

  /** Bytes of memory that it has, filled or not. */
  get capacity(): number {
    const numbers = [this.#slots, this.#starts, this.#ends, this.#hashes, this.#indexes, this.#found];
    return this.#keys.capacity + numbers.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  append(source: Uint8Array, from: number, to: number): void {
    if (this.#rows === this.#indexes.length) this.#indexes = grown(this.#indexes);
    this.#indexes[this.#rows++] = this.find(source, from, to);
  }

  /** Appends many at once: the first `count` of `numbers` are the indexes in `names`. */
  appendNumbered(numbers: Uint8Array | Uint16Array, count: number, names: Names): void {
    const { offsets, source } = names;
    while (this.#rows + count > this.#indexes.length) this.#indexes = grown(this.#indexes);
    if (this.#found.length < names.count) this.#found = new Int32Array(names.count);
    const found = this.#found.fill(-1, 0, names.count);
    const indexes = this.#indexes;
    let row = this.#rows;
    for (let i = 0; i < count; i++) {
      const number = numbers[i]!;
      let index = found[number]!;
      if (index < 0) {
        const from = offsets[number * 2]!;
        index = this.find(source, from, from + offsets[number * 2 + 1]!);
        found[number] = index;
      }
      indexes[row++] = index;
    }
    this.#rows = row;
  }

  encode(out: ByteColumn, rows: number): void {
    out.u64(1n);
    this.encodeBody(out, rows);
  }

  /** Writes all but the version: the names, and an index for each row in the narrowest type that fits. */
  encodeBody(out: ByteColumn, rows: number): void {
    const [keys, indexes] = [this.count, this.#indexes];
    const width = keys <= 256 ? 0 : keys <= 65_536 ? 1 : 2;
    // Bit 9: additional keys are in this block; bit 10: the dictionary is new with it.
    out.u64(BigInt(width) | (1n << 9n) | (1n << 10n));
    out.u64(BigInt(keys));
    out.raw(this.#keys.filled());
    out.u64(BigInt(rows));
    if (width === 0) {
      out.reserve(rows);
      const { bytes, length } = out;
      for (let row = 0; row < rows; row++) bytes[length + row] = indexes[row]!;
      out.length += rows;
    } else if (width === 1) for (let row = 0; row < rows; row++) out.u16(indexes[row]!);
    else for (let row = 0; row < rows; row++) out.u32(indexes[row]!);
  }

  clear(): void {
    if (this.count > 0) this.#slots.fill(-1);
    this.#keys.length = 0;
    this.count = 0;
    this.#rows = 0;
  }

  /** The number of a name, which is added when it is new. */
  find(source: Uint8Array, from: number, to: number): number {
    const mask = this.#slots.length - 1;
    const hash = this.#hash(source, from, to);
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const key = this.#slots[slot]!;
      if (key < 0) {
        this.#add(source, from, to, slot);
        this.#hashes[this.count - 1] = hash;
        if (this.count * 2 > this.#slots.length) this.#rehash();
        return this.count - 1;
      }
      if (this.#same(key, source, from, to)) return key;
    }
  }

  /** FNV-1a from a secret seed, with a final mix. */
  #hash(source: Uint8Array, from: number, to: number): number {
    let hash = 0x811c9dc5 ^ this.#seed;
    for (let at = from; at < to; at++) hash = Math.imul(hash ^ source[at]!, 0x01000193);
    hash ^= hash >>> 15;
    return Math.imul(hash, 0x2c1b3c6d) >>> 0;
  }

  #same(key: number, source: Uint8Array, from: number, to: number): boolean {
    const start = this.#starts[key]!;
    if (this.#ends[key]! - start !== to - from) return false;
    const keys = this.#keys.bytes;
    for (let at = from, other = start; at < to; at++, other++) if (source[at] !== keys[other]) return false;
    return true;
  }

  #add(source: Uint8Array, from: number, to: number, slot: number): void {
    const key = this.count++;
    if (key === this.#starts.length) {
      this.#starts = grown(this.#starts);
      this.#ends = grown(this.#ends);
      this.#hashes = grown(this.#hashes);
    }
    this.#keys.string(source, from, to);
    this.#ends[key] = this.#keys.length;
    this.#starts[key] = this.#keys.length - (to - from);
    this.#slots[slot] = key;
  }

  #rehash(): void {
    this.#slots = new Int32Array(this.#slots.length * 2).fill(-1);
    const mask = this.#slots.length - 1;
    for (let key = 0; key < this.count; key++) {
      let slot = this.#hashes[key]! & mask;
      while (this.#slots[slot]! >= 0) slot = (slot + 1) & mask;
      this.#slots[slot] = key;
    }
  }
}

/** Bytes of memory that columns have, filled or not. */
export function sumCapacity(columns: readonly { readonly capacity: number }[]): number {
  return columns.reduce((sum, { capacity }) => sum + capacity, 0);
}

function grown(values: Uint32Array): Uint32Array<ArrayBuffer> {
  const bigger = new Uint32Array(values.length * 2);
  bigger.set(values);
  return bigger;
}
