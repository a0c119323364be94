// The smallest parts of JSON: white space, words, digits, and the fault of a byte that is none.

import { Fault } from "../../core/fault.ts";
import { hexValue } from "../../core/bytes.ts";

const blank = new Uint8Array(256);
for (const byte of [0x20, 0x0a, 0x0d, 0x09]) blank[byte] = 1;

/** 1 for bytes a string may hold as they are: no quote, no backslash, no control character. */
export const ordinary = new Uint8Array(256).fill(1, 0x20);
ordinary[0x22] = 0;
ordinary[0x5c] = 0;

/** Behind white space, or at the goal. */
export function pastBlanks(bytes: Uint8Array, from: number, goal: number): number {
  let at = from;
  while (at < goal && blank[bytes[at]!] === 1) at++;
  return at;
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** Behind a plain number that ends before the goal; -1 for any other, and for what is none. */
export function pastShortNumber(bytes: Uint8Array, from: number, goal: number): number {
  let at = bytes[from] === 0x2d ? from + 1 : from;
  const first = at;
  while (at < goal && bytes[at]! >= 0x30 && bytes[at]! <= 0x39) at++;
  if (at === first || (bytes[first] === 0x30 && at > first + 1)) return -1;
  if (bytes[at] === 0x2e) {
    const fraction = ++at;
    while (at < goal && bytes[at]! >= 0x30 && bytes[at]! <= 0x39) at++;
    if (at === fraction) return -1;
  }
  return at < goal && (bytes[at]! | 0x20) !== 0x65 ? at : -1;
}

/** The place of a digit that must be there. */
export function digitAt(bytes: Uint8Array, at: number): number {
  if (isDigit(bytes[at]!)) return at;
  throw unexpected(bytes, at);
}

/** Whether a value that begins with this byte can only be a word. */
export function isWord(first: number): boolean {
  return first === 0x74 || first === 0x66 || first === 0x6e;
}

/** Behind the word that must be at `from`, by its first byte. */
export function pastWord(bytes: Uint8Array, from: number, first: number): number {
  const word = first === 0x74 ? "true" : first === 0x66 ? "false" : "null";
  for (let i = 0; i < word.length; i++) {
    if (bytes[from + i] !== word.charCodeAt(i)) throw unexpected(bytes, from + i);
  }
  return from + word.length;
}

/** Behind the escape at `at`; negative when it stands for what cannot be stored: NUL, or half of a surrogate pair. */
export function pastEscape(bytes: Uint8Array, at: number): number {
  const letter = bytes[at + 1];
  if (letter === 0x75) return pastUnicode(bytes, at);
  // " \ / b f n r t
  const simple = letter === 0x22 || letter === 0x5c || letter === 0x2f || letter === 0x62;
  if (simple || letter === 0x66 || letter === 0x6e || letter === 0x72 || letter === 0x74) return at + 2;
  throw unexpected(bytes, at + 1);
}

function pastUnicode(bytes: Uint8Array, at: number): number {
  const code = hexOf(bytes, at + 2);
  if (code < 0xd800 || code > 0xdfff) return code === 0 ? -(at + 6) : at + 6;
  if (code < 0xdc00 && bytes[at + 6] === 0x5c && bytes[at + 7] === 0x75) {
    const low = hexOf(bytes, at + 8);
    if (low >= 0xdc00 && low <= 0xdfff) return at + 12;
  }
  return -(at + 6);
}

/** The value of the four hex digits that must be at `at`. */
function hexOf(bytes: Uint8Array, at: number): number {
  let code = 0;
  for (let place = at; place < at + 4; place++) {
    const value = place < bytes.length ? hexValue[bytes[place]!]! : 255;
    if (value === 255) throw unexpected(bytes, place);
    code = code * 16 + value;
  }
  return code;
}

/** A fault of bytes that a repaired copy may not have: see repair.ts. */
export class RepairableFault extends Fault {}

export function notUtf8(): Fault {
  return new RepairableFault("invalid_payload", `${malformedWords}: the body is not UTF-8.`);
}

export function unexpected(bytes: Uint8Array, at: number): Fault {
  const byte = bytes[at];
  // The first letter of NaN or Infinity.
  if (byte === 0x4e || byte === 0x49) {
    const detail = `${malformedWords}: unexpected "${String.fromCharCode(byte)}" at byte ${at}.`;
    return new RepairableFault("invalid_payload", detail);
  }
  if (byte === undefined) return malformed(`the JSON ends too early, at byte ${at}`);
  const shown = byte > 0x20 && byte < 0x7f ? `"${String.fromCharCode(byte)}"` : `byte 0x${byte.toString(16)}`;
  return malformed(`unexpected ${shown} at byte ${at}`);
}

const malformedWords = "Malformed request data";

export function malformed(what: string): Fault {
  return new Fault("invalid_payload", `${malformedWords}: ${what}.`);
}
