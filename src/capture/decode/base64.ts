// Base64, a stretch at a time: the spelling of MIME and the one for URLs, in lines or not. Never reads what it decodes.

import { decodeLimits } from "./limits.ts";

/** Six bits of each letter; what is none is negative: passed over, the end, or nothing of base64 at all. */
const letterBits = new Int32Array(256).fill(-3);
const passed = -1;
const filling = -2;
for (const [bits, letter] of [
  ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
].entries())
  letterBits[letter.charCodeAt(0)] = bits;
letterBits[0x2d] = 62;
letterBits[0x5f] = 63;
// A plus that was not escaped in a form or query arrived as a blank.
letterBits[0x20] = 62;
letterBits[0x0a] = passed;
letterBits[0x0d] = passed;
letterBits[0x3d] = filling;

const lettersMin = 4;

export class Base64 {
  /** False once a byte was no letter: then it is no base64. */
  sound = true;
  readonly #text: Uint8Array;
  readonly #out: Uint8Array;
  #at = 0;
  #length = 0;
  /** Letters of a group of four that is not whole, and their bits. */
  #count = 0;
  #bits = 0;
  #ended = false;

  constructor(text: Uint8Array) {
    this.#text = text;
    this.sound = text.length >= lettersMin;
    const bytes = Math.ceil(text.length / 4) * 3;
    this.#out = Buffer.allocUnsafeSlow(this.sound && looksLikeBase64(text) ? bytes : 0);
  }

  /** What was decoded so far. */
  get bytes(): Uint8Array {
    return this.#out.subarray(0, this.#length);
  }

  /** Goes on for `lettersMax` letters; true when it is through, or is no base64. */
  advance(lettersMax: number): boolean {
    const text = this.#text;
    const to = Math.min(text.length, this.#at + lettersMax);
    while (this.sound && this.#at < to) {
      if (this.#count === 0 && !this.#ended) this.#groups(to);
      if (this.#at < to) this.#letter(letterBits[text[this.#at++]!]!);
    }
    if (!this.sound) return true;
    if (this.#at < text.length) return false;
    this.#endGroup();
    return true;
  }

  /** Whole groups of plain letters, as far as there are any. */
  #groups(to: number): void {
    const [text, out] = [this.#text, this.#out];
    let at = this.#at;
    let length = this.#length;
    for (; at + 4 <= to; at += 4) {
      const bits =
        (letterBits[text[at]!]! << 18) |
        (letterBits[text[at + 1]!]! << 12) |
        (letterBits[text[at + 2]!]! << 6) |
        letterBits[text[at + 3]!]!;
      if (bits < 0) break;
      out[length] = bits >> 16;
      out[length + 1] = bits >> 8;
      out[length + 2] = bits;
      length += 3;
    }
    this.#at = at;
    this.#length = length;
  }

  #letter(bits: number): void {
    if (bits === passed) return;
    if (bits === filling) this.#endGroup();
    else if (bits < 0 || this.#ended) this.sound = false;
    else {
      this.#bits = (this.#bits << 6) | bits;
      if (++this.#count === 4) this.#take(3);
    }
  }

  /** Behind it there is only filling. */
  #endGroup(): void {
    this.#ended = true;
    // Of one letter there is no byte.
    if (this.#count > 1) {
      const bytes = this.#count - 1;
      this.#bits <<= 6 * (4 - this.#count);
      this.#take(bytes);
    }
    this.#count = 0;
  }

  #take(bytes: number): void {
    for (let i = 0; i < bytes; i++) this.#out[this.#length++] = this.#bits >> (16 - 8 * i);
    this.#count = 0;
    this.#bits = 0;
  }
}

/** Whether the first letters of a text are letters of base64. */
export function looksLikeBase64(text: Uint8Array): boolean {
  const to = Math.min(text.length, decodeLimits.base64LookBytes);
  for (let at = 0; at < to; at++) if (letterBits[text[at]!]! < filling) return false;
  return true;
}
