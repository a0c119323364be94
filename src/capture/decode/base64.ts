// Base64, a slice at a time: MIME's alphabet and that of URLs, with or without line breaks. The runtime decodes each
// slice and skips characters of neither alphabet; this file checks that it skipped none.

import { decodeLimits } from "./limits.ts";

const spelled = /^([A-Za-z0-9+/_-]*)(=*)$/;
const beginning = /^[A-Za-z0-9+/_\-= \r\n]*$/;
const lettersMin = 4;

export class Base64 {
  /** False when a byte was found that base64 does not have. */
  isValid: boolean;
  readonly #text: Uint8Array;
  readonly #out: Buffer;
  #at = 0;
  #length = 0;
  /** Letters of an incomplete group of four. */
  #partial = "";
  /** The padding was seen. */
  #ended = false;

  constructor(text: Uint8Array) {
    this.#text = text;
    this.isValid = text.length >= lettersMin && looksLikeBase64(text);
    this.#out = Buffer.allocUnsafeSlow(this.isValid ? Math.ceil(text.length / 4) * 3 : 0);
  }

  /** The bytes decoded so far. */
  get bytes(): Uint8Array {
    return this.#out.subarray(0, this.#length);
  }

  /** Decodes up to `lettersMax` letters more; true when all are decoded, or the text is not base64. */
  advance(lettersMax: number): boolean {
    if (!this.isValid) return true;
    const to = Math.min(this.#text.length, this.#at + lettersMax);
    const slice = latin1(this.#text.subarray(this.#at, to));
    const ends = to === this.#text.length;
    this.#at = to;
    const isWhole = this.#partial === "" && !this.#ended && slice.length % 4 === 0;
    if (isWhole && this.#decode(slice)) return ends;
    // A plus that was not escaped in a form or query arrives as a space.
    const found = spelled.exec(slice.replaceAll(/[\r\n]/g, "").replaceAll(" ", "+"));
    const [, more = "", padding = ""] = found ?? [];
    this.isValid = found !== null && (more === "" || !this.#ended);
    if (padding !== "") this.#ended = true;
    const letters = this.#partial + more;
    const whole = ends ? letters.length : letters.length - (letters.length % 4);
    this.#decode(letters.slice(0, whole));
    this.#partial = letters.slice(whole);
    return ends || !this.isValid;
  }

  /** Decodes these letters. False, and nothing is kept, when some were none. */
  #decode(letters: string): boolean {
    const written = this.#out.write(letters, this.#length, "base64");
    if (written !== Math.floor((letters.length * 3) / 4)) return false;
    this.#length += written;
    return true;
  }
}

/** Whether the first letters of a text are letters of base64. */
export function looksLikeBase64(text: Uint8Array): boolean {
  return beginning.test(latin1(text.subarray(0, decodeLimits.base64CheckBytes)));
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}
