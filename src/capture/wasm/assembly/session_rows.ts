// The rows of folded sessions, found by session and distinct id, and their texts.

import { byte, hex } from "./json";
import * as Row from "./session_row";
import { valueAt, valueLength } from "./session_values";
import { copy, mixText, sameText } from "./values";

/** The rows folded so far. */
export class Fold {
  static rowCount: u32 = 0;
  static eventCount: u32 = 0;
  /** End of the last text. */
  static textsEnd: u32 = FOLD_TEXTS;
  static seed: u64 = 0;
}

/** Forgets all rows. */
export function clear(): void {
  memory.fill(FOLD_SLOTS, 0, FOLD_SLOTS_MAX * 4);
  Fold.rowCount = 0;
  Fold.eventCount = 0;
  Fold.textsEnd = FOLD_TEXTS;
}

/** murmur's finalizer, with which the engine hashes numbers. */
@inline
export function mixed(value: u64): u64 {
  let x = value;
  x ^= x >>> 33;
  x *= 0xff51afd7ed558ccd;
  x ^= x >>> 33;
  x *= 0xc4ceb9fe1a85ec53;
  return x ^ (x >>> 33);
}

/** The moment of a UUIDv7, in microseconds; -1 of any other id. */
function readMoment(id: u32, size: u32): i64 {
  if (size != 36 || byte(id + 8) != 0x2d || byte(id + 13) != 0x2d || byte(id + 14) != 0x37) return -1;
  const first = <i64>hex(id);
  const second = <i64>hex(id + 4);
  const third = <i64>hex(id + 9);
  return (first | second | third) < 0 ? -1 : ((first << 32) | (second << 16) | third) * 1000;
}

/** The row of a session and distinct id, which is made when there is none; 0 when its slots are crowded. */
@inline
export function rowOf(ofProject: u32, session: u32, sessionSize: u32, id: u32, idSize: u32): u32 {
  const hash = mixText(mixText(Fold.seed ^ <u64>ofProject, session, sessionSize), id, idSize);
  let slot = <u32>(mixed(hash) & (FOLD_SLOTS_MAX - 1));
  for (let probes: u32 = 0; probes < FOLD_PROBES_MAX; probes++) {
    const number = load<u32>(FOLD_SLOTS + (slot << 2));
    if (number == 0) {
      store<u32>(FOLD_SLOTS + (slot << 2), ++Fold.rowCount);
      const at = FOLD_ROWS + (Fold.rowCount - 1) * FOLD_ROW_BYTES;
      memory.fill(at, 0, FOLD_ROW_BYTES);
      store<u64>(at, hash, Row.hashOf);
      store<i64>(at, i64.MAX_VALUE, Row.start);
      store<i64>(at, i64.MIN_VALUE, Row.last);
      store<i64>(at, i64.MIN_VALUE, Row.arrived);
      store<i64>(at, i64.MAX_VALUE, Row.created);
      store<u32>(at, ofProject, Row.project);
      store<u32>(at, Fold.textsEnd, Row.key);
      store<u32>(at, sessionSize, Row.sessionLength);
      store<u32>(at, idSize, Row.idLength);
      store<i64>(at, readMoment(session, sessionSize), Row.idMoment);
      copy(Fold.textsEnd, session, sessionSize);
      copy(Fold.textsEnd + sessionSize, id, idSize);
      Fold.textsEnd += (sessionSize + idSize + 31) & ~15;
      return at;
    }
    const at = FOLD_ROWS + (number - 1) * FOLD_ROW_BYTES;
    const own = load<u32>(at, Row.key);
    if (
      load<u64>(at, Row.hashOf) == hash &&
      load<u32>(at, Row.project) == ofProject &&
      load<u32>(at, Row.sessionLength) == sessionSize &&
      load<u32>(at, Row.idLength) == idSize &&
      sameText(own, session, sessionSize) &&
      sameText(own + sessionSize, id, idSize)
    ) {
      return at;
    }
    slot = (slot + 1) & (FOLD_SLOTS_MAX - 1);
  }
  return 0;
}

/** Whether the first text is the greater one, byte by byte. */
function isGreater(a: u32, aLength: u32, b: u32, bLength: u32): bool {
  const least = min(aLength, bLength);
  for (let i: u32 = 0; i < least; i++) {
    if (byte(a + i) != byte(b + i)) return byte(a + i) > byte(b + i);
  }
  return aLength > bLength;
}

/** Replaces a row's text by one of this moment, if that counts: it lies after all texts, or elsewhere. */
@inline
export function replace(text: u32, micros: i64, from: u32, size: u32, isEarliest: bool): void {
  const had = load<u32>(text, Row.textLength);
  if (had != 0) {
    const moment = load<i64>(text);
    if (micros == moment) {
      if (!isGreater(from, size, load<u32>(text, Row.textAt), had)) return;
    } else if (micros < moment != isEarliest) return;
  }
  store<i64>(text, micros);
  store<u32>(text, size, Row.textLength);
  if (load<u32>(text, Row.textCapacity) >= size) {
    copy(load<u32>(text, Row.textAt), from, size);
    return;
  }
  // With some bytes more: the next one is likely to be as long.
  const capacity = (size + 47) & ~15;
  if (from != Fold.textsEnd) copy(Fold.textsEnd, from, size);
  store<u32>(text, Fold.textsEnd, Row.textAt);
  store<u32>(text, capacity, Row.textCapacity);
  Fold.textsEnd += capacity;
}

/** Writes the text of an entry after all texts; returns its length. */
@inline
export function writeEntry(): u32 {
  let at = Fold.textsEnd;
  for (let slot: u32 = 1; slot <= 3; slot++) {
    if (slot > 1) store<u8>(at++, 0);
    copy(at, valueAt(slot), valueLength(slot));
    at += valueLength(slot);
  }
  let any: u32 = 0;
  for (let slot = FOLD_ADS; slot < FOLD_NAMES; slot++) any |= valueLength(slot);
  if (any != 0) {
    for (let slot = FOLD_ADS; slot < FOLD_NAMES; slot++) {
      store<u8>(at++, 0);
      copy(at, valueAt(slot), valueLength(slot));
      at += valueLength(slot);
    }
  }
  return at - Fold.textsEnd;
}
