// The columns of plain events: what event.ts reads into a row and block.ts appends, a slice of the index at a time. An
// event that would be altered or ignored is named as not plain.

import { IdentityCounts, isNumber, isObject, judgeIdentity } from "./identity";
import { blanks, byte, isUnescaped, quote } from "./json";
import { end, slotOf } from "./scan";
import {
  copy,
  hashOf,
  isoMicros,
  mixKind,
  mixText,
  readUuid,
  sameText,
  varuint,
  wholeNumber,
  yearOf,
} from "./values";

let nameCount: u32 = 0;
let yearCount: u32 = 0;

/** The number of an event's name within this slice; NAMES_MAX when there are too many. */
function nameNumber(from: u32, length: u32): u32 {
  const hash = hashOf(from, length);
  let slot = (hash ^ (hash >>> 15)) & (NAME_SLOTS - 1);
  for (let tries = 0; tries < 8; tries++) {
    const number = <u32>load<u8>(NAME_TABLE + slot);
    if (number == 0) {
      if (nameCount == NAMES_MAX) return NAMES_MAX;
      store<u8>(NAME_TABLE + slot, <u8>(nameCount + 1));
      store<u32>(NAME_LIST + (nameCount << 3), from - BODY);
      store<u32>(NAME_LIST + (nameCount << 3), length, 4);
      return nameCount++;
    }
    const known = NAME_LIST + ((number - 1) << 3);
    if (load<u32>(known, 4) == length && sameText(load<u32>(known) + BODY, from, length)) return number - 1;
    slot = (slot + 1) & (NAME_SLOTS - 1);
  }
  return NAMES_MAX;
}

/** The number of a year within this slice; YEARS_MAX when there are too many, or it is out of the table. */
@inline
function yearNumber(micros: i64): u32 {
  const year = yearOf(micros) - FIRST_YEAR;
  if (year >= YEAR_TABLE_LENGTH) return YEARS_MAX;
  const number = <u32>load<u8>(YEAR_TABLE + year);
  if (number != 0) return number - 1;
  if (yearCount == YEARS_MAX) return YEARS_MAX;
  store<u8>(YEAR_TABLE + year, <u8>(yearCount + 1));
  store<u32>(YEAR_LIST + yearCount * 12, year + FIRST_YEAR);
  store<u32>(YEAR_LIST + yearCount * 12, 0, 4);
  return yearCount++;
}

/** The time of an event in microseconds since 1970; i64.MIN_VALUE when it is unusual. */
function eventMicros(entry: u32, received: i64, skew: i64, latest: i64): i64 {
  let micros = received;
  const timeEnd = end(entry, FIELD_TIMESTAMP) + BODY;
  if (end(entry, FIELD_OFFSET) != 0) {
    // posthog-js sends `offset` with events that waited in its queue: how many ms ago they happened.
    const ago = wholeNumber(load<u32>(entry + (FIELD_OFFSET << 2)) + BODY, end(entry, FIELD_OFFSET) + BODY, 12);
    if (ago < 0) return i64.MIN_VALUE;
    micros -= ago * 1000;
    return micros < EARLIEST ? i64.MIN_VALUE : micros;
  }
  if (timeEnd == BODY) return micros;
  const time = load<u32>(entry + (FIELD_TIMESTAMP << 2)) + BODY;
  if (byte(time) != quote) return i64.MIN_VALUE;
  micros = isoMicros(time + 1, timeEnd - 1);
  if (micros == i64.MIN_VALUE) return micros;
  micros -= skew;
  return micros < EARLIEST || micros > latest ? i64.MIN_VALUE : micros;
}

/** Records the distinct id of an event under `nth`; false when it is unusual. */
function judgeId(entry: u32, nth: u32): bool {
  let id = load<u32>(entry + (FIELD_DISTINCT_ID << 2)) + BODY;
  let idEnd = end(entry, FIELD_DISTINCT_ID) + BODY;
  if (idEnd == BODY || byte(id) == 0x6e) {
    id = load<u32>(entry + (FIELD_PROPERTIES_DISTINCT_ID << 2)) + BODY;
    idEnd = end(entry, FIELD_PROPERTIES_DISTINCT_ID) + BODY;
  }
  if (byte(id) == quote) {
    id++;
    idEnd--;
    if (byte(id) <= 0x20 || byte(id) >= 0x80 || !isUnescaped(id, idEnd)) return false;
    // Of other values only numbers are plain: their text is the id.
  } else if (!isNumber(byte(id))) return false;
  const length = idEnd - id;
  if (<i32>length < 1 || length > DISTINCT_ID_MAX) return false;
  // "$posthog_cookieless": sixteen of its nineteen characters distinguish it from other ids well enough.
  if (length == 19 && load<u64>(id) == 0x676f6874736f7024 && load<u64>(id, 8) == 0x6c65696b6f6f635f)
    return false;
  store<u32>(IDS + (nth << 3), id);
  store<u32>(IDS + (nth << 3), length, 4);
  return true;
}

