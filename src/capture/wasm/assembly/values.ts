// Values of plain events: times, uuids and texts, read as timestamp.ts and row.ts do, and written as in Native columns.

import { byte, isDigit, quote } from "./json";

/** Whether the last string that hexDigits() read was sound. */
let sound: bool = true;
let lastDay: i64 = i64.MIN_VALUE;
let lastYear: u32 = 0;

function two(at: u32): u32 {
  const a = <u32>byte(at) - 0x30;
  const b = <u32>byte(at + 1) - 0x30;
  return a > 9 || b > 9 ? 1000 : a * 10 + b;
}

function daysIn(year: u32, month: u32): u32 {
  if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/** Minutes east of UTC: `Z`, `±hh`, `±hhmm`, `±hh:mm` or nothing, which is UTC; i32.MIN_VALUE for any other text. */
function zoneMinutes(from: u32, to: u32): i32 {
  const sign = byte(from);
  if (from == to || ((sign | 0x20) == 0x7a && from + 1 == to)) return 0;
  if (to - from < 3 || (sign != 0x2b && sign != 0x2d)) return i32.MIN_VALUE;
  const hour = two(from + 1);
  let at = from + 3;
  if (at != to && byte(at) == 0x3a) at++;
  const minute = at == to ? 0 : two(at);
  if (hour > 23 || minute > 59 || (at != to && at + 2 != to)) return i32.MIN_VALUE;
  const minutes = <i32>(hour * 60 + minute);
  return sign == 0x2d ? -minutes : minutes;
}

/** `yyyy-mm-ddThh:mm:ss[.f…]` and a zone as microseconds since 1970; i64.MIN_VALUE for any other text. */
export function isoMicros(from: u32, to: u32): i64 {
  const none = i64.MIN_VALUE;
  const separator = byte(from + 10);
  if (to - from < 19 || byte(from + 4) != 0x2d || byte(from + 7) != 0x2d) return none;
  if (separator != 0x54 && separator != 0x20) return none;
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
    if (!isDigit(byte(at))) return none;
    for (let weight: i64 = 100000; isDigit(byte(at)); at++, weight /= 10)
      micros += <i64>(byte(at) - 0x30) * weight;
  }
  const zone = zoneMinutes(at, to);
  if (zone == i32.MIN_VALUE) return none;
  const shifted: i32 = month <= 2 ? <i32>year - 1 : <i32>year;
  const era = shifted / 400;
  const ofEra = shifted - era * 400;
  const ofYear = (153 * (<i32>month + (month > 2 ? -3 : 9)) + 2) / 5 + <i32>day - 1;
  const days: i64 = era * 146097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719468;
  const minutes = <i32>(hour * 60 + minute) - zone;
  return days * 86400000000 + (<i64>minutes * 60 + second) * 1000000 + micros;
}

/** A raw JSON value as a whole number of up to `digitsMax` digits; -1 for any other. */
export function wholeNumber(from: u32, to: u32, digitsMax: u32): i64 {
  if (to - from > digitsMax) return -1;
  let value: i64 = 0;
  for (let at = from; at < to; at++) {
    if (!isDigit(byte(at))) return -1;
    value = value * 10 + <i64>(byte(at) - 0x30);
  }
  return value;
}

/** The year of a time, UTC. */
export function yearOf(micros: i64): u32 {
  let day = micros / 86400000000;
  if (micros < 0 && day * 86400000000 != micros) day--;
  if (day == lastDay) return lastYear;
  const z = day + 719468;
  const era = z / 146097;
  const ofEra = z - era * 146097;
  const yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36524 - ofEra / 146096) / 365;
  const ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
  lastDay = day;
  // Here a year begins with March: from the 306th day on it is the next one's January.
  lastYear = <u32>(yearOfEra + era * 400 + (ofYear >= 306 ? 1 : 0));
  return lastYear;
}

/** Sixteen hexadecimal digits as a number, the first the highest; clears `sound` when one is not a digit. */
@inline
function hexDigits(v: v128): u64 {
  const lower = v128.or(v, i8x16.splat(0x20));
  const isNumber = v128.and(i8x16.ge_u(v, i8x16.splat(0x30)), i8x16.le_u(v, i8x16.splat(0x39)));
  const isLetter = v128.and(i8x16.ge_u(lower, i8x16.splat(0x61)), i8x16.le_u(lower, i8x16.splat(0x66)));
  if (!i8x16.all_true(v128.or(isNumber, isLetter))) sound = false;
  const digits = i8x16.add(v128.and(v, i8x16.splat(0x0f)), v128.and(isLetter, i8x16.splat(9)));
  const high = i16x8.shl(v128.and(digits, i16x8.splat(0xff)), 4);
  const bytes = i8x16.narrow_i16x8_u(v128.or(high, i16x8.shr_u(digits, 8)), i16x8.splat(0));
  return bswap<u64>(<u64>i64x2.extract_lane(bytes, 0));
}

