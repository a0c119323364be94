// The scan of plain items: writes the same index as body_scanner.ts. Any other item is left to it.

import { Last, blanks, byte, isDigit, pastString, quote, skip } from "./json";
import { repeatsKey } from "./repeats";
import { hashOf, mixName, mixText, sameText } from "./values";

/** The project keys of the open item: its own and the one in its properties, [from, to). */
export class KeyRanges {
  static ownFrom: u32 = 0;
  static ownTo: u32 = 0;
  static innerFrom: u32 = 0;
  static innerTo: u32 = 0;
}

/** The shape of an event without properties; 0 means one that was scanned elsewhere. */
export const noNames: u64 = 1;

/**
 * Names that were met, each with its slot and the hash of its text, so that a name is compared and no more; and the one
 * that came next, since most events of a sender have the same names in the same order. A name that another one has
 * replaced is learned anew.
 */
const learnedUnwanted: u32 = 32;
export const learnedLength: u32 = 36;
export const learnedSlot: u32 = 40;
export const learnedNext: u32 = 44;
const learnedHash: u32 = 48;

/** Whether a learned name is at `from`, followed by its closing quote and a colon. */
@inline
export function isLearned(name: u32, from: u32): bool {
  const low = i8x16.bitmask(i8x16.eq(v128.load(from), v128.load(name)));
  const high = i8x16.bitmask(i8x16.eq(v128.load(from, 16), v128.load(name, 16)));
  return ((<u32>low) | ((<u32>high) << 16) | load<u32>(name, learnedUnwanted)) == 0xffffffff;
}

/** The address of a name among those that were learned: there already, or learned now. */
export function cacheName(table: u32, from: u32, length: u32): u32 {
  const number = (hashOf(from, length) & (LEARNED_MAX - 1)) + (table == PROPERTY_KEYS ? LEARNED_MAX : 0);
  const name = LEARNED + number * LEARNED_BYTES;
  const wanted: u32 = ((1 << (length + 1)) << 1) - 1;
  if (load<u32>(name, learnedUnwanted) == ~wanted && isLearned(name, from)) return name;
  v128.store(name, v128.load(from));
  v128.store(name, v128.load(from, 16), 16);
  store<u32>(name, ~wanted, learnedUnwanted);
  store<u32>(name, length, learnedLength);
  store<i32>(name, slotOf(table, from, length), learnedSlot);
  store<u32>(name, 0, learnedNext);
  store<u64>(name, mixText(0, from, length), learnedHash);
  return name;
}

/** The slot of a key: by its length and second byte to the names there are, then by their bytes. */
@inline
export function slotOf(table: u32, from: u32, length: u32): i32 {
  if (length > KEY_LENGTH_MAX) return NO_SLOT;
  let number = <u32>load<u8>(table + (length << 8) + <u32>byte(from + 1));
  while (number != 0) {
    const name = NAMES + number * NAME_BYTES;
    const low = i8x16.bitmask(i8x16.eq(v128.load(from), v128.load(name, 16)));
    const high = i8x16.bitmask(i8x16.eq(v128.load(from, 16), v128.load(name, 32)));
    const wanted: u32 = length >= 32 ? 0xffffffff : (1 << length) - 1;
    if ((((<u32>low) | ((<u32>high) << 16)) & wanted) == wanted) return load<i32>(name);
    number = load<u32>(name, 4);
  }
  return NO_SLOT;
}

@inline
function grade(kind: u8, first: u8, size: u32): u32 {
  const isText = kind == KIND_TEXT || kind == KIND_TEXT_OR_NUMBER;
  if (first == quote && isText) return size > 2 ? GRADE_SOUND : GRADE_EMPTY;
  if (first == 0x6e) return GRADE_ABSENT;
  if (kind == KIND_OBJECT) return first == 0x7b ? GRADE_SOUND : GRADE_WRONG;
  if (kind == KIND_FLAG) return first == 0x74 ? GRADE_SOUND : first == 0x66 ? GRADE_EMPTY : GRADE_WRONG;
  return kind == KIND_TEXT_OR_NUMBER && (first == 0x2d || isDigit(first)) ? GRADE_SOUND : GRADE_WRONG;
}

@inline
export function recordMember(entry: u32, slot: i32, first: u8, from: u32, to: u32): void {
  if (slot >= FIRST_COLUMN) {
    store<u32>(entry + ((COLUMNS_AT + <u32>(slot - FIRST_COLUMN)) << 2), from - BODY);
    return;
  }
  if (slot >= FIRST_TRAIT) {
    const which = <u32>(slot - FIRST_TRAIT);
    if (which < TRAIT_COLUMNS) store<u32>(entry + ((COLUMNS_AT + which) << 2), from - BODY);
    const traits = entry + (FIELD_TRAITS << 2);
    const others = load<u32>(traits) & ~((<u32>3) << (which << 1));
    store<u32>(traits, others | (grade(byte(TRAIT_KINDS + which), first, to - from) << (which << 1)));
    return;
  }
  store<u32>(entry + ((<u32>slot) << 2), from - BODY);
  store<u32>(entry + ((<u32>slot) << 2), to - BODY, 4);
  if (slot >= FIRST_IDENTITY) store<u32>(entry + (FIELD_IDENTITY << 2), 1);
}

