// The columns of plain events, in AssemblyScript: what event.ts reads into a row and block.ts appends, a slice of
// the index at a time. Never lays an event that would be altered, warned about or ignored: it names it as not plain.
//
// Put behind fast_scan.as by `bun test/support/build_fast.ts`.

let nameCount: u32 = 0;
let monthCount: u32 = 0;
/** Of the last string that was hexDigits(). */
let sound: bool = true;
let lastDay: i64 = i64.MIN_VALUE;
let lastMonth: u32 = 0;

// @ts-ignore: decorator
@inline function two(at: u32): u32 {
  const a = <u32>byte(at) - 0x30;
  const b = <u32>byte(at + 1) - 0x30;
  return a > 9 || b > 9 ? 1000 : a * 10 + b;
}

// @ts-ignore: decorator
@inline function daysIn(year: u32, month: u32): u32 {
  if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/** `yyyy-mm-ddThh:mm:ss[.f…]Z` as microseconds since 1970; i64.MIN_VALUE for any other text. */
function isoMicros(from: u32, to: u32): i64 {
  const none = i64.MIN_VALUE;
  if (to - from < 20 || byte(to - 1) != 0x5a) return none;
  if (byte(from + 4) != 0x2d || byte(from + 7) != 0x2d || byte(from + 10) != 0x54) return none;
  if (byte(from + 13) != 0x3a || byte(from + 16) != 0x3a) return none;
  const century = two(from);
  const ofCentury = two(from + 2);
  const month = two(from + 5);
  const day = two(from + 8);
  const hour = two(from + 11);
  const minute = two(from + 14);
  const second = two(from + 17);
  const year = century * 100 + ofCentury;
  if (century > 99 || ofCentury > 99 || month < 1 || month > 12 || day < 1) return none;
  if (day > daysIn(year, month) || hour > 23 || minute > 59 || second > 60) return none;
  let micros: i64 = 0;
  let at = from + 19;
  if (byte(at) == 0x2e) {
    at++;
    if (at == to - 1) return none;
    for (let weight: i64 = 100000; isDigit(byte(at)); at++, weight /= 10) micros += <i64>(byte(at) - 0x30) * weight;
  }
  if (at != to - 1) return none;
  const shifted: i32 = month <= 2 ? <i32>year - 1 : <i32>year;
  const era = shifted / 400;
  const ofEra = shifted - era * 400;
  const ofYear = (153 * (<i32>month + (month > 2 ? -3 : 9)) + 2) / 5 + <i32>day - 1;
  const days: i64 = era * 146097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719468;
  return days * 86400000000 + <i64>((hour * 60 + minute) * 60 + second) * 1000000 + micros;
}

/** The month of a time, counted from the year 0. */
function monthOf(micros: i64): u32 {
  let day = micros / 86400000000;
  if (micros < 0 && day * 86400000000 != micros) day--;
  if (day == lastDay) return lastMonth;
  const z = day + 719468;
  const era = z / 146097;
  const ofEra = z - era * 146097;
  const yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36524 - ofEra / 146096) / 365;
  const ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
  const shifted = (5 * ofYear + 2) / 153;
  const month = shifted < 10 ? shifted + 2 : shifted - 10;
  const year = yearOfEra + era * 400 + (month < 2 ? 1 : 0);
  lastDay = day;
  lastMonth = <u32>(year * 12 + month);
  return lastMonth;
}

/** Sixteen hexadecimal digits as a number, the first the highest; clears `sound` when one is none. */
// @ts-ignore: decorator
@inline function hexDigits(v: v128): u64 {
  const lower = v128.or(v, i8x16.splat(0x20));
  const isNumber = v128.and(i8x16.ge_u(v, i8x16.splat(0x30)), i8x16.le_u(v, i8x16.splat(0x39)));
  const isLetter = v128.and(i8x16.ge_u(lower, i8x16.splat(0x61)), i8x16.le_u(lower, i8x16.splat(0x66)));
  if (!i8x16.all_true(v128.or(isNumber, isLetter))) sound = false;
  const digits = i8x16.add(v128.and(v, i8x16.splat(0x0f)), v128.and(isLetter, i8x16.splat(9)));
  const high = i16x8.shl(v128.and(digits, i16x8.splat(0xff)), 4);
  const bytes = i8x16.narrow_i16x8_u(v128.or(high, i16x8.shr_u(digits, 8)), i16x8.splat(0));
  return bswap<u64>(<u64>i64x2.extract_lane(bytes, 0));
}

