// JSON, checked while it is skipped: strings, numbers, nested values. 0 for malformed ones and those written in an
// unusual way.

import { mixText } from "./values";

export const quote: u8 = 0x22;
export const backslash: u8 = 0x5c;

/** State of what was read last. */
export class Last {
  /** The string has an escape. */
  static escaped: bool = false;
  /** A hash of the names in nested objects, and of where these begin, since it was cleared. */
  static names: u64 = 0;
}

@inline
export function byte(at: u32): u8 {
  return load<u8>(at);
}

@inline
export function blanks(from: u32): u32 {
  let at = from;
  while (byte(at) <= 0x20) {
    const c = byte(at);
    if (c != 0x20 && c != 0x0a && c != 0x0d && c != 0x09) break;
    at++;
  }
  return at;
}

/** Four hexadecimal digits as a number; -1 when one is not a digit. */
export function hex(at: u32): i32 {
  let code = 0;
  for (let i: u32 = 0; i < 4; i++) {
    const c = byte(at + i);
    let digit = <i32>c - 0x30;
    if (digit < 0 || digit > 9) {
      digit = <i32>(c | 0x20) - 0x61 + 10;
      if (digit < 10 || digit > 15) return -1;
    }
    code = (code << 4) | digit;
  }
  return code;
}

/** Letters after a backslash that mean one character, as bits: below "@", and from there on. */
const simpleLow: u64 = ((<u64>1) << 0x22) | ((<u64>1) << 0x2f);
const simpleHigh: u64 =
  ((<u64>1) << 0x1c) |
  ((<u64>1) << 0x22) |
  ((<u64>1) << 0x26) |
  ((<u64>1) << 0x2e) |
  ((<u64>1) << 0x32) |
  ((<u64>1) << 0x34);

@inline
function isSimple(letter: u8): bool {
  return letter < 0x80 && (((letter < 0x40 ? simpleLow : simpleHigh) >> ((<u64>letter) & 63)) & 1) != 0;
}

/** The address after adjacent escapes that can be stored as they are; 0 where there is any other. */
function pastEscapes(from: u32): u32 {
  let at = from;
  Last.escaped = true;
  do {
    const letter = byte(at + 1);
    if (isSimple(letter)) at += 2;
    else {
      if (letter != 0x75) return 0;
      const code = hex(at + 2);
      if (code <= 0) return 0;
      if (code < 0xd800 || code > 0xdfff) at += 6;
      else {
        if (code >= 0xdc00 || byte(at + 6) != backslash || byte(at + 7) != 0x75) return 0;
        const low = hex(at + 8);
        if (low < 0xdc00 || low > 0xdfff) return 0;
        at += 12;
      }
    }
  } while (byte(at) == backslash);
  return at;
}

/** Walks from a string's first byte to its closing quote; 0 when it has none or holds what it must not. */
@inline
export function pastString(from: u32): u32 {
  let at = from;
  for (;;) {
    const v = v128.load(at);
    const special = v128.or(
      v128.or(i8x16.eq(v, i8x16.splat(0x22)), i8x16.eq(v, i8x16.splat(0x5c))),
      i8x16.lt_u(v, i8x16.splat(0x20)),
    );
    const bits = i8x16.bitmask(special);
    if (bits == 0) {
      at += 16;
      continue;
    }
    at += ctz(bits);
    const c = byte(at);
    if (c == quote) return at;
    if (c != backslash) return 0;
    at = pastEscapes(at);
    if (at == 0) return 0;
  }
  return 0;
}

/** Whether a string's bytes are its text. */
@inline
export function isUnescaped(from: u32, to: u32): bool {
  for (let at = from; at < to; at++) if (byte(at) == backslash) return false;
  return true;
}

@inline
export function isDigit(c: u8): bool {
  return <u8>(c - 0x30) < 10;
}

/** The address after a number or word; 0 when it is none. */
function pastScalar(from: u32): u32 {
  const first = byte(from);
  const four = load<u32>(from);
  if (four == 0x65757274 || four == 0x6c6c756e) return from + 4;
  if (four == 0x736c6166) return byte(from + 4) == 0x65 ? from + 5 : 0;
  let at = first == 0x2d ? from + 1 : from;
  if (byte(at) == 0x30) at++;
  else {
    if (!isDigit(byte(at))) return 0;
    while (isDigit(byte(at))) at++;
  }
  if (byte(at) == 0x2e) {
    at++;
    if (!isDigit(byte(at))) return 0;
    while (isDigit(byte(at))) at++;
  }
  if ((byte(at) | 0x20) == 0x65) {
    at++;
    if (byte(at) == 0x2b || byte(at) == 0x2d) at++;
    if (!isDigit(byte(at))) return 0;
    while (isDigit(byte(at))) at++;
  }
  return at;
}

/** Walks from a key's opening quote to its value, `depth` containers deep; 0 when there is no key. */
@inline
function pastKey(from: u32, depth: u32): u32 {
  if (byte(from) != quote) return 0;
  const end = pastString(from + 1);
  if (end == 0) return 0;
  Last.names = mixText(Last.names + depth, from + 1, end - from - 1);
  const colon = blanks(end + 1);
  return byte(colon) == 0x3a ? blanks(colon + 1) : 0;
}

/** The address after a value of any kind, `outer` containers deep; 0 when it is none, or too deep. */
export function skip(from: u32, outer: u32): u32 {
  let depth = outer;
  let at = from;
  do {
    const first = byte(at);
    if (first == quote) {
      at = pastString(at + 1);
      if (at == 0) return 0;
      at++;
    } else if (first == 0x7b || first == 0x5b) {
      if (depth >= DEPTH_MAX) return 0;
      const next = blanks(at + 1);
      if (byte(next) != first + 2) {
        store<u8>(NESTING + depth, first);
        depth++;
        if (first == 0x7b) Last.names = ~Last.names;
        at = first == 0x7b ? pastKey(next, depth) : next;
        if (at == 0) return 0;
        continue;
      }
      at = next + 1;
    } else {
      at = pastScalar(at);
      if (at == 0) return 0;
    }
    while (depth > outer) {
      at = blanks(at);
      const open = byte(NESTING + depth - 1);
      const c = byte(at);
      if (c == 0x2c) {
        at = blanks(at + 1);
        if (open == 0x7b) at = pastKey(at, depth);
        if (at == 0) return 0;
        break;
      }
      if (c != open + 2) return 0;
      depth--;
      at++;
    }
  } while (depth > outer);
  return at;
}