/** The address after an object's closing bracket, its members recorded in `entry`; 0 when anything is unusual. */
export function members(table: u32, from: u32, depth: u32, entry: u32): u32 {
  let at = blanks(from + 1);
  if (byte(at) == 0x7d) return at + 1;
  let shape = noNames;
  let next: u32 = table == PROPERTY_KEYS ? LEARNED_FIRST + 4 : LEARNED_FIRST;
  for (;;) {
    if (byte(at) != quote) return 0;
    const key = at + 1;
    let name = load<u32>(next);
    let slot: i32;
    let hash: u64;
    if (isLearned(name, key)) {
      next = name + learnedNext;
      slot = load<i32>(name, learnedSlot);
      hash = load<u64>(name, learnedHash);
      at = blanks(key + load<u32>(name, learnedLength) + 2);
    } else {
      Last.escaped = false;
      at = pastString(key);
      if (at == 0 || Last.escaped) return 0;
      const length = at - key;
      at = blanks(at + 1);
      if (byte(at) != 0x3a) return 0;
      if (length > LEARNED_LENGTH_MAX || at != key + length + 1) {
        slot = slotOf(table, key, length);
        hash = mixText(0, key, length);
      } else {
        name = cacheName(table, key, length);
        store<u32>(next, name);
        next = name + learnedNext;
        slot = load<i32>(name, learnedSlot);
        hash = load<u64>(name, learnedHash);
      }
      at = blanks(at + 1);
    }
    const first = byte(at);
    const start = at;
    if (table == PROPERTY_KEYS) shape = mixName(shape, hash, first);
    if (slot == FIELD_PROPERTIES) {
      if (load<u32>(entry + (FIELD_PROPERTIES << 2), 4) != 0) return 0;
      at = first == 0x7b ? members(PROPERTY_KEYS, at, depth + 1, entry) : skip(at, depth);
    } else if (first == quote) {
      at = pastString(at + 1);
      if (at != 0) at++;
    } else at = skip(at, depth);
    if (at == 0) return 0;
    if (slot == KEY_SLOT) {
      if (first == quote) {
        if (table == PROPERTY_KEYS) {
          KeyRanges.innerFrom = start;
          KeyRanges.innerTo = at;
        } else {
          KeyRanges.ownFrom = start;
          KeyRanges.ownTo = at;
        }
      }
    } else if (slot != NO_SLOT) recordMember(entry, slot, first, start, at);
    at = blanks(at);
    const c = byte(at);
    if (c == 0x7d) {
      if (table == PROPERTY_KEYS) store<u64>(entry + (FIELD_SHAPE << 2), shape);
      return at + 1;
    }
    if (c != 0x2c) return 0;
    at = blanks(at + 1);
  }
  return 0;
}

@inline
export function end(entry: u32, slot: u32): u32 {
  return load<u32>(entry + (slot << 2), 4);
}

/**
 * Indexes plain items from `from` on, about up to `goal`: each an object with a name and an id, and no other key
 * than the one known, [keyFrom, keyTo). Stops before the first that is none, or before the closing bracket.
 * @returns where it stopped; COUNT is how many entries it wrote from entry `count` on, EXPECTS is whether the last
 *   had a comma behind it.
 */
export function scan(
  from: u32,
  goal: u32,
  count: u32,
  countMax: u32,
  ordinal: u32,
  keyFrom: u32,
  keyTo: u32,
): u32 {
  let at = blanks(from);
  let done: u32 = 0;
  let expects: u32 = 0;
  while (at < goal && count + done < countMax && byte(at) == 0x7b) {
    const entry = ENTRIES + (count + done) * ENTRY_BYTES;
    for (let at: u32 = 0; at < ENTRY_BYTES; at += 16) v128.store(entry + at, i64x2.splat(0));
    store<u64>(entry + (FIELD_SHAPE << 2), noNames);
    KeyRanges.ownTo = 0;
    KeyRanges.innerTo = 0;
    Last.names = 0;
    const to = members(ITEM_KEYS, at, 2, entry);
    if (to == 0 || repeatsKey(entry)) break;
    if (KeyRanges.ownTo == 0) {
      KeyRanges.ownFrom = KeyRanges.innerFrom;
      KeyRanges.ownTo = KeyRanges.innerTo;
    }
    if (KeyRanges.ownTo != 0) {
      const length = KeyRanges.ownTo - KeyRanges.ownFrom;
      if (length != keyTo - keyFrom || !sameText(KeyRanges.ownFrom, keyFrom, length)) break;
    }
    if (end(entry, FIELD_EVENT) == 0) break;
    if (end(entry, FIELD_DISTINCT_ID) + end(entry, FIELD_PROPERTIES_DISTINCT_ID) == 0) break;
    let next = blanks(to);
    const c = byte(next);
    if (c == 0x2c) next = blanks(next + 1);
    else if (c != 0x5d) break;
    store<u32>(entry, at - BODY);
    store<u32>(entry, to - BODY, 4);
    store<u32>(entry + (FIELD_ORDINAL << 2), ordinal + done);
    at = next;
    done++;
    expects = c == 0x2c ? 1 : 0;
    if (expects == 0) break;
  }
  store<u32>(COUNT, done);
  store<u32>(EXPECTS, expects);
  return at;
}
