// Repairs a body that the scan refused: bytes in texts that are not UTF-8, and the words NaN, Infinity and -Infinity.
// Works slice by slice and writes a copy; whether the rest is JSON is not checked.

import { bytesOf } from "../../core/bytes.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import type { MemoryLease } from "../../work/bodies/memory_budget.ts";
import { captureLimits } from "../limits.ts";
import { looksLikeJson } from "./decode.ts";
import { brokenLength, halfAt, isHalf, soundLength } from "./utf8.ts";

/** A repaired copy, and the offsets of its repairs. */
export interface Repaired {
  readonly bytes: Uint8Array;
  /** The first repair of this kind in [from, to); -1 without one. */
  offsetIn(from: number, to: number, kind: RepairKind): number;
}

type RepairKind = "text" | "number";

/**
 * The repaired copy of a body; undefined when nothing can be repaired, or the copy would exceed the size limit of a
 * body. Its memory is acquired from the lease, if any, and stays acquired. The event loop gets a turn between slices.
 * @throws Fault unavailable when there is not enough memory.
 */
export async function repairBody(body: Uint8Array, lease?: MemoryLease): Promise<Repaired | undefined> {
  if (!looksLikeJson(body)) return undefined;
  const repair = new Repair(body);
  while (!repair.advance(captureLimits.slowSliceBytesMax)) await yieldToEventLoop();
  if (repair.repairs === 0 || repair.size > limits.inflatedBytesMax) return undefined;
  lease?.acquire(repair.memory);
  const repaired = repair.open();
  do await yieldToEventLoop();
  while (!repair.advance(captureLimits.slowSliceBytesMax));
  return repaired;
}

/** Works in two passes, each advanced until that returns true: it measures the copy, then writes what open() made. */
export class Repair {
  readonly #bytes: Uint8Array;
  /** Bytes of the copy so far; after measuring, of the whole copy. */
  size = 0;
  /** The number of repairs. */
  repairs = 0;
  #out: Uint8Array | undefined;
  #flags = new Uint32Array(0);
  #at = 0;
  #inText = false;
  /** Bytes from here on are not copied yet. */
  #from = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Memory that open() needs besides the body's own, in bytes. */
  get memory(): number {
    return this.size + flagBytes(this.size);
  }

  /** Allocates the copy, which the second pass fills. */
  open(): Repaired {
    const out = Buffer.allocUnsafeSlow(this.size);
    this.#out = out;
    this.#flags = new Uint32Array(flagBytes(this.size) / 4);
    this.#at = this.#from = this.size = this.repairs = 0;
    this.#inText = false;
    const flags = this.#flags;
    return { bytes: out, offsetIn: (from, to, kind) => offsetIn(out, flags, [from, to], kind) };
  }

  /** Continues for about `bytesMax` bytes; true when the pass has ended. */
  advance(bytesMax: number): boolean {
    const bytes = this.#bytes;
    const goal = Math.min(bytes.length, this.#at + bytesMax);
    while (this.#at < goal) {
      if (this.#inText) this.#passText(goal);
      else this.#passOther(goal);
    }
    // An escape at the end may lead past it.
    this.#at = Math.min(this.#at, bytes.length);
    this.#copy(this.#at);
    return this.#at === bytes.length;
  }

  /** Passes the rest of a text: to the offset after its end, or to the goal. */
  #passText(goal: number): void {
    const bytes = this.#bytes;
    let at = this.#at;
    while (at < goal) {
      const byte = bytes[at]!;
      if (byte === 0x22) {
        this.#inText = false;
        at++;
        break;
      }
      if (byte === 0x5c) at += 2;
      else if (byte < 0x80) at++;
      else {
        const sound = soundLength(bytes, at);
        if (sound > 0) at += sound;
        else at = this.#replaceBytes(at);
      }
    }
    this.#at = at;
  }

  /** From outside texts to inside the next one, or to the goal. */
  #passOther(goal: number): void {
    const bytes = this.#bytes;
    let at = this.#at;
    while (at < goal) {
      const byte = bytes[at]!;
      if (byte === 0x22) {
        this.#inText = true;
        at++;
        break;
      }
      const length = byte === 0x4e || byte === 0x49 || byte === 0x2d ? wordLength(bytes, at) : 0;
      if (length > 0) {
        this.#replace(at, length, nullWord);
        at += length;
      } else at++;
    }
    this.#at = at;
  }

  /** Replaces the invalid bytes at `at`; returns the offset after them. */
  #replaceBytes(at: number): number {
    const bytes = this.#bytes;
    if (!isHalf(bytes, at)) {
      const length = brokenLength(bytes, at);
      this.#replace(at, length, replacement);
      return at + length;
    }
    const high = halfAt(bytes, at);
    const low = high < 0xdc00 && isHalf(bytes, at + 3) ? halfAt(bytes, at + 3) : 0;
    if (low < 0xdc00) {
      this.#replace(at, 3, replacement);
      return at + 3;
    }
    const code = ((high - 0xd800) << 10) + low - 0xdc00 + 0x10000;
    const pair = new Uint8Array(4);
    for (let i = 0; i < 4; i++) pair[i] = (i === 0 ? 0xf0 : 0x80) | ((code >> (18 - 6 * i)) & 0x3f);
    this.#replace(at, 6, pair);
    return at + 6;
  }

  /** Replaces `length` bytes at `at` and flags the repair. */
  #replace(at: number, length: number, by: Uint8Array): void {
    this.#copy(at);
    if (this.#out) {
      this.#flags[this.size >> 5]! |= 1 << (this.size & 31);
      for (let i = 0; i < by.length; i++) this.#out[this.size + i] = by[i]!;
    }
    this.size += by.length;
    this.repairs++;
    this.#from = at + length;
  }

  /** Copies the bytes before `to` that are not copied yet. */
  #copy(to: number): void {
    if (to <= this.#from) return;
    this.#out?.set(this.#bytes.subarray(this.#from, to), this.size);
    this.size += to - this.#from;
    this.#from = to;
  }
}

const replacement = new Uint8Array([0xef, 0xbf, 0xbd]);
const nullWord = new Uint8Array([0x6e, 0x75, 0x6c, 0x6c]);

/** One bit for each byte of the copy. */
function flagBytes(size: number): number {
  return Math.ceil(size / 32) * 4;
}

const words = ["NaN", "Infinity", "-Infinity"].map((word) => bytesOf(word));

/** The length of NaN, Infinity or -Infinity at `at`; 0 when it is anything else. */
function wordLength(bytes: Uint8Array, at: number): number {
  for (const word of words) {
    let i = 0;
    while (i < word.length && bytes[at + i] === word[i]) i++;
    if (i === word.length && endsValue(bytes, at + i)) return i;
  }
  return 0;
}

/** Whether a value may end before `at`. */
function endsValue(bytes: Uint8Array, at: number): boolean {
  const byte = bytes[at];
  return byte === undefined || byte <= 0x20 || byte === 0x2c || byte === 0x5d || byte === 0x7d;
}

function offsetIn(
  bytes: Uint8Array,
  flags: Uint32Array,
  [from, to]: readonly [number, number],
  kind: RepairKind,
): number {
  for (let word = from >> 5; word <= (to - 1) >> 5; word++) {
    for (let bits = flags[word]!; bits !== 0; bits &= bits - 1) {
      const at = word * 32 + (31 - Math.clz32(bits & -bits));
      if (at < from || at >= to) continue;
      if ((bytes[at] === nullWord[0]) === (kind === "number")) return at;
    }
  }
  return -1;
}