/** A raw JSON value as a uuid in ClickHouse's order; false when it is none with dashes, or nil. */
@inline
export function readUuid(from: u32, to: u32, out: u32): bool {
  if (to - from != 38 || byte(from) != quote) return false;
  const at = from + 1;
  if (byte(at + 8) != 0x2d || byte(at + 13) != 0x2d || byte(at + 18) != 0x2d || byte(at + 23) != 0x2d)
    return false;
  sound = true;
  const first = v128.load(at);
  const second = v128.load(at + 19);
  store<u64>(
    out,
    hexDigits(i8x16.shuffle(first, v128.load(at + 2), 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 14, 15, 30, 31)),
  );
  store<u64>(
    out,
    hexDigits(
      i8x16.shuffle(second, v128.load(at + 20), 0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 31),
    ),
    8,
  );
  return sound && (load<u64>(out) | load<u64>(out, 8)) != 0;
}

/** A hash of a text: of all of it up to sixteen bytes, else of its two ends. */
@inline
export function hashOf(from: u32, length: u32): u32 {
  let a: u64 = load<u64>(from);
  let b: u64 = 0;
  if (length < 8) a &= ((<u64>1) << (length << 3)) - 1;
  else {
    b = load<u64>(from + length - 8);
    if (length > 16) b ^= rotl<u64>(load<u64>(from, 8) ^ load<u64>(from + length - 16), 23);
  }
  const mixed = ((a ^ (<u64>length)) * 0x9e3779b97f4a7c15) ^ rotl<u64>(b * 0xc2b2ae3d27d4eb4f, 31);
  return <u32>((mixed * 0x9e3779b97f4a7c15) >>> 32);
}

/** Adds a text to the hash of those before it: all of it counts, since names may be alike at both ends. */
@inline
export function mixText(hash: u64, from: u32, length: u32): u64 {
  let mixed = rotl<u64>(hash ^ (<u64>length), 31) * 0x9e3779b97f4a7c15;
  let at: u32 = 0;
  for (; at + 8 <= length; at += 8) mixed = rotl<u64>(mixed ^ load<u64>(from + at), 29) * 0xc2b2ae3d27d4eb4f;
  if (at == length) return mixed;
  const left = load<u64>(from + at) & (((<u64>1) << ((length - at) << 3)) - 1);
  return rotl<u64>(mixed ^ left, 29) * 0xc2b2ae3d27d4eb4f;
}

/** Adds a property to the hash of those before it: its name's own hash, and whether its value shows its type. */
@inline
export function mixName(shape: u64, hash: u64, first: u8): u64 {
  const mask: u64 = first == 0x6e || (first & 0xdf) == 0x5b ? ~(<u64>0) : 0;
  return rotl<u64>(shape ^ hash ^ mask, 29) * 0xc2b2ae3d27d4eb4f;
}

/** Whether a value shows its type by its first byte. A list, an object and null do not. */
@inline
export function mixKind(hash: u64, first: u8): u64 {
  return first == 0x6e || (first & 0xdf) == 0x5b ? ~hash : hash;
}

/** Whether two texts of one length are the same, sixteen bytes at a time. */
@inline
export function sameText(a: u32, b: u32, length: u32): bool {
  let at: u32 = 0;
  for (; at + 16 <= length; at += 16) {
    if (i8x16.bitmask(i8x16.eq(v128.load(a + at), v128.load(b + at))) != 0xffff) return false;
  }
  const wanted: u32 = (1 << (length - at)) - 1;
  return (i8x16.bitmask(i8x16.eq(v128.load(a + at), v128.load(b + at))) & wanted) == wanted;
}

/** Writes a String value's length; returns where its bytes belong. */
@inline
export function varuint(out: u32, value: u32): u32 {
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
@inline
export function copy(to: u32, from: u32, length: u32): void {
  for (let i: u32 = 0; i < length; i += 16) v128.store(to + i, v128.load(from + i));
}