/** Appends event `nth` to the list of a year. */
function listYear(year: u32, nth: u32): void {
  const list = YEAR_LIST + year * 12;
  store<u16>(NEXT + (nth << 1), 0);
  if (load<u32>(list, 4) == 0) store<u32>(list, nth + 1, 4);
  else store<u16>(NEXT + ((load<u32>(list, 8) - 1) << 1), <u16>(nth + 1));
  store<u32>(list, nth + 1, 8);
}

/**
 * A hash of all names that a plain event has: its own, its properties' and those that it sets. SHAPE_UNKNOWN for one
 * that body_scanner.ts has scanned.
 */
@inline
function shapeOf(entry: u32, nth: u32, name: u32, length: u32): u64 {
  const who = WHO + (nth << 4);
  const own = load<u64>(entry + (FIELD_SHAPE << 2));
  if (own == 0) return SHAPE_UNKNOWN;
  let shape = mixText(own, name, length);
  if (byte(who + 11) == <u8>MODE_GROUP) {
    const number = <u32>load<u16>(GROUPS + load<u32>(who, 4) * 12, 8);
    const type = GROUP_TYPES + 16 + number * GROUP_TYPE_BYTES;
    shape = mixText(shape, type + 16, load<u32>(type));
  }
  let change = CHANGES + load<u32>(who) * 12;
  for (let left = <u32>load<u16>(who, 8); left > 0; left--, change += 12) {
    const key = KEY_LIST + ((<u32>load<u16>(change, 8)) << 3);
    shape = mixText(shape + load<u16>(change, 10), load<u32>(key) + BODY, load<u32>(key, 4));
    shape = mixKind(shape, byte(load<u32>(change)));
  }
  return shape;
}

/** Judges one event; when it is plain, its time, id, uuid and name are recorded under `nth`. */
@inline
function judgeOne(entry: u32, nth: u32, received: i64, skew: i64, latest: i64): bool {
  if (load<u32>(entry, 4) - load<u32>(entry) > EVENT_BYTES_MAX) return false;
  const traits = load<u32>(entry + (FIELD_TRAITS << 2));
  if ((traits & TRAITS_UNUSUAL) != 0 || load<u32>(entry + (FIELD_ALTERED << 2)) != 0) return false;
  const profile = (traits >>> (TRAIT_PROCESS_PERSON_PROFILE << 1)) & 3;
  if (profile == GRADE_WRONG) return false;
  const name = load<u32>(entry + (FIELD_EVENT << 2)) + BODY;
  const length = end(entry, FIELD_EVENT) + BODY - name - 2;
  if (byte(name) != quote || <i32>length < 1 || !isUnescaped(name + 1, name + 1 + length)) return false;
  const named = slotOf(EVENT_NAMES, name + 1, length);
  if (named == 0) return false;
  const isNeedy = named > 0 && named < NAMED_IMPERSONAL;
  const lacksNeed = isNeedy && ((traits >>> ((<u32>(named - 1)) << 1)) & 3) != GRADE_SOUND;
  // "$snapsho"
  if (byte(name + 1) == 0x24 && load<u64>(name + 1) == 0x6f687370616e7324) return false;
  if (!judgeId(entry, nth)) return false;
  const properties = byte(load<u32>(entry + (FIELD_PROPERTIES << 2)) + BODY);
  if (end(entry, FIELD_PROPERTIES) != 0 && properties != 0x7b && properties != 0x6e) return false;
  const micros = eventMicros(entry, received, skew, latest);
  if (micros == i64.MIN_VALUE) return false;
  const uuidEnd = end(entry, FIELD_UUID) + BODY;
  if (
    uuidEnd != BODY &&
    !readUuid(load<u32>(entry + (FIELD_UUID << 2)) + BODY, uuidEnd, UUIDS + (nth << 4))
  ) {
    return false;
  }
  const number = nameNumber(name + 1, length);
  if (number == NAMES_MAX) return false;
  if (load<u32>(entry + (FIELD_IDENTITY << 2)) != 0 || named >= NAMED_IDENTIFY) {
    if (!judgeIdentity(entry, nth, named, profile)) return false;
    IdentityCounts.any = 1;
  } else {
    const who = WHO + (nth << 4);
    v128.store(who, i64x2.splat(0));
    if (profile == GRADE_EMPTY) {
      store<u8>(who, <u8>MODE_PERSONLESS, 11);
      IdentityCounts.any = 1;
    }
  }
  // Last, since a year that has a number must have an event.
  const year = yearNumber(micros);
  if (year == YEARS_MAX) return false;
  store<u64>(SHAPES + (nth << 3), shapeOf(entry, nth, name + 1, length));
  store<u8>(NAME_OF + nth, <u8>number);
  store<u8>(LACKS_NEED + nth, lacksNeed ? <u8>named : 0);
  store<u8>(LACKS_UUID + nth, uuidEnd == BODY ? 1 : 0);
  store<i64>(TIMES + (nth << 3), micros);
  listYear(year, nth);
  return true;
}

