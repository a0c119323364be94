// Reads what plain events say of their persons and groups, read as event/identity.ts and fields/changes.ts do. An event
// with an unknown group type, with escaped keys, or with more changes than are stored is not plain.

import { Last, blanks, byte, isDigit, isUnescaped, pastString, quote, skip } from "./json";
import { end } from "./scan";
import { hashOf, sameText } from "./values";

/** Counts of what the events of this slice say. */
export class IdentityCounts {
  /** 1 when any of them changes a person or group, or belongs to a group. */
  static any: u32 = 0;
  /** Changes and groups listed, and keys numbered. */
  static changes: u32 = 0;
  static groups: u32 = 0;
  static keys: u32 = 0;
  static typesWritten: bool = false;
}

/** Starts of the open event's lists, the bytes of its changes, and the group types that it has named (bits). */
let changesFrom: u32 = 0;
let groupsFrom: u32 = 0;
let changedBytes: u32 = 0;
let typesNamed: u32 = 0;
/** The first of its groups is the one whose properties it sets. */
let identified: bool = false;

/** The number of a property's key within this slice; KEYS_MAX when there are too many. */
function keyNumber(from: u32, length: u32): u32 {
  const hash = hashOf(from, length);
  let slot = (hash ^ (hash >>> 15)) & (KEY_SLOTS - 1);
  for (let tries = 0; tries < 32; tries++) {
    const number = <u32>load<u16>(KEY_TABLE + (slot << 1));
    if (number == 0) {
      if (IdentityCounts.keys == KEYS_MAX) return KEYS_MAX;
      store<u16>(KEY_TABLE + (slot << 1), <u16>(IdentityCounts.keys + 1));
      store<u32>(KEY_LIST + (IdentityCounts.keys << 3), from - BODY);
      store<u32>(KEY_LIST + (IdentityCounts.keys << 3), length, 4);
      return IdentityCounts.keys++;
    }
    const known = KEY_LIST + ((number - 1) << 3);
    if (load<u32>(known, 4) == length && sameText(load<u32>(known) + BODY, from, length)) return number - 1;
    slot = (slot + 1) & (KEY_SLOTS - 1);
  }
  return KEYS_MAX;
}

/** A set and an unset of one key are one change: the later. */
function sameKind(a: u32, b: u32): bool {
  return (a == OP_UNSET ? OP_SET : a) == (b == OP_UNSET ? OP_SET : b);
}

/** Lists a change of a key, without its quotes; the later of two of one key and kind counts. False: not plain. */
function change(op: u32, key: u32, length: u32, value: u32, size: u32): bool {
  changedBytes += length + 2 + size;
  if (length > KEY_BYTES_MAX || changedBytes > CHANGES_BYTES_MAX) return false;
  if (IdentityCounts.changes - changesFrom == CHANGES_MAX) return false;
  const number = keyNumber(key, length);
  if (number == KEYS_MAX) return false;
  // Place where this key was listed last, if the present event listed it; these entries need not be cleared.
  const seen = KEY_SEEN + ((op == OP_UNSET ? OP_SET : op) * KEYS_MAX + number) * 4;
  let change = load<u32>(seen);
  let entry = CHANGES + change * 12;
  const again =
    change >= changesFrom &&
    change < IdentityCounts.changes &&
    <u32>load<u16>(entry, 8) == number &&
    sameKind(<u32>load<u16>(entry, 10), op);
  if (!again) {
    change = IdentityCounts.changes++;
    entry = CHANGES + change * 12;
    store<u32>(seen, change);
    store<u16>(entry, <u16>number, 8);
  }
  store<u32>(entry, value);
  store<u32>(entry, size, 4);
  store<u16>(entry, <u16>op, 10);
  return true;
}

/** Every member of the object that begins at `from` is a change. */
function changesOf(from: u32, op: u32): bool {
  let at = blanks(from + 1);
  while (byte(at) == quote) {
    const key = at + 1;
    Last.escaped = false;
    at = pastString(key);
    if (Last.escaped) return false;
    const length = at - key;
    at = blanks(at + 1);
    const value = blanks(at + 1);
    at = skip(value, 0);
    if (!change(op, key, length, value, op == OP_UNSET ? 0 : at - value)) return false;
    at = blanks(at);
    if (byte(at) == 0x2c) at = blanks(at + 1);
  }
  return true;
}

