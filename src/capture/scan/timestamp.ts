// Times as clients write them, as microseconds since 1970 UTC. What cannot be read is NaN.

import { bytesOf, decodeText } from "../../core/bytes.ts";

const dayMicros = 86_400_000_000;

/** The earliest time ClickHouse's DateTime64 holds, and the latest a client's clock may be ahead, in µs. */
export const timestampMicrosMin = Date.UTC(1900, 0, 1) * 1000;
export const aheadMicrosMax = 23 * 3_600_000_000;

/** A raw JSON value as a time, in microseconds since 1970; NaN when it is none. */
export function readEventTime(bytes: Uint8Array, from: number, to: number): number {
  if (bytes[from] !== 0x22) return readNumber(Number(decodeText(bytes, from, to)));
  const micros = readIso(bytes, from + 1, to - 1);
  if (!Number.isNaN(micros)) return micros;
  return readSlowly(JSON.parse(decodeText(bytes, from, to)) as string);
}

/**
 * Reads an ISO 8601 time at `from` (exclusive end `to`) without making an object: date, optional time with up to any
 * number of fraction digits (kept to the microsecond), `Z`, `±hh`, `±hhmm`, `±hh:mm` or no zone (UTC). NaN for anything
 * else; readSlowly() may still know it.
 */
export function readIso(bytes: Uint8Array, from: number, to: number): number {
  const year = digits(bytes, from, 4, to);
  const month = digits(bytes, from + 5, 2, to);
  const day = digits(bytes, from + 8, 2, to);
  if (year < 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return Number.NaN;
  const dash = bytes[from + 4];
  if ((dash !== 0x2d && dash !== 0x2f) || bytes[from + 7] !== dash) return Number.NaN;
  const date = daysSince1970(year, month, day) * dayMicros;
  if (from + 10 === to) return date;
  const separator = bytes[from + 10]! | 0x20;
  if (separator !== 0x74 && separator !== 0x20) return Number.NaN;
  return date + readTime(bytes, from + 11, to);
}

function readTime(bytes: Uint8Array, from: number, to: number): number {
  const hour = digits(bytes, from, 2, to);
  const minute = digits(bytes, from + 3, 2, to);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || bytes[from + 2] !== 0x3a) return Number.NaN;
  let at = from + 5;
  let micros = (hour * 60 + minute) * 60_000_000;
  if (at < to && bytes[at] === 0x3a) {
    const second = digits(bytes, at + 1, 2, to);
    // A leap second is the next minute's first.
    if (second < 0 || second > 60) return Number.NaN;
    micros += second * 1_000_000;
    at += 3;
    if (at < to && (bytes[at] === 0x2e || bytes[at] === 0x2c)) {
      const start = ++at;
      for (let weight = 100_000; at < to && isDigit(bytes[at]!); at++, weight /= 10) {
        if (weight >= 1) micros += (bytes[at]! - 0x30) * weight;
      }
      if (at === start) return Number.NaN;
    }
  }
  return micros - readZone(bytes, at, to);
}

/** Microseconds east of UTC. */
function readZone(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  if (at < to && bytes[at] === 0x20) at++;
  if (at === to) return 0;
  if ((bytes[at]! | 0x20) === 0x7a) return at + 1 === to ? 0 : Number.NaN;
  const sign = bytes[at] === 0x2b ? 1 : bytes[at] === 0x2d ? -1 : Number.NaN;
  const hour = digits(bytes, at + 1, 2, to);
  at += 3;
  if (bytes[at] === 0x3a) at++;
  const minute = at === to ? 0 : digits(bytes, at, 2, to);
  const whole = at === to || at + 2 === to;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || !whole) return Number.NaN;
  return sign * (hour * 60 + minute) * 60_000_000;
}

/**
 * Reads what readIso() does not: numbers of seconds or milliseconds, e-mail dates, the basic, week and ordinal
 * spellings of ISO 8601, and others that the runtime reads, if they name their year. A missing day counts as the first.
 */
export function readSlowly(text: string): number {
  const trimmed = text.trim();
  if (trimmed.length > 64) return Number.NaN;
  if (/^-?\d+(\.\d+)?$/.test(trimmed)) return readNumber(Number(trimmed));
  const rare = rareDate.exec(trimmed);
  if (rare) return readRare(rare, trimmed);
  if (!/\d{4}/.test(trimmed)) return Number.NaN;
  // Without a zone the runtime would use the machine's own.
  const zoned = /(?:Z|UTC?|GMT|[ECMP][SD]T|[+-]\d{2}:?\d{2})\s*(?:\([^)]*\))?$/i.test(trimmed)
    ? trimmed
    : `${trimmed} UTC`;
  return Date.parse(zoned) * 1000;
}

/** `20240229`, `2024-W09-4` or `2024-060`, before the time. */
const rareDate = /^(\d{4})(?:(\d\d)(\d\d)(?=T)|-?W(\d\d)-?([1-7])|-(\d{3}))(?=$|[T ])/i;
const basicTime = /^T(\d\d)(\d\d)(\d\d)?/i;

function readRare(found: RegExpExecArray, text: string): number {
  const [whole, year, month, day, week, weekday, ordinal] = found;
  const first = daysSince1970(Number(year), 1, 1);
  let days = Number.NaN;
  if (month) {
    const exists = Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1;
    if (exists && Number(day) <= daysIn(Number(year), Number(month)))
      days = daysSince1970(Number(year), Number(month), Number(day));
  } else if (ordinal) {
    const daysOfYear = 337 + daysIn(Number(year), 2);
    if (Number(ordinal) >= 1 && Number(ordinal) <= daysOfYear) days = first + Number(ordinal) - 1;
  } else if (Number(week) >= 1 && Number(week) <= 53) {
    // Week 1 is the one with 4 January in it; day 0 of 1970 was a Thursday.
    const fourth = first + 3;
    const monday = fourth - ((((fourth + 3) % 7) + 7) % 7);
    days = monday + (Number(week) - 1) * 7 + Number(weekday) - 1;
  }
  const rest = text.slice(whole.length).replace(basicTime, (_, hour, minute, second = "00") => {
    return `T${hour}:${minute}:${second}`;
  });
  if (rest === "" || Number.isNaN(days)) return days * dayMicros;
  const bytes = bytesOf(rest);
  return days * dayMicros + readTime(bytes, 1, bytes.length);
}

/** Seconds or milliseconds since 1970: past 10^11 it can only be milliseconds. */
export function readNumber(value: number): number {
  if (!Number.isFinite(value)) return Number.NaN;
  return Math.round(Math.abs(value) >= 1e11 ? value * 1000 : value * 1e6);
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** `count` digits as a number; -1 when one is missing. */
function digits(bytes: Uint8Array, from: number, count: number, to: number): number {
  if (from + count > to) return -1;
  let value = 0;
  for (let at = from; at < from + count; at++) {
    const digit = bytes[at]! - 0x30;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Days from 1970-01-01 in the proleptic Gregorian calendar; March-based years put the leap day last. */
function daysSince1970(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const ofEra = shifted - era * 400;
  const ofYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const days = ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear;
  return era * 146_097 + days - 719_468;
}
