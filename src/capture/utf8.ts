// Whether bytes are UTF-8, a stretch at a time. Never parts a character.

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
