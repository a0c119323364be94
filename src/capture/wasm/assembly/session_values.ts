// Reads what a session needs of an event's properties, and whether the engine's reader surely sees the same.

import { backslash, blanks, byte, isDigit, quote } from "./json";
import { cacheName, isLearned, learnedLength, learnedNext, learnedSlot, slotOf } from "./scan";

export class Seen {
  /** The text that was passed last has an escape. */
  static isEscaped: bool = false;
  /** The event must stay unread. */
  static isOdd: bool = false;
}

/** A code point in two escapes, of which this is the first, with its other half. */
function isPair(at: u32): bool {
  const high = byte(at + 3) | 0x20;
  if (high > 0x39 && high != 0x61 && high != 0x62) return false;
  const low = byte(at + 9) | 0x20;
  return (
    byte(at + 6) == backslash &&
    byte(at + 7) == 0x75 &&
    (byte(at + 8) | 0x20) == 0x64 &&
    low >= 0x63 &&
    low <= 0x66
  );
}

/** Walks from a sound text's first byte to its closing quote. */
@inline
function textEnd(from: u32): u32 {
  let at = from;
  for (;;) {
    const v = v128.load(at);
    const bits = i8x16.bitmask(v128.or(i8x16.eq(v, i8x16.splat(0x22)), i8x16.eq(v, i8x16.splat(0x5c))));
    if (bits == 0) {
      at += 16;
      continue;
    }
    at += ctz(bits);
    if (byte(at) == quote) return at;
    Seen.isEscaped = true;
    // Half of a surrogate pair makes the engine's reader refuse all of it.
    if (byte(at + 1) == 0x75 && (byte(at + 2) | 0x20) == 0x64 && byte(at + 3) > 0x37) {
      if (isPair(at)) at += 12;
      else {
        Seen.isOdd = true;
        at += 2;
      }
    } else at += 2;
  }
  return at;
}

/** The address after a valid number. Of a long one, or one with an exponent, the engine's reader may refuse all. */
@inline
function numberEnd(from: u32): u32 {
  let at = byte(from) == 0x2d ? from + 1 : from;
  const digits = at;
  while (isDigit(byte(at))) at++;
  if (at - digits > 18) Seen.isOdd = true;
  if (byte(at) == 0x2e) {
    at++;
    while (isDigit(byte(at))) at++;
    if (at - digits > 40) Seen.isOdd = true;
  }
  if ((byte(at) | 0x20) == 0x65) Seen.isOdd = true;
  return at;
}

/** The address after a valid list or object. */
function nestedEnd(from: u32): u32 {
  let depth = 0;
  let at = from;
  do {
    const c = byte(at);
    if (c == quote) at = textEnd(at + 1) + 1;
    else if (c == 0x2d || isDigit(c)) at = numberEnd(at);
    else {
      if (c == 0x7b || c == 0x5b) depth++;
      else if (c == 0x7d || c == 0x5d) depth--;
      at++;
    }
  } while (depth > 0);
  return at;
}

/** Whether `"$session_id"` occurs anywhere between. */
export function namesSession(from: u32, to: u32): bool {
  for (let at = from; at < to; at += 16) {
    const v = i8x16.eq(v128.load(at), i8x16.splat(0x22));
    const w = i8x16.eq(v128.load(at, 1), i8x16.splat(0x24));
    let bits = i8x16.bitmask(v128.and(v, w));
    while (bits != 0) {
      const opening = at + ctz(bits);
      // $session, _id"
      if (load<u64>(opening, 1) == 0x6e6f697373657324 && load<u32>(opening, 9) == 0x2264695f && opening + 13 <= to)
        return true;
      bits &= bits - 1;
    }
  }
  return false;
}

/** Records the values of an event's properties that a session needs at FOLD_VALUES, each as its address and length. */
export function readProperties(from: u32, to: u32): void {
  Seen.isOdd = byte(from) != 0x7b;
  let had: u32 = 0;
  memory.fill(FOLD_VALUES, 0, FOLD_NAMES * 8);
  if (Seen.isOdd) return;
  let at = blanks(from + 1);
  let next: u32 = LEARNED_FIRST;
  while (byte(at) == quote) {
    const name = at + 1;
    const known = load<u32>(next);
    let slot: i32;
    if (isLearned(known, name)) {
      next = known + learnedNext;
      slot = load<i32>(known, learnedSlot);
      at = name + load<u32>(known, learnedLength) + 2;
    } else {
      Seen.isEscaped = false;
      at = textEnd(name);
      // A name that is written with escapes may be one that is read here.
      if (Seen.isEscaped) Seen.isOdd = true;
      const size = at - name;
      if (size > LEARNED_LENGTH_MAX || Seen.isEscaped || byte(at + 1) != 0x3a) slot = slotOf(PROPERTY_KEYS, name, size);
      else {
        const learned = cacheName(PROPERTY_KEYS, name, size);
        store<u32>(next, learned);
        next = learned + learnedNext;
        slot = load<i32>(learned, learnedSlot);
      }
      at = blanks(at + 1) + 1;
    }
    at = blanks(at);
    const value = at;
    const first = byte(at);
    Seen.isEscaped = false;
    if (first == quote) at = textEnd(at + 1) + 1;
    else if (first == 0x7b || first == 0x5b) at = nestedEnd(at);
    else if (first == 0x2d || isDigit(first)) at = numberEnd(at);
    else at += first == 0x66 ? 5 : 4;
    if (slot >= 0) {
      const bit: u32 = 1 << slot;
      if ((had & bit) != 0) Seen.isOdd = true;
      had |= bit;
      const pair = FOLD_VALUES + ((<u32>slot) << 3);
      if (first == quote && <u32>slot != FOLD_LCP) {
        if (Seen.isEscaped) Seen.isOdd = true;
        store<u32>(pair, value + 1);
        store<u32>(pair, at - value - 2, 4);
      } else if (<u32>slot == FOLD_LCP && (first == 0x2d || isDigit(first))) {
        store<u32>(pair, value);
        store<u32>(pair, at - value, 4);
      } else if (first != 0x6e) Seen.isOdd = true;
    }
    at = blanks(at);
    if (byte(at) == 0x2c) at = blanks(at + 1);
    if (at >= to) break;
  }
  if (byte(at) != 0x7d || at + 1 != to) Seen.isOdd = true;
}

@inline
export function valueAt(slot: u32): u32 {
  return load<u32>(FOLD_VALUES + (slot << 3));
}

@inline
export function valueLength(slot: u32): u32 {
  return load<u32>(FOLD_VALUES + (slot << 3), 4);
}
