// Decodes the output of lz-string's compressToBase64. The package is not used, since its output is not limited: 30 kB
// can unpack into a gigabyte. Works slice by slice.
//
// The format is a stream of codes, least significant bit first, six bits a letter: 0 and 1 introduce a new character of
// 8 or 16 bits, 2 ends the stream, others are entries of a dictionary that grows by one with every code. An entry is an
// earlier output and the character after it, so it is in the output already and is stored as start and length.

import { bytesOf } from "../../core/bytes.ts";
import { free } from "../../core/chunks.ts";
import type { MemoryLease } from "../../work/bodies/memory_budget.ts";
import { decodeLimits } from "./limits.ts";
import { LzBits } from "./lz_bits.ts";

const newByte = 0;
const newWide = 1;
const ending = 2;

/** The least cost of a code, in units, and the initial capacity in units. */
const codeUnits = 4;
const capacityUnits = 1024;

export class LzString {
  /** True once the result exceeds the limit. */
  isTooLarge = false;
  readonly #bits: LzBits;
  readonly #bytesMax: number;
  readonly #unitsMax: number;
  readonly #lease: MemoryLease;
  /** Bytes acquired from the lease. */
  #acquired = 0;
  #units: Uint16Array;
  #length = 0;
  /** The start and the length of each entry; the first three are the codes above. */
  readonly #starts: Uint32Array;
  readonly #lengths: Uint32Array;
  #entries = 3;
  #width = 3;
  /** Entries until codes get wider. */
  #entriesLeft = 4;
  #previous = 0;
  #previousLength = 0;
  #unpacked = false;
  #bytes: Uint8Array | undefined;
  #encoded = 0;
  #written = 0;

  /** `bytesMax`: the limit of the resulting UTF-8. Memory is acquired from `lease` in steps. */
  constructor(text: Uint8Array, bytesMax: number, lease: MemoryLease) {
    this.#bits = new LzBits(text);
    this.#lease = lease;
    this.#bytesMax = bytesMax;
    this.#unitsMax = Math.floor(bytesMax / 2);
    // Untouched pages use no memory, while growing the arrays would copy everything at once.
    const units = text.length <= decodeLimits.unhintedLzBytesMax ? capacityUnits : this.#unitsMax;
    // An entry costs three bits at the least, half a letter.
    const entries = text.length * 2 + 4;
    this.#units = new Uint16Array(units);
    this.#starts = new Uint32Array(entries);
    this.#lengths = new Uint32Array(entries);
  }

  /** The resulting UTF-8, once complete. */
  get bytes(): Uint8Array | undefined {
    return this.#bits.isValid && !this.isTooLarge ? this.#bytes?.subarray(0, this.#written) : undefined;
  }

  /**
   * Decodes about `unitsMax` units of UTF-16 more; true when it is complete or has failed.
   * @throws Fault unavailable when there is no memory for so many more.
   */
  advance(unitsMax: number): boolean {
    this.#acquire(unitsMax);
    if (!this.#unpacked) this.#unpack(unitsMax);
    else if (this.#bits.isValid && !this.isTooLarge) this.#encode(unitsMax);
    if (!this.#bits.isValid || this.isTooLarge) return true;
    return this.#bytes !== undefined && this.#encoded === this.#length;
  }

  /** Frees everything but the result and releases its memory; without a result, all of it. */
  close(): void {
    for (const made of [this.#units, this.#starts, this.#lengths]) free(new Uint8Array(made.buffer));
    const { bytes } = this;
    if (!bytes && this.#bytes) free(this.#bytes);
    const kept = bytes?.length ?? 0;
    this.#lease.release(this.#acquired - kept);
    this.#acquired = kept;
  }

  /** Acquires memory for the present state and so many more units, with a margin for one long entry. */
  #acquire(unitsMax: number): void {
    const units = this.#length + unitsMax + this.#entries;
    const entries = this.#entries + unitsMax / codeUnits;
    const bytes = this.#unpacked ? this.#written + unitsMax * 3 : 0;
    const needed = Math.ceil(units * 2 + entries * 8 + bytes);
    if (needed <= this.#acquired) return;
    this.#lease.acquire(needed - this.#acquired);
    this.#acquired = needed;
  }

  #unpack(unitsMax: number): void {
    let left = unitsMax;
    if (this.#entries === 3 && this.#begin()) return;
    while (left > 0) {
      const code = this.#bits.read(this.#width);
      if (!this.#bits.isValid) return;
      if (code === ending) {
        this.#unpacked = true;
        return;
      }
      const start = this.#length;
      if (code === newByte || code === newWide) {
        if (!this.#character(code)) return;
        this.#grow();
      } else if (code < this.#entries) this.#copy(this.#starts[code]!, this.#lengths[code]!);
      else if (code === this.#entries) this.#copy(this.#previous, this.#previousLength + 1);
      else this.#bits.isValid = false;
      this.isTooLarge = this.#length > this.#unitsMax;
      if (this.isTooLarge || !this.#bits.isValid) return;
      this.#enter(this.#previous, this.#previousLength + 1);
      this.#grow();
      this.#previous = start;
      this.#previousLength = this.#length - start;
      left -= this.#previousLength + codeUnits;
    }
  }

  /** Reads the first character; true when the stream ends there. */
  #begin(): boolean {
    const first = this.#bits.read(2);
    if (first === ending) this.#unpacked = true;
    else if (first > ending || !this.#character(first)) this.#bits.isValid = false;
    this.#previousLength = 1;
    return !this.#bits.isValid || this.#unpacked;
  }

  /** Called for each new entry: codes are as wide as the dictionary needs. */
  #grow(): void {
    if (--this.#entriesLeft === 0) this.#entriesLeft = 2 ** this.#width++;
  }

  /** Reads a new character, outputs it and makes it an entry. */
  #character(kind: number): boolean {
    const unit = this.#bits.read(kind === newByte ? 8 : 16);
    if (!this.#bits.isValid) return false;
    this.#reserve(1);
    this.#enter(this.#length, 1);
    this.#units[this.#length++] = unit;
    return true;
  }

  /** Copies unit by unit, since an entry may overlap the output it produces. */
  #copy(from: number, length: number): void {
    if (this.#length + length > this.#unitsMax) {
      this.#length = this.#unitsMax + 1;
      return;
    }
    this.#reserve(length);
    const units = this.#units;
    let to = this.#length;
    for (let at = from; at < from + length; at++) units[to++] = units[at]!;
    this.#length = to;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#units.length) return;
    const grown = new Uint16Array(Math.max(this.#length + more, this.#units.length * 2));
    grown.set(this.#units);
    free(new Uint8Array(this.#units.buffer));
    this.#units = grown;
  }

  #enter(start: number, length: number): void {
    this.#starts[this.#entries] = start;
    this.#lengths[this.#entries++] = length;
  }

  /** UTF-16 to UTF-8, without splitting a surrogate pair. */
  #encode(unitsMax: number): void {
    const units = this.#units;
    this.#bytes ??= Buffer.allocUnsafeSlow(Math.min(this.#bytesMax, this.#length * 3));
    let to = Math.min(this.#length, this.#encoded + unitsMax);
    if (to < this.#length && (units[to - 1]! & 0xfc00) === 0xd800) to++;
    const part = Buffer.from(units.buffer, this.#encoded * 2, (to - this.#encoded) * 2);
    const bytes = bytesOf(part.toString("utf16le"));
    this.isTooLarge = this.#written + bytes.length > this.#bytes.length;
    if (this.isTooLarge) return;
    this.#bytes.set(bytes, this.#written);
    this.#written += bytes.length;
    this.#encoded = to;
  }
}