/** Every text of the list that begins at `from` is a key that is unset. */
function unsetsOf(from: u32): bool {
  let at = blanks(from + 1);
  while (byte(at) != 0x5d) {
    const isText = byte(at) == quote;
    const key = at + 1;
    Last.escaped = false;
    at = skip(at, 0);
    if (at == 0 || (isText && (Last.escaped || !change(OP_UNSET, key, at - key - 1, key, 0)))) return false;
    at = blanks(at);
    if (byte(at) == 0x2c) at = blanks(at + 1);
  }
  return true;
}

function valueAt(entry: u32, slot: u32): u32 {
  return load<u32>(entry + (slot << 2)) + BODY;
}

export function isObject(entry: u32, slot: u32): bool {
  return end(entry, slot) != 0 && byte(valueAt(entry, slot)) == 0x7b;
}

/** There, and neither an object nor null: a warning says so. */
function isNoObject(entry: u32, slot: u32): bool {
  return end(entry, slot) != 0 && byte(valueAt(entry, slot)) != 0x7b && byte(valueAt(entry, slot)) != 0x6e;
}

function sets(entry: u32, slot: u32, op: u32): bool {
  return !isObject(entry, slot) || changesOf(valueAt(entry, slot), op);
}

function unsets(entry: u32, slot: u32): bool {
  if (end(entry, slot) == 0) return true;
  const from = valueAt(entry, slot);
  if (byte(from) == 0x7b) return changesOf(from, OP_UNSET);
  return byte(from) != 0x5b || unsetsOf(from);
}

/** Has the server write the project's group types to GROUP_TYPES: called once a slice, when an event names a group. */
@external("env", "writeTypes")
declare function writeTypes(): void;

/** Lists a group, its key as a raw value; a type that is not known, or named again, is unusual. */
function group(type: u32, typeLength: u32, key: u32, size: u32): bool {
  if (!IdentityCounts.typesWritten) writeTypes();
  IdentityCounts.typesWritten = true;
  const known = load<u32>(GROUP_TYPES);
  for (let number: u32 = 0; number < known; number++) {
    const typeAt = GROUP_TYPES + 16 + number * GROUP_TYPE_BYTES;
    if (load<u32>(typeAt) != typeLength || !sameText(typeAt + 16, type, typeLength)) continue;
    if ((typesNamed & (1 << number)) != 0) {
      // The group whose properties the event sets counts, whichever groups it belongs to.
      return identified && <u32>load<u16>(GROUPS + groupsFrom * 12, 8) == number;
    }
    typesNamed |= 1 << number;
    const isText = byte(key) == quote;
    const entry = GROUPS + IdentityCounts.groups * 12;
    store<u32>(entry, isText ? key + 1 : key);
    store<u32>(entry, isText ? size - 2 : size, 4);
    store<u16>(entry, <u16>number, 8);
    IdentityCounts.groups++;
    return true;
  }
  return false;
}

export function isNumber(c: u8): bool {
  return c == 0x2d || isDigit(c);
}

/** The groups in the object that begins at `from`. */
function attached(from: u32): bool {
  let at = blanks(from + 1);
  for (let members: u32 = 0; byte(at) == quote; members++) {
    if (members == GROUP_MEMBERS_MAX) return false;
    const type = at + 1;
    Last.escaped = false;
    at = pastString(type);
    const typeLength = at - type;
    at = blanks(at + 1);
    const key = blanks(at + 1);
    at = skip(key, 0);
    const size = at - key;
    if (Last.escaped || typeLength > GROUP_TYPE_LENGTH_MAX || size > GROUP_KEY_BYTES_MAX) return false;
    const isKey = byte(key) == quote ? size > 2 : isNumber(byte(key));
    if (isKey && typeLength > 0 && !group(type, typeLength, key, size)) return false;
    at = blanks(at);
    if (byte(at) == 0x2c) at = blanks(at + 1);
  }
  return true;
}

