// A walk over JSON bytes: checks the grammar, stops near a given offset (within a text of megabytes too), and resumes
// later.

import { hexValue } from "../bytes.ts";
import { Fault } from "../fault.ts";
import { limits } from "../limits.ts";

/** States within a value: a constant each, which the compiler optimizes better than members of an object. */
const atValue = 0;
/** After a container's opening bracket. */
const atFirst = 1;
const atKey = 2;
const inKeyText = 3;
const atColon = 4;
const inText = 5;
const inDigits = 6;
/** After a value that has ended. */
const behind = 7;

/** States within a key, which is read by itself. */
const noKey = 0;
const keyText = 1;
const keyColon = 2;
const keyValue = 3;

/** The result of peek() at the goal: more bytes follow, for a later turn. */
export const stopped = -2;

export class JsonWalker {
  readonly bytes: Uint8Array;
  at = 0;
  /** The offset at which to stop, a few bytes further at the most; the end of the bytes by default. */
  goal: number;
  /** Set to 1 when an escape was passed that cannot be stored: NUL, or half of a surrogate pair. */
  altered = 0;
  /** Set when a container was nested deeper than limits.jsonDepthMax. */
  isDeep = false;
  /** Start of the last key's bytes, without its quotes. */
  keyFrom = 0;
  keyTo = 0;
  escapes = 0;
  #key: number = noKey;
  #state: number = atValue;
  #depth = 0;
  #outer = 0;
  /** Parts that a number has had so far: 0 digits, 1 a fraction, 2 an exponent. */
  #parts = 0;
  /** The opening bytes of the containers around the current value; it grows up to depthMax. */
  #nesting: Uint8Array;

  readonly #depthMax: number;

  /** `depthMax`: how deep containers may be nested, limits.jsonDepthMax by default. */
  constructor(bytes: Uint8Array, depthMax: number = limits.jsonDepthMax) {
    this.bytes = bytes;
    this.goal = bytes.length;
    this.#depthMax = depthMax;
    this.#nesting = new Uint8Array(Math.min(depthMax, limits.jsonDepthMax));
  }

  /** Reads `"key" :` up to its value, and sets keyFrom and keyTo; false when it stopped: call it again. */
  key(): boolean {
    if (this.#key === noKey) {
      const first = this.peek();
      if (first === stopped) return false;
      if (first !== 0x22) throw this.unexpected();
      this.escapes = 0;
      this.keyFrom = ++this.at;
      this.#key = keyText;
    }
    if (this.#key === keyText) {
      this.at = this.#pastText(this.at);
      if (this.at >= this.goal) return false;
      this.keyTo = this.at++;
      this.#key = keyColon;
    }
    if (this.#key === keyColon) {
      const next = this.peek();
      if (next === stopped) return false;
      if (next !== 0x3a) throw this.unexpected();
      this.at++;
      this.#key = keyValue;
    }
    if (this.peek() === stopped) return false;
    this.#key = noKey;
    return true;
  }

  /** The next byte that is no white space, which is not passed; -1 at the end, `stopped` at the goal. */
  peek(): number {
    this.at = pastBlanks(this.bytes, this.at, this.goal);
    if (this.at < this.goal) return this.bytes[this.at]!;
    return this.at < this.bytes.length ? stopped : -1;
  }

  /** Passes one value of any kind, `outer` containers deep; false when it stopped within: resume() continues. */
  skip(outer: number): boolean {
    const { bytes, goal } = this;
    const at = pastBlanks(bytes, this.at, goal);
    if (at < goal && bytes[at] === 0x22) {
      const to = this.#pastText(at + 1);
      if (to < goal) {
        this.at = to + 1;
        return true;
      }
    }
    this.#outer = outer;
    this.#depth = outer;
    return this.#walk(atValue);
  }

  resume(): boolean {
    return this.#walk(this.#state);
  }

