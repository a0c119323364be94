// A walk over JSON bytes: checks the grammar as it passes, builds nothing. Never looks at what a value means.

import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { type KnownKeys, slotOf, slotOfEscaped } from "./member.ts";
import { hexValue } from "./row.ts";

export class Walk {
  readonly bytes: Uint8Array;
  at = 0;
  /** Set to 1 when an escape was passed that cannot be stored: NUL, or half of a surrogate pair. */
  altered = 0;
  /** Where the last key's bytes lie, without its quotes. */
  keyFrom = 0;
  keyTo = 0;
  /** Escapes in the last key. */
  escapes = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** Reads `"key" :`, leaving keyFrom and keyTo. */
  key(): void {
    if (this.peek() !== 0x22) throw this.unexpected();
    this.escapes = 0;
    this.keyFrom = this.at + 1;
    this.at = this.#pastString(this.at);
    this.keyTo = this.at - 1;
    if (this.peek() !== 0x3a) throw this.unexpected();
    this.at++;
  }

  /** The slot that the key just read names among `keys`. */
  slot(keys: KnownKeys): number {
    const { bytes, keyFrom, keyTo, escapes } = this;
    return escapes > 0 ? slotOfEscaped(keys, bytes, keyFrom, keyTo) : slotOf(keys, bytes, keyFrom, keyTo);
  }

  /** After a member or item: true past a comma, false past `closing`. */
  more(closing: number): boolean {
    const next = this.peek();
    if (next !== 0x2c && next !== closing) throw this.unexpected();
    this.at++;
    return next === 0x2c;
  }

  /** The next byte that is no white space, left in place; -1 at the end. */
  peek(): number {
    this.at = pastBlanks(this.bytes, this.at);
    return this.at < this.bytes.length ? this.bytes[this.at]! : -1;
  }

  /**
   * Passes one value of any kind. A loop of its own with the place in a local: this is where most bytes go
   * by.
   */
  skip(outer: number): void {
    const { bytes } = this;
    let depth = outer;
    let at = pastBlanks(bytes, this.at);
    do {
      const first = bytes[at]!;
      if (first === 0x7b || first === 0x5b) {
        if (depth >= limits.jsonDepthMax)
          throw malformed(`nested deeper than ${limits.jsonDepthMax} at byte ${at}`);
        const next = pastBlanks(bytes, at + 1);
        if (bytes[next] !== first + closes) {
          nesting[depth++] = first;
          at = first === 0x7b ? this.#pastKey(next) : next;
          continue;
        }
        at = next + 1;
      } else at = first === 0x22 ? this.#pastString(at) : this.#pastScalar(at);
      while (depth > outer) {
        at = pastBlanks(bytes, at);
        const open = nesting[depth - 1]!;
        if (bytes[at] === 0x2c) {
          at = open === 0x7b ? this.#pastKey(pastBlanks(bytes, at + 1)) : pastBlanks(bytes, at + 1);
          break;
        }
        if (bytes[at] !== open + closes) throw this.unexpected(at);
        depth--;
        at++;
      }
    } while (depth > outer);
    this.at = at;
  }

  /** From a key's opening quote to its value. */
  #pastKey(at: number): number {
    if (this.bytes[at] !== 0x22) throw this.unexpected(at);
    const colon = pastBlanks(this.bytes, this.#pastString(at));
    if (this.bytes[colon] !== 0x3a) throw this.unexpected(colon);
    return pastBlanks(this.bytes, colon + 1);
  }

  /** From a string's opening quote to behind its closing one. */
  #pastString(from: number): number {
    const bytes = this.bytes;
    let at = from + 1;
    for (;;) {
      while (ordinary[bytes[at]!] === 1) at++;
      const byte = bytes[at];
      if (byte === 0x22) return at + 1;
      if (byte !== 0x5c) throw this.unexpected(at);
      at = this.#escape(at) + 1;
    }
  }

  /** Checks one escape and returns its last byte's place. */
  #escape(at: number): number {
    const bytes = this.bytes;
    this.escapes++;
    const letter = bytes[at + 1];
    if (letter === 0x75) return this.#unicode(at);
    // " \ / b f n r t
    const simple = letter === 0x22 || letter === 0x5c || letter === 0x2f || letter === 0x62;
    if (simple || letter === 0x66 || letter === 0x6e || letter === 0x72 || letter === 0x74) return at + 1;
    throw this.unexpected(at + 1);
  }

  #unicode(at: number): number {
    const code = this.#hex(at + 2);
    if (code < 0xd800 || code > 0xdfff) {
      if (code === 0) this.altered = 1;
      return at + 5;
    }
    const paired = code < 0xdc00 && this.bytes[at + 6] === 0x5c && this.bytes[at + 7] === 0x75;
    if (paired) {
      const low = this.#hex(at + 8);
      if (low >= 0xdc00 && low <= 0xdfff) return at + 11;
    }
    this.altered = 1;
    return at + 5;
  }

  #hex(at: number): number {
    let code = 0;
    for (let place = at; place < at + 4; place++) {
      const value = place < this.bytes.length ? hexValue[this.bytes[place]!]! : 255;
      if (value === 255) throw this.unexpected(place);
      code = code * 16 + value;
    }
    return code;
  }

  #pastScalar(from: number): number {
    const bytes = this.bytes;
    const first = bytes[from];
    if (first === 0x74) return this.#pastWord(from, "true");
    if (first === 0x66) return this.#pastWord(from, "false");
    if (first === 0x6e) return this.#pastWord(from, "null");
    let at = first === 0x2d ? from + 1 : from;
    at = bytes[at] === 0x30 ? at + 1 : this.#pastDigits(at);
    if (bytes[at] === 0x2e) at = this.#pastDigits(at + 1);
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      at++;
      if (bytes[at] === 0x2b || bytes[at] === 0x2d) at++;
      at = this.#pastDigits(at);
    }
    return at;
  }

  #pastDigits(from: number): number {
    const bytes = this.bytes;
    let at = from;
    while (bytes[at]! >= 0x30 && bytes[at]! <= 0x39) at++;
    if (at === from) throw this.unexpected(at);
    return at;
  }

  #pastWord(from: number, word: string): number {
    for (let i = 0; i < word.length; i++) {
      if (this.bytes[from + i] !== word.charCodeAt(i)) throw this.unexpected(from + i);
    }
    return from + word.length;
  }

  unexpected(at = this.at): Fault {
    const byte = this.bytes[at];
    if (byte === undefined) return malformed(`the JSON ends too early, at byte ${at}`);
    const shown =
      byte > 0x20 && byte < 0x7f ? `"${String.fromCharCode(byte)}"` : `byte 0x${byte.toString(16)}`;
    return malformed(`unexpected ${shown} at byte ${at}`);
  }
}

/** The opening bytes of the containers around the current value; everybody's, since skip() never awaits. */
const nesting = new Uint8Array(limits.jsonDepthMax);

/** "{" and "}", "[" and "]" are this far apart. */
const closes = 2;

/** 1 for bytes a string may hold as they are: no quote, no backslash, no control character. */
const ordinary = new Uint8Array(256).fill(1, 0x20);
ordinary[0x22] = 0;
ordinary[0x5c] = 0;

function pastBlanks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return at;
}

export function malformed(what: string): Fault {
  return new Fault("invalid_payload", `Malformed request data: ${what}.`);
}
