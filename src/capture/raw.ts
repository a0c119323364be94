// Raw JSON whose grammar the scan has checked already: passing over it, and reading texts out of it. Never checks
// it again.

import { limits } from "../core/limits.ts";
import { type Span, setText } from "./span.ts";

const decoder = new TextDecoder();

export function pastBlanks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at]! <= 0x20) at++;
  return at;
}

/** From a text's opening quote to behind its closing one. */
export function pastString(bytes: Uint8Array, from: number): number {
  let at = from + 1;
  while (bytes[at] !== 0x22) at += bytes[at] === 0x5c ? 2 : 1;
  return at + 1;
}

/** From a value's first byte to behind its last. */
export function pastValue(bytes: Uint8Array, from: number): number {
  const first = bytes[from];
  if (first === 0x22) return pastString(bytes, from);
  let at = from;
  if (first !== 0x7b && first !== 0x5b) {
    while (inScalar(bytes[at]!)) at++;
    return at;
  }
  let depth = 0;
  do {
    const byte = bytes[at];
    if (byte === 0x22) at = pastString(bytes, at) - 1;
    else if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) depth--;
    at++;
  } while (depth > 0);
  return at;
}

/** Anything but a comma, a closing bracket and white space. */
function inScalar(byte: number): boolean {
  return byte > 0x20 && byte !== 0x2c && byte !== 0x7d && byte !== 0x5d;
}

/** A raw text's content; false when it is no text or empty. */
export function readString(bytes: Uint8Array, from: number, to: number, out: Span): boolean {
  if (bytes[from] !== 0x22 || to - from <= 2) return false;
  for (let at = from + 1; at < to - 1; at++) {
    if (bytes[at] === 0x5c) return unescapeString(bytes, from, to, out);
  }
  out.source = bytes;
  out.from = from + 1;
  out.to = to - 1;
  return true;
}

function unescapeString(bytes: Uint8Array, from: number, to: number, out: Span): boolean {
  setText(out, JSON.parse(decoder.decode(bytes.subarray(from, to))) as string);
  return out.to > 0;
}

/** A text, or where told a number, that may name a group or its type; false when it cannot. */
export function readKey(bytes: Uint8Array, from: number, out: Span, mayBeNumber: boolean): boolean {
  const to = pastValue(bytes, from);
  if (to - from > 4 * limits.groupKeyCharsMax) return false;
  if (bytes[from] === 0x22) return readString(bytes, from, to, out);
  const number = bytes[from] === 0x2d || (bytes[from]! >= 0x30 && bytes[from]! <= 0x39);
  if (!number || !mayBeNumber) return false;
  out.source = bytes;
  out.from = from;
  out.to = to;
  return true;
}
