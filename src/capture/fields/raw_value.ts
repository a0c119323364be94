// Raw values of JSON whose grammar the scan has checked already: texts as ranges of bytes, which are set, compared and
// cut without a copy; compact lists and objects, keys of groups.

import { decodeText, hexValue, isTextAt, toBytes } from "../../core/bytes.ts";
import { JsonCursor } from "../../core/json/json_cursor.ts";
import type { ByteColumn } from "../../storage/native/native.ts";
import { captureLimits } from "../limits.ts";

export interface ByteRange {
  source: Uint8Array;
  from: number;
  to: number;
}

const nothing = new Uint8Array(0);

export function emptyRange(): ByteRange {
  return { source: nothing, from: 0, to: 0 };
}

export function setBytes(out: ByteRange, source: Uint8Array, from: number, to: number): void {
  out.source = source;
  out.from = from;
  out.to = to;
}

export function setText(out: ByteRange, text: string): void {
  const source = toBytes(text);
  setBytes(out, source, 0, source.length);
}

/** Cuts the text to `charsMax` characters; true when it was longer. Reads no more bytes than so many can have. */
export function cutText(out: ByteRange, charsMax: number): boolean {
  if (out.to - out.from <= charsMax) return false;
  const end = Math.min(out.to, out.from + 4 * (charsMax + 1));
  const characters = [...decodeText(out.source, out.from, end)];
  if (characters.length <= charsMax) return false;
  setText(out, characters.slice(0, charsMax).join(""));
  return true;
}

export function sameBytes(left: ByteRange, right: ByteRange): boolean {
  if (left.to - left.from !== right.to - right.from) return false;
  for (let i = left.to - left.from - 1; i >= 0; i--) {
    if (left.source[left.from + i] !== right.source[right.from + i]) return false;
  }
  return true;
}

export function rangeText({ source, from, to }: ByteRange): string {
  return decodeText(source, from, to);
}

/** Reads a raw text's content; false when it is not a text or is empty. */
export function readString(bytes: Uint8Array, from: number, to: number, out: ByteRange): boolean {
  if (bytes[from] !== 0x22 || to - from <= 2) return false;
  for (let at = from + 1; at < to - 1; at++) {
    if (bytes[at] !== 0x5c) continue;
    setText(out, JSON.parse(decodeText(bytes, from, to)) as string);
    return out.to > 0;
  }
  setBytes(out, bytes, from + 1, to - 1);
  return true;
}

/** Appends the content of a text with escapes, in UTF-8; [from, to) is without its quotes. */
export function appendText(bytes: Uint8Array, from: number, to: number, out: ByteColumn): void {
  // No escape is shorter than its character.
  out.reserve(to - from);
  const text = out.bytes;
  let end = out.length;
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (byte !== 0x5c) {
      text[end++] = byte;
      continue;
    }
    const letter = bytes[++at]!;
    if (letter !== 0x75) {
      text[end++] = shortEscapes[letter] || letter;
      continue;
    }
    let code = hexAt(bytes, at + 1);
    at += 4;
    if (code >= 0xd800 && code <= 0xdfff) {
      const paired = code < 0xdc00 && bytes[at + 1] === 0x5c && bytes[at + 2] === 0x75;
      const low = paired ? hexAt(bytes, at + 3) : 0;
      const whole = low >= 0xdc00 && low <= 0xdfff;
      code = whole ? ((code - 0xd800) << 10) + low - 0xdc00 + 0x10000 : 0xfffd;
      if (whole) at += 6;
    }
    end = putCode(code, text, end);
  }
  out.length = end;
}

/** The character of the letter after a backslash; 0 for the letter itself. */
const shortEscapes = new Uint8Array(256);
for (const [letter, code] of Object.entries({ b: 8, f: 12, n: 10, r: 13, t: 9 })) {
  shortEscapes[letter.charCodeAt(0)] = code;
}

function hexAt(bytes: Uint8Array, at: number): number {
  const digit = (i: number) => hexValue[bytes[at + i]!]!;
  return (digit(0) << 12) | (digit(1) << 8) | (digit(2) << 4) | digit(3);
}

/** Writes a character as UTF-8; returns the end. */
function putCode(code: number, text: Uint8Array, from: number): number {
  if (code < 0x80) {
    text[from] = code;
    return from + 1;
  }
  const more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  text[from] = ((0xf0 << (3 - more)) & 0xff) | (code >> (6 * more));
  for (let i = 1; i <= more; i++) text[from + i] = 0x80 | ((code >> (6 * (more - i))) & 0x3f);
  return from + more + 1;
}

/** Reads a raw list or object without white space between its parts, cut at the length of a distinct id. */
export function readCompact(bytes: Uint8Array, from: number, to: number, out: ByteRange): void {
  // A distinct id has no more bytes than this; a longer text is cut.
  const text = new Uint8Array(Math.min(to - from, 4 * (captureLimits.distinctIdCharsMax + 1)));
  let length = 0;
  let quoted = false;
  for (let at = from; at < to && length < text.length; at++) {
    const byte = bytes[at]!;
    if (!quoted && byte <= 0x20) continue;
    if (byte === 0x22) quoted = !quoted;
    text[length++] = byte;
    if (byte === 0x5c && length < text.length) text[length++] = bytes[++at]!;
  }
  setBytes(out, text, 0, length);
}

/** The raw value of a member of the object at `from`, the last of that name; undefined without one. */
export function readMember(bytes: Uint8Array, from: number, name: Uint8Array): [number, number] | undefined {
  let found: [number, number] | undefined;
  const members = new JsonCursor(bytes, from);
  while (members.next()) {
    const { key, keyEnd, value, end } = members;
    if (isTextAt(bytes, key, keyEnd, name)) found = [value, end];
  }
  return found;
}