/** A raw JSON value as a uuid in ClickHouse's order; false when it is none. */
// @ts-ignore: decorator
@inline function readUuid(from: u32, to: u32, out: u32): bool {
  if (to - from != 38 || byte(from) != quote) return false;
  const at = from + 1;
  if (byte(at + 8) != 0x2d || byte(at + 13) != 0x2d || byte(at + 18) != 0x2d || byte(at + 23) != 0x2d) return false;
  sound = true;
  const first = v128.load(at);
  const second = v128.load(at + 19);
  store<u64>(out, hexDigits(
    i8x16.shuffle(first, v128.load(at + 2), 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 14, 15, 30, 31),
  ));
  store<u64>(out, hexDigits(
    i8x16.shuffle(second, v128.load(at + 20), 0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 31),
  ), 8);
  return sound;
}

/** Whether a string's bytes are its text. */
// @ts-ignore: decorator
@inline function isUnescaped(from: u32, to: u32): bool {
  for (let at = from; at < to; at++) if (byte(at) == backslash) return false;
  return true;
}

/** The number of an event's name within this slice; NAMES_MAX when there are too many. */
function nameNumber(from: u32, length: u32): u32 {
  let hash = length * 0x9e3779b1;
  for (let i: u32 = 0; i < length; i++) hash = (hash ^ <u32>byte(from + i)) * 0x01000193;
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
    if (load<u32>(known, 4) == length && same(load<u32>(known) + BODY, from, length)) return number - 1;
    slot = (slot + 1) & (NAME_SLOTS - 1);
  }
  return NAMES_MAX;
}

/** The number of a month within this slice; MONTHS_MAX when there are too many, or it is out of the table. */
// @ts-ignore: decorator
@inline function monthNumber(micros: i64): u32 {
  const month = monthOf(micros) - FIRST_MONTH;
  if (month >= MONTH_TABLE_LENGTH) return MONTHS_MAX;
  const number = <u32>load<u8>(MONTH_TABLE + month);
  if (number != 0) return number - 1;
  if (monthCount == MONTHS_MAX) return MONTHS_MAX;
  store<u8>(MONTH_TABLE + month, <u8>(monthCount + 1));
  store<u32>(MONTH_LIST + monthCount * 12, month + FIRST_MONTH);
  store<u32>(MONTH_LIST + monthCount * 12, 0, 4);
  return monthCount++;
}

