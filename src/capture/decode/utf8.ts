// Whether bytes are UTF-8, a stretch at a time, and what one that is not may be. Never parts a character.

import { isUtf8 } from "node:buffer";

export class Utf8Check {
  readonly #bytes: Uint8Array;
  /** So many bytes are sound. */
  #sound = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get through(): boolean {
    return this.#sound === this.#bytes.length;
  }

  /** Looks at about `bytesMax` more bytes; false when they are no UTF-8. */
  advance(bytesMax: number): boolean {
    const bytes = this.#bytes;
    let to = Math.min(bytes.length, this.#sound + bytesMax);
    for (let back = 0; back < 3 && to < bytes.length && (bytes[to]! & 0xc0) === 0x80; back++) to--;
    const whole = this.#sound === 0 && to === bytes.length;
    if (!isUtf8(whole ? bytes : bytes.subarray(this.#sound, to))) return false;
    this.#sound = to;
    return true;
  }
}

/** Bytes of the character at `at`; 0 when there is none in UTF-8. `at` is no ASCII. */
export function soundLength(bytes: Uint8Array, at: number): number {
  const length = lengthBy(bytes[at]!);
  return length > 0 && brokenLength(bytes, at) === length ? length : 0;
}

/** Bytes of the character that begins with this one; 0 when none does. */
function lengthBy(lead: number): number {
  if (lead < 0xc2 || lead > 0xf4) return 0;
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/** How many bytes from `at` on are the beginning of a character, as far as it goes; 1 at the least. */
export function brokenLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!;
  const length = lengthBy(lead);
  if (length === 0) return 1;
  // Which second bytes there are: no longer spellings than need be, no halves of pairs, nothing above U+10FFFF.
  const least = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const most = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  const second = at + 1 < bytes.length ? bytes[at + 1]! : 0;
  if (second < least || second > most) return 1;
  let sound = 2;
  while (sound < length && at + sound < bytes.length && (bytes[at + sound]! & 0xc0) === 0x80) sound++;
  return sound;
}

/** Whether the three bytes at `at` are half of a pair, as CESU-8 writes it. */
export function isHalf(bytes: Uint8Array, at: number): boolean {
  if (at + 2 >= bytes.length || bytes[at] !== 0xed) return false;
  return (bytes[at + 1]! & 0xe0) === 0xa0 && (bytes[at + 2]! & 0xc0) === 0x80;
}

/** The half at `at`: 0xd800 to 0xdfff. */
export function halfAt(bytes: Uint8Array, at: number): number {
  return 0xd000 | ((bytes[at + 1]! & 0x3f) << 6) | (bytes[at + 2]! & 0x3f);
}