  /** A loop of its own, with the offset in a local variable: most bytes pass here. */
  #walk(from: number): boolean {
    const { bytes, goal } = this;
    const outer = this.#outer;
    let nesting = this.#nesting;
    let at = this.at;
    let depth = this.#depth;
    let next = from;
    for (;;) {
      if (next === inText || next === inKeyText) {
        at = this.#pastText(at);
        if (at >= goal) return this.#stop(next, at, depth);
        at++;
        next = next === inText ? behind : atColon;
      } else if (next === inDigits) {
        at = this.#pastNumber(at);
        if (at >= goal && at < bytes.length) return this.#stop(next, at, depth);
        next = behind;
      }
      if (next === behind && depth === outer) {
        this.at = at;
        return true;
      }
      if (bytes[at]! <= 0x20) at = pastBlanks(bytes, at, goal);
      if (at >= goal) return this.#stop(next, at, depth);
      const byte = bytes[at]!;
      if (next === behind) {
        const open = nesting[depth - 1]!;
        if (byte === 0x2c) next = open === 0x7b ? atKey : atValue;
        else if (byte === open + closes) depth--;
        else throw this.unexpected(at);
        at++;
        continue;
      }
      if (next === atFirst) {
        if (byte === nesting[depth - 1]! + closes) {
          next = behind;
          continue;
        }
        next = nesting[depth - 1] === 0x7b ? atKey : atValue;
      }
      if (next === atKey) {
        if (byte !== 0x22) throw this.unexpected(at);
        at++;
        next = inKeyText;
      } else if (next === atColon) {
        if (byte !== 0x3a) throw this.unexpected(at);
        at++;
        next = atValue;
      } else if (byte === 0x22) {
        at++;
        next = inText;
      } else if (byte === 0x7b || byte === 0x5b) {
        if (depth >= this.#depthMax) throw malformed(`nested deeper than ${this.#depthMax} at byte ${at}`);
        if (depth >= limits.jsonDepthMax) this.isDeep = true;
        if (depth === nesting.length) nesting = this.#growNesting();
        nesting[depth++] = byte;
        at++;
        next = atFirst;
      } else if (byte === 0x74 || byte === 0x66 || byte === 0x6e) {
        at = pastWord(bytes, at, byte);
        next = behind;
      } else {
        at = this.#intoNumber(at);
        next = inDigits;
      }
    }
  }

  #growNesting(): Uint8Array {
    const grown = new Uint8Array(this.#nesting.length * 2);
    grown.set(this.#nesting);
    return (this.#nesting = grown);
  }

  /** Keeps the state for resume(). @throws when the bytes end here. */
  #stop(next: number, at: number, depth: number): false {
    if (at >= this.bytes.length) throw this.unexpected(at);
    this.#state = next;
    this.#depth = depth;
    this.at = at;
    return false;
  }

  /** Walks a text from `from` to its closing quote, or to the goal. */
  #pastText(from: number): number {
    const { bytes, goal } = this;
    let at = from;
    for (;;) {
      // When the goal is the end of the bytes, the end itself stops the loop, and a comparison is saved.
      if (goal === bytes.length) while (ordinary[bytes[at]!] === 1) at++;
      else while (at < goal && ordinary[bytes[at]!] === 1) at++;
      if (at >= goal && at < bytes.length) return at;
      if (bytes[at] === 0x22) return at;
      if (bytes[at] !== 0x5c) throw this.unexpected(at);
      this.escapes++;
      const end = pastEscape(bytes, at);
      if (end < 0) this.altered = 1;
      at = Math.abs(end);
    }
  }

  /** Past a number's sign and its first digit, if that is a zero. */
  #intoNumber(from: number): number {
    const { bytes } = this;
    this.#parts = 0;
    const at = bytes[from] === 0x2d ? from + 1 : from;
    if (bytes[at] !== 0x30) return digitAt(bytes, at);
    // Nothing but a fraction or an exponent may follow it.
    if (isDigit(bytes[at + 1]!)) throw this.unexpected(at + 1);
    return at + 1;
  }

  /** Passes the rest of a number's digits: the offset after it, or the goal. */
  #pastNumber(from: number): number {
    const { bytes, goal } = this;
    let at = from;
    for (;;) {
      while (at < goal && isDigit(bytes[at]!)) at++;
      if (at >= goal) return at;
      const byte = bytes[at]!;
      if (byte === 0x2e && this.#parts === 0) {
        this.#parts = 1;
        at = digitAt(bytes, at + 1);
      } else if ((byte === 0x65 || byte === 0x45) && this.#parts < 2) {
        this.#parts = 2;
        const sign = bytes[at + 1];
        at = digitAt(bytes, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
      } else return at;
    }
  }

  unexpected(at = this.at): Fault {
    return unexpected(this.bytes, at);
  }
}

