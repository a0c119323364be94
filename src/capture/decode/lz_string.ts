// Decodes the output of lz-string's compressToBase64. The package is not used, since its output is not limited: 30 kB
// can unpack into a gigabyte. Works slice by slice.
//
// The format is a stream of codes, least significant bit first, six bits a letter: 0 and 1 introduce a new character of
// 8 or 16 bits, 2 ends the stream, others are entries of a dictionary that grows by one with every code. An entry is an
// earlier output and the character after it, so it is in the output already and is stored as start and length.

import { toBytes } from "../../core/bytes.ts";
import { free } from "../../core/chunks.ts";
import type { Slices } from "../../core/clock.ts";
import type { Fault } from "../../core/fault.ts";
import type { MemoryLease } from "../../work/bodies/memory_budget.ts";
import { captureLimits } from "../limits.ts";
import { LzBits, NotPacked } from "./lz_bits.ts";

const newByte = 0;
const newWide = 1;
const ending = 2;

/** The least cost of a code, in units, and the initial capacity in units. */
const codeUnits = 4;
const capacityUnits = 1024;

/** Decodes one text, in steps between which others get a turn. */
export class LzString {
  readonly #bits: LzBits;
  readonly #bytesMax: number;
  readonly #unitsMax: number;
  readonly #lease: MemoryLease;
  readonly #tooLarge: () => Fault;
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

  /**
   * @param bytesMax the limit of the resulting UTF-8; beyond it `tooLarge` makes the fault.
   * @param lease memory is acquired from it in steps.
   */
  constructor(text: Uint8Array, bytesMax: number, lease: MemoryLease, tooLarge: () => Fault) {
    this.#bits = new LzBits(text);
    this.#lease = lease;
    this.#bytesMax = bytesMax;
    this.#unitsMax = Math.floor(bytesMax / 2);
    this.#tooLarge = tooLarge;
    // Untouched pages use no memory, while growing the arrays would copy everything at once.
    const units = text.length <= captureLimits.unhintedLzBytesMax ? capacityUnits : this.#unitsMax;
    // An entry costs three bits at the least, half a letter.
    const entries = text.length * 2 + 4;
    this.#units = new Uint16Array(units);
    this.#starts = new Uint32Array(entries);
    this.#lengths = new Uint32Array(entries);
  }

  /**
   * Decodes about so many units of UTF-16 in each step. Returns UTF-8, whose memory stays acquired; undefined when the
   * text is not lz-string.
   * @throws Fault of `tooLarge`; unavailable when there is no memory.
   */
  *decode(unitsMax: number): Slices<Uint8Array | undefined> {
    let bytes: Uint8Array | undefined;
    try {
      yield* this.#unpack(unitsMax);
      bytes = yield* this.#encode(unitsMax);
      return bytes;
    } catch (thrown) {
      if (thrown instanceof NotPacked) return undefined;
      throw thrown;
    } finally {
      for (const table of [this.#units, this.#starts, this.#lengths]) free(new Uint8Array(table.buffer));
      this.#lease.release(this.#acquired - (bytes?.length ?? 0));
    }
  }

  /** Acquires memory for the present state, so many more units and bytes, with a margin for one long entry. */
  #acquire(unitsMax: number, bytes: number): void {
    const units = this.#length + unitsMax + this.#entries;
    const entries = this.#entries + unitsMax / codeUnits;
    const needed = Math.ceil(units * 2 + entries * 8 + bytes);
    if (needed <= this.#acquired) return;
    this.#lease.acquire(needed - this.#acquired);
    this.#acquired = needed;
  }

  *#unpack(unitsMax: number): Slices<void> {
    this.#acquire(unitsMax, 0);
    const first = this.#bits.read(2);
    if (first === ending) return;
    if (first > ending) throw new NotPacked();
    this.#character(first);
    let [previous, previousLength] = [0, 1];
    for (let left = unitsMax; ;) {
      const code = this.#bits.read(this.#width);
      if (code === ending) return;
      const start = this.#length;
      if (code === newByte || code === newWide) {
        this.#character(code);
        this.#grow();
      } else if (code < this.#entries) this.#copy(this.#starts[code]!, this.#lengths[code]!);
      else if (code === this.#entries) this.#copy(previous, previousLength + 1);
      else throw new NotPacked();
      this.#enter(previous, previousLength + 1);
      this.#grow();
      previous = start;
      previousLength = this.#length - start;
      left -= previousLength + codeUnits;
      if (left > 0) continue;
      yield;
      this.#acquire(unitsMax, 0);
      left = unitsMax;
    }
  }

  /** Called for each new entry: codes are as wide as the dictionary needs. */
  #grow(): void {
    if (--this.#entriesLeft === 0) this.#entriesLeft = 2 ** this.#width++;
  }

  /** Reads a new character, outputs it and makes it an entry. */
  #character(kind: number): void {
    const unit = this.#bits.read(kind === newByte ? 8 : 16);
    this.#reserve(1);
    this.#enter(this.#length, 1);
    this.#units[this.#length++] = unit;
  }

  /** Copies unit by unit, since an entry may overlap the output it produces. */
  #copy(from: number, length: number): void {
    this.#reserve(length);
    const units = this.#units;
    let to = this.#length;
    for (let at = from; at < from + length; at++) units[to++] = units[at]!;
    this.#length = to;
  }

  #reserve(more: number): void {
    if (this.#length + more > this.#unitsMax) throw this.#tooLarge();
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
  *#encode(unitsMax: number): Slices<Uint8Array> {
    const units = this.#units;
    const out = Buffer.allocUnsafeSlow(Math.min(this.#bytesMax, this.#length * 3));
    let written = 0;
    try {
      for (let from = 0, to = 0; from < this.#length; from = to) {
        yield;
        this.#acquire(unitsMax, written + unitsMax * 3);
        to = Math.min(this.#length, from + unitsMax);
        if (to < this.#length && (units[to - 1]! & 0xfc00) === 0xd800) to++;
        const bytes = toBytes(Buffer.from(units.buffer, from * 2, (to - from) * 2).toString("utf16le"));
        if (written + bytes.length > out.length) throw this.#tooLarge();
        out.set(bytes, written);
        written += bytes.length;
      }
    } catch (thrown) {
      free(out);
      throw thrown;
    }
    return out.subarray(0, written);
  }
}