/** Judges one event; on success its time, id, uuid and name are noted under `place`. */
// @ts-ignore: decorator
@inline function judgeOne(
  entry: u32, place: u32, received: i64, skew: i64, latest: i64,
): bool {
  if (load<u32>(entry, 4) - load<u32>(entry) > EVENT_BYTES_MAX) return false;
  const traits = load<u32>(entry + (FIELD_TRAITS << 2));
  if ((traits & TRAITS_UNUSUAL) != 0 || load<u32>(entry + (FIELD_ALTERED << 2)) != 0) return false;
  if (load<u32>(entry + (FIELD_IDENTITY << 2)) != 0 || end(entry, FIELD_OFFSET) != 0) return false;
  const name = load<u32>(entry + (FIELD_EVENT << 2)) + BODY;
  const length = end(entry, FIELD_EVENT) + BODY - name - 2;
  if (byte(name) != quote || <i32>length < 1 || !isUnescaped(name + 1, name + 1 + length)) return false;
  const kind = slotOf(EVENT_NAMES, name + 1, length);
  if (kind == 0 || (kind > 0 && ((traits >>> (<u32>(kind - 1) << 1)) & 3) != GRADE_SOUND)) return false;
  if (byte(name + 1) == 0x24 && load<u64>(name + 1) == 0x6f687370616e7324) return false;
  let id = load<u32>(entry + (FIELD_DISTINCT_ID << 2)) + BODY;
  let idEnd = end(entry, FIELD_DISTINCT_ID) + BODY;
  if (idEnd == BODY || byte(id) == 0x6e) {
    id = load<u32>(entry + (FIELD_PROPERTIES_DISTINCT_ID << 2)) + BODY;
    idEnd = end(entry, FIELD_PROPERTIES_DISTINCT_ID) + BODY;
  }
  const idLength = idEnd - id - 2;
  if (byte(id) != quote || <i32>idLength < 1 || idLength > DISTINCT_ID_MAX) return false;
  if (byte(id + 1) <= 0x20 || byte(id + 1) >= 0x80 || !isUnescaped(id + 1, idEnd - 1)) return false;
  const properties = byte(load<u32>(entry + (FIELD_PROPERTIES << 2)) + BODY);
  if (end(entry, FIELD_PROPERTIES) != 0 && properties != 0x7b && properties != 0x6e) return false;
  let micros = received;
  const timeEnd = end(entry, FIELD_TIMESTAMP) + BODY;
  if (timeEnd != BODY) {
    const time = load<u32>(entry + (FIELD_TIMESTAMP << 2)) + BODY;
    if (byte(time) != quote) return false;
    micros = isoMicros(time + 1, timeEnd - 1);
    if (micros == i64.MIN_VALUE) return false;
    micros -= skew;
    if (micros < EARLIEST || micros > latest) return false;
  }
  const uuidEnd = end(entry, FIELD_UUID) + BODY;
  let lacking: u8 = 1;
  if (uuidEnd != BODY) {
    if (!readUuid(load<u32>(entry + (FIELD_UUID << 2)) + BODY, uuidEnd, UUIDS + (place << 4))) return false;
    lacking = 0;
  }
  const month = monthNumber(micros);
  if (month == MONTHS_MAX) return false;
  const number = nameNumber(name + 1, length);
  if (number == NAMES_MAX) return false;
  store<u8>(NAME_OF + place, <u8>number);
  store<u8>(LACKS_UUID + place, lacking);
  store<i64>(TIMES + (place << 3), micros);
  store<u32>(IDS + (place << 3), id + 1);
  store<u32>(IDS + (place << 3), idLength, 4);
  const list = MONTH_LIST + month * 12;
  store<u16>(NEXT + (place << 1), 0);
  if (load<u32>(list, 4) == 0) store<u32>(list, place + 1, 4);
  else store<u16>(NEXT + ((load<u32>(list, 8) - 1) << 1), <u16>(place + 1));
  store<u32>(list, place + 1, 8);
  return true;
}

/**
 * Judges the entries from `first` on, until `count`, ROWS_MAX of them, or about `bytesMax` of the body are through.
 * @returns how many. MONTHS tells how many months the plain ones are of (listed as month, first place, last place),
 *   SLOW how many are not plain (listed by place), LACKING how many plain ones have no uuid, NAMES_USED how many
 *   names there are.
 */
export function judge(
  first: u32, count: u32, bytesMax: u32, received: f64, skew: f64, latest: f64,
): u32 {
  memory.fill(NAME_TABLE, 0, NAME_SLOTS);
  memory.fill(MONTH_TABLE, 0, MONTH_TABLE_LENGTH);
  nameCount = 0;
  monthCount = 0;
  let slow: u32 = 0;
  let lacking: u32 = 0;
  let place: u32 = 0;
  const most = min(count - first, ROWS_MAX);
  const goal = load<u32>(ENTRIES + first * ENTRY_BYTES) + bytesMax;
  for (; place < most; place++) {
    const entry = ENTRIES + (first + place) * ENTRY_BYTES;
    if (load<u32>(entry) > goal) break;
    if (judgeOne(entry, place, <i64>received, <i64>skew, <i64>latest)) lacking += <u32>byte(LACKS_UUID + place);
    else store<u16>(SLOW_LIST + (slow++ << 1), <u16>place);
  }
  store<u32>(SLOW, slow);
  store<u32>(LACKING, lacking);
  store<u32>(MONTHS, monthCount);
  store<u32>(NAMES_USED, nameCount);
  return place;
}

