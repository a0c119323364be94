// Repairs a body that the scan refused: bytes in texts that are not UTF-8, and the words NaN, Infinity and -Infinity.
// Works slice by slice and writes a copy; whether the rest is JSON is not checked.

import { toBytes } from "../../core/bytes.ts";
import { runInTurns, type Slices } from "../../core/clock.ts";
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
  return await runInTurns(repair(body, captureLimits.slowSliceBytesMax, limits.inflatedBytesMax, lease));
}

/** Repairs a body in slices, as repairBody(): a first pass measures the copy, a second writes it. */
export function* repair(
  body: Uint8Array,
  sliceBytes: number,
  copyBytesMax: number,
  lease?: MemoryLease,
): Slices<Repaired | undefined> {
  const measured = new Pass(body);
  yield* measured.run(sliceBytes);
  const { size, repairs } = measured;
  if (repairs === 0 || size > copyBytesMax) return undefined;
  // One bit for each byte of the copy.
  const flagWords = Math.ceil(size / 32);
  lease?.acquire(size + flagWords * 4);
  const [bytes, flags] = [Buffer.allocUnsafeSlow(size), new Uint32Array(flagWords)];
  yield;
  yield* new Pass(body, bytes, flags).run(sliceBytes);
  return { bytes, offsetIn: (from, to, kind) => offsetIn(bytes, flags, [from, to], kind) };
}

class Pass {
  /** Bytes of the copy so far. */
  size = 0;
  repairs = 0;
  readonly #bytes: Uint8Array;
  readonly #out: Uint8Array | undefined;
  readonly #flags: Uint32Array | undefined;
  #at = 0;
  #inText = false;
  /** Bytes from here on are not copied yet. */
  #from = 0;

  constructor(bytes: Uint8Array, out?: Uint8Array, flags?: Uint32Array) {
    this.#bytes = bytes;
    this.#out = out;
    this.#flags = flags;
  }

  *run(sliceBytes: number): Slices<void> {
    const { length } = this.#bytes;
    while (this.#at < length) {
      if (this.#at > 0) yield;
      this.#pass(Math.min(length, this.#at + sliceBytes));
      // An escape at the end may lead past it.
      this.#copy(Math.min(this.#at, length));
    }
  }

  #pass(goal: number): void {
    const bytes = this.#bytes;
    let at = this.#at;
    let inText = this.#inText;
    while (at < goal) {
      const plain = inText ? plainInText : plainElsewhere;
      while (at < goal && plain[bytes[at]!] === 1) at++;
      if (at >= goal) break;
      if (bytes[at] === 0x22) {
        inText = !inText;
        at++;
      } else if (!inText) {
        const length = wordLength(bytes, at);
        if (length > 0) this.#replace(at, length, nullWord);
        at += length || 1;
      } else if (bytes[at] === 0x5c) at += 2;
      else at += soundLength(bytes, at) || this.#replaceBytes(at) - at;
    }
    this.#at = at;
    this.#inText = inText;
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
    const { size } = this;
    const out = this.#out;
    if (out) {
      this.#flags![size >> 5]! |= 1 << (size & 31);
      for (let i = 0; i < by.length; i++) out[size + i] = by[i]!;
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

/** 1 for bytes that cannot begin a repair: in a text, and elsewhere, where words begin with N, I or a minus sign. */
const plainInText = new Uint8Array(256).fill(1, 0, 0x80);
const plainElsewhere = new Uint8Array(256).fill(1);
for (const byte of [0x22, 0x5c]) plainInText[byte] = 0;
for (const byte of [0x22, 0x2d, 0x49, 0x4e]) plainElsewhere[byte] = 0;

const replacement = new Uint8Array([0xef, 0xbf, 0xbd]);
const nullWord = new Uint8Array([0x6e, 0x75, 0x6c, 0x6c]);

const words = ["NaN", "Infinity", "-Infinity"].map((word) => toBytes(word));

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
