// A block's dictionary of names that repeat: events, property keys, types of groups; each once.

import { ByteColumn, writeLowCardinality } from "../../storage/native/native.ts";
import { type ArrayOffsets, writeLowCardinalityArrays } from "../../storage/native/native_arrays.ts";
import { keysMax } from "../wasm/layout.ts";

/** Names that were numbered elsewhere, at most keysMax of them. */
export interface Names {
  source: Uint8Array;
  /** Start and length of each in `source`. */
  places: Uint32Array;
  count: number;
}

/** Names, each once: byte strings → 0, 1, 2 … in order of first sight, found by hash, compared by bytes. */
export class Dictionary {
  #slots = new Int32Array(64).fill(-1);
  readonly #keys = new ByteColumn();
  #starts = new Uint32Array(64);
  #ends = new Uint32Array(64);
  #hashes = new Uint32Array(64);
  /** The number of names. */
  count = 0;
  #indexes = new Uint32Array(256);
  #rows = 0;

  /** Bytes of all names. */
  get bytes(): number {
    return this.#keys.length;
  }

  append(source: Uint8Array, from: number, to: number): void {
    if (this.#rows === this.#indexes.length) this.#indexes = grown(this.#indexes);
    this.#indexes[this.#rows++] = this.find(source, from, to);
  }

  /** Appends many at once: the first `count` of `numbers` say which of `names` each is. */
  appendNumbered(numbers: Uint8Array | Uint16Array, count: number, names: Names): void {
    const { places, source } = names;
    while (this.#rows + count > this.#indexes.length) this.#indexes = grown(this.#indexes);
    found.fill(-1, 0, names.count);
    const indexes = this.#indexes;
    let row = this.#rows;
    for (let i = 0; i < count; i++) {
      const number = numbers[i]!;
      let index = found[number]!;
      if (index < 0) {
        const from = places[number * 2]!;
        index = this.find(source, from, from + places[number * 2 + 1]!);
        found[number] = index;
      }
      indexes[row++] = index;
    }
    this.#rows = row;
  }

  encode(out: ByteColumn, rows: number): void {
    writeLowCardinality(out, this.#keys.filled(), this.count, this.#indexes, rows);
  }

  encodeArrays(out: ByteColumn, offsets: ArrayOffsets): void {
    writeLowCardinalityArrays(out, offsets, this.#keys.filled(), this.count, this.#indexes);
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
    const hash = hashOf(source, from, to);
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

/** Where appendNumbered() found the name of each number; overwritten by every call. */
const found = new Int32Array(keysMax);

function grown(values: Uint32Array): Uint32Array<ArrayBuffer> {
  const bigger = new Uint32Array(values.length * 2);
  bigger.set(values);
  return bigger;
}

/** Differs from start to start, so that nobody can send names that all fall into one slot. */
const hashSeed = crypto.getRandomValues(new Uint32Array(1))[0]!;

/** FNV-1a from a secret seed, with a final mix. */
function hashOf(source: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5 ^ hashSeed;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ source[at]!, 0x01000193);
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 0;
}