/** Writes a String value's length; returns where its bytes belong. */
// @ts-ignore: decorator
@inline function varuint(out: u32, value: u32): u32 {
  let at = out;
  let rest = value;
  while (rest >= 128) {
    store<u8>(at++, <u8>(rest | 128));
    rest >>>= 7;
  }
  store<u8>(at++, <u8>rest);
  return at;
}

/** Copies sixteen bytes at a time, and so up to fifteen too many. */
// @ts-ignore: decorator
@inline function copy(to: u32, from: u32, length: u32): void {
  for (let i: u32 = 0; i < length; i += 16) v128.store(to + i, v128.load(from + i));
}

/** A new UUIDv7 in ClickHouse's order from ten random bytes. */
// @ts-ignore: decorator
@inline function newUuid(out: u32, micros: i64, random: u32): void {
  const millis: u64 = micros > 0 ? <u64>(micros / 1000) : 0;
  store<u64>(out, (millis << 16) | 0x7000 | <u64>(load<u16>(random) & 0x0fff));
  store<u64>(out, (load<u64>(random, 2) & 0x3fffffffffffffff) | 0x8000000000000000, 8);
}

/**
 * Lays the plain events of one month, in their order, into the columns at OUT_…; those without a uuid take ten
 * bytes each from ENTROPY on.
 * @returns how many. OUT_IDS_LENGTH and OUT_PROPERTIES_LENGTH tell the bytes of those columns.
 */
export function lay(
  first: u32, month: u32, project: u32, created: f64, historical: u32,
): u32 {
  let rows: u32 = 0;
  let random: u32 = ENTROPY;
  let ids: u32 = OUT_IDS;
  let properties: u32 = OUT_PROPERTIES;
  let next = load<u32>(MONTH_LIST + month * 12, 4);
  while (next != 0) {
    const place = next - 1;
    const entry = ENTRIES + (first + place) * ENTRY_BYTES;
    const micros = load<i64>(TIMES + (place << 3));
    if (byte(LACKS_UUID + place) != 0) {
      newUuid(OUT_UUID + (rows << 4), micros, random);
      random += 10;
    } else v128.store(OUT_UUID + (rows << 4), v128.load(UUIDS + (place << 4)));
    store<u32>(OUT_PROJECT + (rows << 2), project);
    store<u8>(OUT_EVENT + rows, byte(NAME_OF + place));
    const length = load<u32>(IDS + (place << 3), 4);
    ids = varuint(ids, length);
    copy(ids, load<u32>(IDS + (place << 3)), length);
    ids += length;
    const from = load<u32>(entry + (FIELD_PROPERTIES << 2));
    if (end(entry, FIELD_PROPERTIES) == 0 || byte(from + BODY) == 0x6e) {
      // None, or null: an empty object.
      store<u8>(properties, 2);
      store<u16>(properties, 0x7d7b, 1);
      properties += 3;
    } else {
      const size = end(entry, FIELD_PROPERTIES) - from;
      properties = varuint(properties, size);
      copy(properties, from + BODY, size);
      properties += size;
    }
    store<i64>(OUT_TIMESTAMP + (rows << 3), micros);
    store<i64>(OUT_CREATED + (rows << 3), <i64>created);
    store<u8>(OUT_HISTORICAL + rows, <u8>historical);
    next = <u32>load<u16>(NEXT + (place << 1));
    rows++;
  }
  store<u32>(OUT_IDS_LENGTH, ids - OUT_IDS);
  store<u32>(OUT_PROPERTIES_LENGTH, properties - OUT_PROPERTIES);
  return rows;
}