/** The distance from "{" to "}", and from "[" to "]". */
const closes = 2;

const blank = new Uint8Array(256);
for (const byte of [0x20, 0x0a, 0x0d, 0x09]) blank[byte] = 1;

/** 1 for bytes that a string may hold as they are: no quote, no backslash, no control character. */
const ordinary = new Uint8Array(256).fill(1, 0x20);
ordinary[0x22] = 0;
ordinary[0x5c] = 0;

/** The offset after white space, or the goal. */
function pastBlanks(bytes: Uint8Array, from: number, goal: number): number {
  let at = from;
  while (at < goal && blank[bytes[at]!] === 1) at++;
  return at;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** The offset of a digit that must be there. */
function digitAt(bytes: Uint8Array, at: number): number {
  if (isDigit(bytes[at]!)) return at;
  throw unexpected(bytes, at);
}

/** The offset after the word that must be at `from`, by its first byte. */
function pastWord(bytes: Uint8Array, from: number, first: number): number {
  const word = first === 0x74 ? "true" : first === 0x66 ? "false" : "null";
  for (let i = 0; i < word.length; i++) {
    if (bytes[from + i] !== word.charCodeAt(i)) throw unexpected(bytes, from + i);
  }
  return from + word.length;
}

/**
 * The offset after the escape at `at`; negative when it means what cannot be stored: NUL, or half of a surrogate pair.
 */
export function pastEscape(bytes: Uint8Array, at: number): number {
  const letter = bytes[at + 1];
  if (letter === 0x75) return pastUnicode(bytes, at);
  // " \ / b f n r t
  const simple = letter === 0x22 || letter === 0x5c || letter === 0x2f || letter === 0x62;
  if (simple || letter === 0x66 || letter === 0x6e || letter === 0x72 || letter === 0x74) return at + 2;
  throw unexpected(bytes, at + 1);
}

function pastUnicode(bytes: Uint8Array, at: number): number {
  const code = parseHex(bytes, at + 2);
  if (code < 0xd800 || code > 0xdfff) return code === 0 ? -(at + 6) : at + 6;
  if (code < 0xdc00 && bytes[at + 6] === 0x5c && bytes[at + 7] === 0x75) {
    const low = parseHex(bytes, at + 8);
    if (low >= 0xdc00 && low <= 0xdfff) return at + 12;
  }
  return -(at + 6);
}

/** The value of the four hex digits that must be at `at`. */
function parseHex(bytes: Uint8Array, at: number): number {
  let code = 0;
  for (let i = at; i < at + 4; i++) {
    const value = i < bytes.length ? hexValue[bytes[i]!]! : 255;
    if (value === 255) throw unexpected(bytes, i);
    code = code * 16 + value;
  }
  return code;
}

/** A fault of bytes that repair.ts may be able to repair. */
export class RepairableFault extends Fault {}

export function notUtf8(): Fault {
  return new RepairableFault("invalid_payload", `${malformedWords}: the body is not UTF-8.`);
}

function unexpected(bytes: Uint8Array, at: number): Fault {
  const byte = bytes[at];
  // The first letter of NaN or Infinity.
  if (byte === 0x4e || byte === 0x49) {
    const detail = `${malformedWords}: unexpected "${String.fromCharCode(byte)}" at byte ${at}.`;
    return new RepairableFault("invalid_payload", detail);
  }
  if (byte === undefined) return malformed(`the JSON ends too early, at byte ${at}`);
  const char = byte > 0x20 && byte < 0x7f ? `"${String.fromCharCode(byte)}"` : `byte 0x${byte.toString(16)}`;
  return malformed(`unexpected ${char} at byte ${at}`);
}

const malformedWords = "Malformed request data";

export function malformed(what: string): Fault {
  return new Fault("invalid_payload", `${malformedWords}: ${what}.`);
}
