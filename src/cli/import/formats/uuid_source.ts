// The uuid of an imported event whose record has none: derived from its content, so every run makes the same one.

import { UserError } from "../../../core/fault.ts";
import { toUuid } from "../../../core/id.ts";
import { importLimits } from "../limits.ts";

/** The namespace (RFC 9562) of these uuids. A change would duplicate every event that is imported again. */
const namespace = Buffer.from("5b1f7d0e3c0a5d4f9a6c8e2b7f41d905", "hex");

export class UuidSource {
  /** See JsonRecord.devices. */
  readonly devices = new Map<string, string | null>();
  readonly #seen: OccurrenceCounter;
  readonly #digest = Buffer.alloc(20);
  #scratch: Buffer<ArrayBufferLike> = Buffer.alloc(64 * 1024);

  /** `recordsMax`: how many records without a uuid one import may have. */
  constructor(recordsMax: number = importLimits.recordsMax) {
    namespace.copy(this.#scratch);
    this.#seen = new OccurrenceCounter(recordsMax);
  }

  /**
   * A UUIDv5 of source[from, to). Equal records are different events: the uuid of the second depends also on how
   * many equal ones came before it in this import.
   * @throws UserError past `recordsMax`.
   */
  ofRecord(source: Buffer, from: number, to: number): string {
    const length = namespace.length + to - from;
    this.#reserve(length);
    source.copy(this.#scratch, namespace.length, from, to);
    this.#hash(length);
    const occurrence = this.#seen.add(this.#digest.readUInt32LE(0), this.#digest.readUInt32LE(4));
    const uuid = toUuid(this.#digest, 5);
    return occurrence === 0 ? uuid : this.ofText(`${uuid} ${occurrence}`);
  }

  /** A UUIDv5 of a text that identifies an event, such as the source's own id. */
  ofText(text: string): string {
    const bytesMax = text.length * 3;
    this.#reserve(namespace.length + bytesMax);
    const written = this.#scratch.write(text, namespace.length, "utf8");
    this.#hash(namespace.length + written);
    return toUuid(this.#digest, 5);
  }

  #reserve(length: number): void {
    if (length <= this.#scratch.length) return;
    this.#scratch = Buffer.alloc(length * 2);
    namespace.copy(this.#scratch);
  }

  #hash(length: number): void {
    Bun.SHA1.hash(this.#scratch.subarray(0, length), this.#digest);
  }
}

/**
 * Counts equal records by 64 bits of their hash, in an open-addressing table of 8 bytes a record. The n-th equal
 * record is stored under a key derived from n; n is found by exponential search.
 */
export class OccurrenceCounter {
  readonly #recordsMax: number;
  /** Two words a slot; the second is 0 in a free slot. */
  #slots: Uint32Array;
  #mask: number;
  #count = 0;

  constructor(recordsMax: number) {
    this.#recordsMax = recordsMax;
    this.#slots = new Uint32Array(2 * 1024);
    this.#mask = 1023;
  }

  /** Adds a record and returns how many equal ones came before. @throws UserError past `recordsMax`. */
  add(high: number, low: number): number {
    if (this.#count >= this.#recordsMax) {
      const recordsMax = this.#recordsMax.toLocaleString("en");
      throw new UserError(
        `more than ${recordsMax} records without a uuid in one import; import fewer files at once`,
      );
    }
    if ((this.#count + 1) * 4 > (this.#mask + 1) * 3) this.#grow();
    const occurrence = this.#put(high, low, 0, false) ? 0 : this.#nextOccurrence(high, low);
    this.#put(high, low, occurrence, true);
    this.#count++;
    return occurrence;
  }

  /** The least number without a slot; every one below it has one. */
  #nextOccurrence(high: number, low: number): number {
    let usedNumber = 0;
    let free = 1;
    while (!this.#put(high, low, free, false)) {
      usedNumber = free;
      free *= 2;
    }
    while (free - usedNumber > 1) {
      const middle = usedNumber + Math.floor((free - usedNumber) / 2);
      if (this.#put(high, low, middle, false)) free = middle;
      else usedNumber = middle;
    }
    return free;
  }

  /** Whether the key has no slot yet; with `fill` it gets one. */
  #put(high: number, low: number, occurrence: number, fill: boolean): boolean {
    const first = (high ^ Math.imul(occurrence, 0x85ebca6b)) >>> 0;
    const second = (low + Math.imul(occurrence, 0x9e3779b1)) >>> 0 || 1;
    return this.#probe(first, second, fill);
  }

  #probe(first: number, second: number, fill: boolean): boolean {
    const slots = this.#slots;
    for (let slot = (first ^ Math.imul(second, 0xc2b2ae35)) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const at = slot * 2;
      if (slots[at + 1] === 0) {
        if (fill) {
          slots[at] = first;
          slots[at + 1] = second;
        }
        return true;
      }
      if (slots[at] === first && slots[at + 1] === second) return false;
    }
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length * 2);
    this.#mask = this.#slots.length / 2 - 1;
    for (let at = 0; at < old.length; at += 2) {
      if (old[at + 1] !== 0) this.#probe(old[at]!, old[at + 1]!, true);
    }
  }
}