/** Whether a `$groupidentify` event has all it needs; lists its group. */
function identifiesGroup(entry: u32): bool {
  if (end(entry, FIELD_GROUP_TYPE) == 0 || end(entry, FIELD_GROUP_KEY) == 0) return false;
  if (!isObject(entry, FIELD_GROUP_SET)) return false;
  const type = valueAt(entry, FIELD_GROUP_TYPE);
  const typeEnd = end(entry, FIELD_GROUP_TYPE) + BODY;
  const key = valueAt(entry, FIELD_GROUP_KEY);
  const keyEnd = end(entry, FIELD_GROUP_KEY) + BODY;
  if (byte(type) != quote || typeEnd - type < 3 || typeEnd - type - 2 > GROUP_TYPE_LENGTH_MAX) return false;
  if (byte(key) == quote ? keyEnd - key < 3 : !isNumber(byte(key))) return false;
  if (keyEnd - key > GROUP_KEY_CHARS_MAX) return false;
  if (!isUnescaped(type, typeEnd) || !isUnescaped(key, keyEnd)) return false;
  if (!group(type + 1, typeEnd - type - 2, key, keyEnd - key)) return false;
  identified = true;
  return true;
}

/** Whether an `$identify` event sets something and merges nothing. */
function identifies(entry: u32): bool {
  if (end(entry, FIELD_ANON_DISTINCT_ID) != 0) {
    const other = valueAt(entry, FIELD_ANON_DISTINCT_ID);
    const size = end(entry, FIELD_ANON_DISTINCT_ID) + BODY - other;
    if (byte(other) != 0x6e && (byte(other) != quote || size != 2)) return false;
  }
  if (isNoObject(entry, FIELD_SET) || isNoObject(entry, FIELD_OWN_SET)) return false;
  return isObject(entry, FIELD_SET) || isObject(entry, FIELD_OWN_SET);
}

/** Lists what one event says, under `nth`; false when it is not plain, and then it may have been listed in part. */
function listIdentity(entry: u32, nth: u32, named: i32, profile: u32): bool {
  changedBytes = 0;
  typesNamed = 0;
  identified = false;
  const personless = profile == GRADE_EMPTY;
  if (named >= NAMED_IDENTIFY) {
    if (personless) return false;
    if (named == NAMED_IDENTIFY ? !identifies(entry) : !identifiesGroup(entry)) return false;
  }
  if (isObject(entry, FIELD_GROUPS) && !attached(valueAt(entry, FIELD_GROUPS))) return false;
  if (!personless && !identified && named != NAMED_IMPERSONAL) {
    if (!sets(entry, FIELD_SET_ONCE, OP_ONCE) || !sets(entry, FIELD_OWN_SET_ONCE, OP_ONCE)) return false;
    if (!sets(entry, FIELD_SET, OP_SET) || !sets(entry, FIELD_OWN_SET, OP_SET)) return false;
    if (!unsets(entry, FIELD_UNSET) || !unsets(entry, FIELD_OWN_UNSET)) return false;
  }
  if (identified && !changesOf(valueAt(entry, FIELD_GROUP_SET), OP_GROUP)) return false;
  const who = WHO + (nth << 4);
  store<u32>(who, changesFrom);
  store<u32>(who, groupsFrom, 4);
  store<u16>(who, <u16>(IdentityCounts.changes - changesFrom), 8);
  store<u8>(who, <u8>(IdentityCounts.groups - groupsFrom), 10);
  store<u8>(who, <u8>(identified ? MODE_GROUP : personless ? MODE_PERSONLESS : MODE_FULL), 11);
  return true;
}

/** Whether the event has such a member, and its properties have one too: they are merged the slow way. */
function isTwofold(entry: u32, own: u32, inner: u32): bool {
  return isObject(entry, own) && end(entry, inner) != 0;
}

/** Whether an entry is plain; lists what it says, and nothing of one that is not plain. */
export function judgeIdentity(entry: u32, nth: u32, named: i32, profile: u32): bool {
  if (isTwofold(entry, FIELD_OWN_SET, FIELD_SET)) return false;
  if (isTwofold(entry, FIELD_OWN_SET_ONCE, FIELD_SET_ONCE)) return false;
  changesFrom = IdentityCounts.changes;
  groupsFrom = IdentityCounts.groups;
  if (listIdentity(entry, nth, named, profile)) return true;
  IdentityCounts.changes = changesFrom;
  IdentityCounts.groups = groupsFrom;
  return false;
}
