// A walk over JSON bytes: checks the grammar as it passes, stops about where it is told (within a text of megabytes
// too), and goes on later.

import type { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { type KnownKeys, slotOf, slotOfEscaped } from "./event_fields.ts";
import {
  digitAt,
  isDigit,
  isWord,
  malformed,
  ordinary,
  pastBlanks,
  pastEscape,
  pastShortNumber,
  pastWord,
  unexpected,
} from "./json_lexer.ts";

/** What comes next of a value: one constant each, which the compiler knows better than members. */
const atValue = 0;
/** Behind a container's opening bracket. */
const atFirst = 1;
const atKey = 2;
const inKeyText = 3;
const atColon = 4;
const inText = 5;
const inDigits = 6;
/** Behind a value that is through. */
const behind = 7;

/** What comes next of a key that is read by itself. */
const noKey = 0;
const keyText = 1;
const keyColon = 2;
const keyValue = 3;

/** What peek() says at the goal: there is more, for a later turn. */
export const stopped = -2;

export class JsonWalker {
  readonly bytes: Uint8Array;
  at = 0;
  /** Where to stop; it may go a few bytes further. The end of the bytes, unless told. */
  goal: number;
  /** Set to 1 when an escape was passed that cannot be stored: NUL, or half of a surrogate pair. */
  altered = 0;
  /** Where the last key's bytes lie, without its quotes. */
  keyFrom = 0;
  keyTo = 0;
  /** Escapes in the last key. */
  escapes = 0;
  #key: number = noKey;
  #place: number = atValue;
  #depth = 0;
  #outer = 0;
  /** What a number has had so far: 0 digits, 1 a fraction, 2 an exponent. */
  #parts = 0;
  /** The opening bytes of the containers around a value that is not through; made when one stops. */
  #nesting: Uint8Array | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.goal = bytes.length;
  }

  /** Reads `"key" :` up to its value, leaving keyFrom and keyTo; false when it stopped: call it again. */
  key(): boolean {
    if (this.#key === noKey && this.#shortKey()) return true;
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

  /** Nearly all keys: whole before the goal. */
  #shortKey(): boolean {
    const { bytes, goal } = this;
    const from = pastBlanks(bytes, this.at, goal) + 1;
    if (bytes[from - 1] !== 0x22) return false;
    this.escapes = 0;
    const to = this.#pastText(from);
    if (to + 2 >= goal) return false;
    let at = pastBlanks(bytes, to + 1, goal);
    if (bytes[at] !== 0x3a) return false;
    at = pastBlanks(bytes, at + 1, goal);
    if (at >= goal) return false;
    this.at = at;
    this.keyFrom = from;
    this.keyTo = to;
    return true;
  }

  /** The slot that the key just read names among `keys`. */
  slot(keys: KnownKeys): number {
    const { bytes, keyFrom, keyTo, escapes } = this;
    return escapes > 0 ? slotOfEscaped(keys, bytes, keyFrom, keyTo) : slotOf(keys, bytes, keyFrom, keyTo);
  }

  /** After a member or item: true past a comma, false past `closing`. Only for a walk without a goal. */
  more(closing: number): boolean {
    const next = this.peek();
    if (next !== 0x2c && next !== closing) throw this.unexpected();
    this.at++;
    return next === 0x2c;
  }

  /** The next byte that is no white space, left in place; -1 at the end, `stopped` at the goal. */
  peek(): number {
    this.at = pastBlanks(this.bytes, this.at, this.goal);
    if (this.at < this.goal) return this.bytes[this.at]!;
    return this.at < this.bytes.length ? stopped : -1;
  }

  /** Passes one value of any kind, `outer` containers deep; false when it stopped within: resume() goes on. */
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
    return this.#go(atValue);
  }

  resume(): boolean {
    if (this.#nesting) nesting.set(this.#nesting);
    return this.#go(this.#place);
  }

  /** A loop of its own with the place in a local: this is where most bytes go by. */
  #go(from: number): boolean {
    const { bytes, goal } = this;
    const outer = this.#outer;
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
        if (depth >= limits.jsonDepthMax) throw tooDeep(at);
        nesting[depth++] = byte;
        at++;
        next = atFirst;
      } else if (isWord(byte)) {
        at = pastWord(bytes, at, byte);
        next = behind;
      } else {
        const to = pastShortNumber(bytes, at, goal);
        if (to < 0) at = this.#intoNumber(at);
        else at = to;
        next = to < 0 ? inDigits : behind;
      }
    }
  }

  /** Keeps where it is for resume(). @throws when there are no more bytes to come. */
  #stop(next: number, at: number, depth: number): false {
    if (at >= this.bytes.length) throw this.unexpected(at);
    this.#place = next;
    this.#depth = depth;
    this.at = at;
    (this.#nesting ??= new Uint8Array(limits.jsonDepthMax)).set(nesting);
    return false;
  }

  /** Within a text, from `from` to its closing quote, or to the goal. */
  #pastText(from: number): number {
    const { bytes, goal } = this;
    let at = from;
    for (;;) {
      // With all of it at hand, the end of the bytes is what stops it: most texts, and a comparison less.
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

  /** From within a number's digits to behind it, or to the goal. */
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

/** The opening bytes of the containers around the current value; everybody's between two stops. */
const nesting = new Uint8Array(limits.jsonDepthMax);

function tooDeep(at: number): Fault {
  return malformed(`nested deeper than ${limits.jsonDepthMax} at byte ${at}`);
}

/** "{" and "}", "[" and "]" are this far apart. */
const closes = 2;