/** Whether the next event might have a name, year, changes or keys for which a table has no entry left. */
@inline
function isFull(): bool {
  return (
    nameCount == NAMES_MAX ||
    yearCount == YEARS_MAX ||
    IdentityCounts.changes + CHANGES_MAX > SLICE_CHANGES_MAX ||
    IdentityCounts.keys + CHANGES_MAX > KEYS_MAX
  );
}

/**
 * Judges the entries from `first` on, until `count`, ROWS_MAX of them, or about `bytesMax` of the body are through, or
 * a table is full: the next slice begins with empty ones.
 * @returns how many. YEARS is how many years the plain ones are of (listed as year, its first and last event),
 *   SLOW how many are not plain (listed by number), LACKING how many plain ones have no uuid, NAMES_USED and KEYS_USED
 *   how many names of events and keys of properties there are, IDENTITY_ANY whether any says something of a
 *   person or group.
 */
export function judge(first: u32, count: u32, bytesMax: u32, received: f64, skew: f64, latest: f64): u32 {
  memory.fill(NAME_TABLE, 0, NAME_SLOTS);
  memory.fill(YEAR_TABLE, 0, YEAR_TABLE_LENGTH);
  if (IdentityCounts.keys > 0) memory.fill(KEY_TABLE, 0, KEY_SLOTS * 2);
  IdentityCounts.keys = 0;
  IdentityCounts.any = 0;
  IdentityCounts.changes = 0;
  IdentityCounts.groups = 0;
  IdentityCounts.typesWritten = false;
  nameCount = 0;
  yearCount = 0;
  let slow: u32 = 0;
  let lacking: u32 = 0;
  let warned: u32 = 0;
  let nth: u32 = 0;
  const most = min(count - first, ROWS_MAX);
  const goal = load<u32>(ENTRIES + first * ENTRY_BYTES) + bytesMax;
  for (; nth < most; nth++) {
    const entry = ENTRIES + (first + nth) * ENTRY_BYTES;
    if (load<u32>(entry) > goal || isFull()) break;
    if (judgeOne(entry, nth, <i64>received, <i64>skew, <i64>latest)) {
      lacking += <u32>byte(LACKS_UUID + nth);
      warned += byte(LACKS_NEED + nth) != 0 ? 1 : 0;
    } else {
      store<u64>(SHAPES + (nth << 3), 0);
      store<u16>(SLOW_LIST + (slow++ << 1), <u16>nth);
    }
  }
  store<u32>(SLOW, slow);
  store<u32>(LACKING, lacking);
  store<u32>(WARNED, warned);
  store<u32>(YEARS, yearCount);
  store<u32>(NAMES_USED, nameCount);
  store<u32>(KEYS_USED, IdentityCounts.keys);
  store<u32>(IDENTITY_ANY, IdentityCounts.any);
  return nth;
}

/** A new UUIDv7 in ClickHouse's order from the low 30 bits of its rank and six random bytes. */
@inline
function newUuid(out: u32, micros: i64, rank: u64, random: u32): void {
  const millis: u64 = micros > 0 ? <u64>(micros / 1000) : 0;
  const chance = load<u64>(random) & 0xfffffffffff;
  store<u64>(out, (millis << 16) | 0x7000 | ((rank >>> 18) & 0x0fff));
  store<u64>(out, 0x8000000000000000 | ((rank & 0x3ffff) << 44) | chance, 8);
}

/** Appends `,"$set":` or `,"$set_once":` and the object at `slot`; returns the end. */
function writeOwn(entry: u32, slot: u32, to: u32): u32 {
  if (!isObject(entry, slot)) return to;
  const from = load<u32>(entry + (slot << 2));
  const size = end(entry, slot) - from;
  // The bytes of ,"$set, then those of _once, then those of ":
  store<u64>(to, 0x74657324222c);
  let at = to + 6;
  if (slot == FIELD_OWN_SET_ONCE) {
    store<u64>(at, 0x65636e6f5f);
    at += 5;
  }
  store<u16>(at, 0x3a22);
  copy(at + 2, from + BODY, size);
  return at + 2 + size;
}

