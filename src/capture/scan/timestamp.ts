// Times as SDKs write them, as microseconds since 1970 UTC. What cannot be read is NaN.

import { decodeText } from "../../core/bytes.ts";
import { type EntryOffset, field, grade, gradeIn, trait } from "../fields/event_fields.ts";
import { daysIn, daysSince1970, readWrittenTime } from "./written_time.ts";

const dayMicros = 86_400_000_000;

/** The earliest time ClickHouse's DateTime64 holds, and the latest a client's clock may be ahead, in µs. */
export const timestampMicrosMin = Date.UTC(1900, 0, 1) * 1000;
export const aheadMicrosMax = 23 * 3_600_000_000;

/** A raw JSON value as a time, in microseconds since 1970, at the moment `now`; NaN when it is none. */
export function readEventTime(bytes: Uint8Array, from: number, to: number, now: number): number {
  const isText = bytes[from] === 0x22;
  const micros = isText ? readIso(bytes, from + 1, to - 1) : Number.NaN;
  if (!Number.isNaN(micros)) return micros;
  const text = decodeText(bytes, from, to);
  return readWrittenTime(isText ? (JSON.parse(text) as string) : text, { now });
}

/**
 * Reads an ISO 8601 time at `from` (exclusive end `to`) without making an object: date, optional time with up to any
 * number of fraction digits (kept to the microsecond), `Z`, `±hh`, `±hhmm`, `±hh:mm` or no zone (UTC). NaN for anything
 * else; readWrittenTime() may still know it.
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

/** How far the clock is off that dated entry `at`; `skew`: that of its request, both in microseconds. */
export function readSkew(entries: Int32Array, at: EntryOffset, skew: number): number {
  return gradeIn(entries[at + field.traits]!, trait.$ignore_sent_at) === grade.sound ? 0 : skew;
}
