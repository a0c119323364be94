// Base64, a slice at a time: MIME's alphabet and that of URLs, with or without line breaks. Each slice is checked and
// cleaned here and decoded by the runtime.

import { decodeLimits } from "./limits.ts";

/** The letter to decode for each byte; below a space: line breaks, padding, and bytes that base64 does not have. */
const letters = new Uint8Array(256);
const skipped = 1;
const padding = 2;
for (const letter of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") {
  letters[letter.charCodeAt(0)] = letter.charCodeAt(0);
}
// A plus that was not escaped in a form or query arrives as a space.
letters[0x20] = 0x2b;
letters[0x0a] = letters[0x0d] = skipped;
letters[0x3d] = padding;

const lettersMin = 4;

export class Base64 {
  /** False when a byte was found that base64 does not have. */
  sound: boolean;
  readonly #text: Uint8Array;
  readonly #out: Buffer;
  #at = 0;
  #length = 0;
  /** Letters of the slice; those of an incomplete group of four stay for the next slice. */
  #slice = new Uint8Array(0);
  #kept = 0;
  #ended = false;

  constructor(text: Uint8Array) {
    this.#text = text;
    this.sound = text.length >= lettersMin && looksLikeBase64(text);
    this.#out = Buffer.allocUnsafeSlow(this.sound ? Math.ceil(text.length / 4) * 3 : 0);
  }

  /** The bytes decoded so far. */
  get bytes(): Uint8Array {
    return this.#out.subarray(0, this.#length);
  }

  /** Decodes up to `lettersMax` letters more; true when all are decoded, or the text is not base64. */
  advance(lettersMax: number): boolean {
    if (!this.sound) return true;
    const to = Math.min(this.#text.length, this.#at + lettersMax);
    if (
      this.#kept === 0 &&
      !this.#ended &&
      (to - this.#at) % 4 === 0 &&
      this.#decode(this.#text, this.#at, to)
    ) {
      this.#at = to;
      return to === this.#text.length;
    }
    const count = this.#clean(to);
    if (!this.sound) return true;
    const ends = to === this.#text.length;
    const whole = ends ? count : count - (count % 4);
    this.#decode(this.#slice, 0, whole);
    this.#slice.copyWithin(0, whole, count);
    this.#kept = count - whole;
    return ends;
  }

  /** Decodes these letters. False, and nothing is kept, when some are missing: the runtime skips what is no letter. */
  #decode(from: Uint8Array, start: number, end: number): boolean {
    const text = Buffer.from(from.buffer, from.byteOffset + start, end - start).toString("latin1");
    const written = this.#out.write(text, this.#length, "base64");
    if (written !== Math.floor(((end - start) * 3) / 4)) return false;
    this.#length += written;
    return true;
  }

  /** Copies the letters before `to` into the slice, behind those kept; returns how many there are. */
  #clean(to: number): number {
    const text = this.#text;
    let count = this.#kept;
    if (this.#slice.length < count + to - this.#at) {
      const grown = new Uint8Array(count + to - this.#at + 4);
      grown.set(this.#slice.subarray(0, count));
      this.#slice = grown;
    }
    const slice = this.#slice;
    for (let at = this.#at; at < to; at++) {
      const letter = letters[text[at]!]!;
      if (letter > padding && !this.#ended) slice[count++] = letter;
      else if (letter === padding) this.#ended = true;
      else if (letter !== skipped) this.sound = false;
    }
    this.#at = to;
    return count;
  }
}

/** Whether the first letters of a text are letters of base64. */
export function looksLikeBase64(text: Uint8Array): boolean {
  const to = Math.min(text.length, decodeLimits.base64LookBytes);
  for (let at = 0; at < to; at++) if (letters[text[at]!] === 0) return false;
  return true;
}