/** Writes an event's properties, with its own `$set` and `$set_once` as further members; returns the end. */
@inline
function writeProperties(entry: u32, out: u32): u32 {
  const from = load<u32>(entry + (FIELD_PROPERTIES << 2)) + BODY;
  const isNone = end(entry, FIELD_PROPERTIES) == 0 || byte(from) == 0x6e;
  const size = isNone ? 2 : end(entry, FIELD_PROPERTIES) + BODY - from;
  if (load<u32>(entry + (FIELD_IDENTITY << 2)) != 0) {
    const own = ownBytes(entry, FIELD_OWN_SET, 8) + ownBytes(entry, FIELD_OWN_SET_ONCE, 13);
    if (own != 0) return writeWithOwn(entry, out, isNone ? 0 : from, size, own);
  }
  let at = varuint(out, size);
  // None, or null: stored as an empty object.
  if (isNone) store<u16>(at, 0x7d7b);
  else copy(at, from, size);
  return at + size;
}

/** Bytes that a member of the event takes in its properties: its value and `name` further ones. */
function ownBytes(entry: u32, slot: u32, name: u32): u32 {
  return isObject(entry, slot) ? end(entry, slot) - load<u32>(entry + (slot << 2)) + name : 0;
}

/** Variant of writeProperties(), with `own` bytes of further members; `from`: 0 for none. */
function writeWithOwn(entry: u32, out: u32, from: u32, size: u32, own: u32): u32 {
  const isEmpty = from == 0 || byte(blanks(from + 1)) == 0x7d;
  const before: u32 = isEmpty ? 1 : size - 1;
  // The first further member of an empty object has no comma before it.
  let at = varuint(out, before + own + (isEmpty ? 0 : 1));
  const begin = at;
  store<u8>(at, 0x7b);
  if (!isEmpty) copy(at, from, before);
  at = writeOwn(entry, FIELD_OWN_SET, begin + before - (isEmpty ? 1 : 0));
  at = writeOwn(entry, FIELD_OWN_SET_ONCE, at);
  if (isEmpty) store<u8>(begin, 0x7b);
  store<u8>(at, 0x7d);
  return at + 1;
}

/**
 * Writes the plain events of one year, in their order, as the columns at OUT_…; those without a uuid take
 * their six bytes of ENTROPY, and their rank from that of the slice's first entry, `rank`.
 * @returns how many. OUT_IDS_LENGTH and OUT_PROPERTIES_LENGTH are the bytes of those columns.
 */
export function writeColumns(
  first: u32,
  year: u32,
  project: u32,
  created: f64,
  historical: u32,
  rank: f64,
): u32 {
  let rows: u32 = 0;
  let ids: u32 = OUT_IDS;
  let properties: u32 = OUT_PROPERTIES;
  let warned: u32 = 0;
  let next = load<u32>(YEAR_LIST + year * 12, 4);
  while (next != 0) {
    const nth = next - 1;
    const entry = ENTRIES + (first + nth) * ENTRY_BYTES;
    const micros = load<i64>(TIMES + (nth << 3));
    if (byte(LACKS_UUID + nth) != 0) {
      newUuid(OUT_UUID + (rows << 4), micros, <u64>rank + <u64>nth, ENTROPY + nth * 6);
    } else v128.store(OUT_UUID + (rows << 4), v128.load(UUIDS + (nth << 4)));
    store<u32>(OUT_PROJECT + (rows << 2), project);
    store<u8>(OUT_EVENT + rows, byte(NAME_OF + nth));
    const length = load<u32>(IDS + (nth << 3), 4);
    ids = varuint(ids, length);
    copy(ids, load<u32>(IDS + (nth << 3)), length);
    ids += length;
    properties = writeProperties(entry, properties);
    if (byte(LACKS_NEED + nth) != 0) store<u32>(WARN_LIST + (warned++ << 2), (rows << 16) | nth);
    store<i64>(OUT_TIMESTAMP + (rows << 3), micros);
    store<i64>(OUT_CREATED + (rows << 3), <i64>created);
    store<u8>(OUT_HISTORICAL + rows, <u8>historical);
    next = <u32>load<u16>(NEXT + (nth << 1));
    rows++;
  }
  store<u32>(OUT_IDS_LENGTH, ids - OUT_IDS);
  store<u32>(OUT_PROPERTIES_LENGTH, properties - OUT_PROPERTIES);
  store<u32>(WARNED, warned);
  return rows;
}
