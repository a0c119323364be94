// Timestamps of exported events. A text that can be read in two ways is not a timestamp.

import { type RecordOutcome, rejected } from "./record.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;
const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** How far ahead of the clock a timestamp may lie before the server would replace it, in ms. */
const aheadMsMax = 23 * 3_600_000;
/** The earliest time that ClickHouse's DateTime64 holds. */
const earliestMs = Date.UTC(1900, 0, 1);

export interface Timestamp {
  /** Milliseconds since 1970, UTC. */
  ms: number;
  /** RFC 3339, with every digit of the fraction that was given. */
  text: string;
}

/**
 * Milliseconds since 1970 of an RFC 3339 time (`2024-05-01T10:00:00.123+02:00`); NaN for any other text.
 * It reads characters without a regular expression, since it runs for every event of a file.
 */
export function rfc3339Ms(text: string): number {
  if (text.length < 20 || text.charCodeAt(4) !== 0x2d || text.charCodeAt(7) !== 0x2d) return Number.NaN;
  if (text.charCodeAt(10) !== 0x54) return Number.NaN;
  if (text.charCodeAt(13) !== 0x3a || text.charCodeAt(16) !== 0x3a) return Number.NaN;
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const day = dayOf(year, twoDigits(text, 5), twoDigits(text, 8));
  const clock = clockMs(twoDigits(text, 11), twoDigits(text, 14), twoDigits(text, 17));
  let at = 19;
  let fractionMs = 0;
  if (text.charCodeAt(at) === 0x2e) {
    let scale = 100;
    for (at++; isDigit(text.charCodeAt(at)); at++) {
      fractionMs += (text.charCodeAt(at) - 0x30) * scale;
      scale /= 10;
    }
    if (at === 20 || at > 29) return Number.NaN;
  }
  return day * dayMs + clock + Math.floor(fractionMs) - offsetMs(text, at);
}

/** The offset `Z` or `±HH:MM` at the end of the text, in ms; NaN for anything else. */
function offsetMs(text: string, at: number): number {
  const sign = text.charCodeAt(at);
  if (sign === 0x5a) return text.length === at + 1 ? 0 : Number.NaN;
  if ((sign !== 0x2b && sign !== 0x2d) || text.length !== at + 6) return Number.NaN;
  if (text.charCodeAt(at + 3) !== 0x3a) return Number.NaN;
  const [hours, minutes] = [twoDigits(text, at + 1), twoDigits(text, at + 4)];
  if (!(hours <= 23 && minutes <= 59)) return Number.NaN;
  return (sign === 0x2d ? -1 : 1) * (hours * 60 + minutes) * minuteMs;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function twoDigits(text: string, at: number): number {
  const [tens, ones] = [text.charCodeAt(at), text.charCodeAt(at + 1)];
  return isDigit(tens) && isDigit(ones) ? (tens - 0x30) * 10 + ones - 0x30 : Number.NaN;
}

/** Milliseconds since midnight. A leap second counts as the first second of the next minute. */
function clockMs(hours: number, minutes: number, seconds: number): number {
  if (!(hours <= 23 && minutes <= 59 && seconds <= 60)) return Number.NaN;
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

/** Days since 1970 of a date of the Gregorian calendar; NaN when there is no such day. */
function dayOf(year: number, month: number, day: number): number {
  if (!(month >= 1 && month <= 12 && day >= 1)) return Number.NaN;
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  if (day > monthDays[month - 1]! && !(month === 2 && leap && day === 29)) return Number.NaN;
  // Years that begin in March make February's length irrelevant.
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/**
 * The first value that is a timestamp; otherwise the rejection: none can be read, or the server would replace it.
 * `nowMs`: when the import began.
 */
export function importTimestamp(values: readonly unknown[], nowMs: number): Timestamp | RecordOutcome {
  let unreadable: unknown;
  for (const value of values) {
    const time = readTimestamp(value);
    const flaw = time && timeFlaw(time.ms, nowMs);
    if (time !== undefined) return flaw === undefined ? time : rejected(flaw);
    unreadable ??= value;
  }
  return rejected(unreadableTime(unreadable));
}

/** Why the server would replace this time; undefined when it would not. */
export function timeFlaw(ms: number, nowMs: number): string | undefined {
  if (ms > nowMs + aheadMsMax) return "the timestamp lies in the future";
  return ms < earliestMs ? "the timestamp lies before 1900" : undefined;
}

function unreadableTime(value: unknown): string {
  if (value === undefined || value === null || value === "") return "no timestamp";
  const text = JSON.stringify(value);
  return `cannot read the timestamp ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`;
}

/**
 * Reads a timestamp of an export: RFC 3339; dates, and times with a space, without seconds or zone (UTC),
 * with `UTC`, `+02` or `+0200`; RFC 2822; numbers of seconds, ms, µs or ns, told apart by their size.
 */
export function readTimestamp(value: unknown): Timestamp | undefined {
  if (typeof value === "number") return fromNumber(value);
  if (typeof value !== "string") return undefined;
  const ms = rfc3339Ms(value);
  if (!Number.isNaN(ms)) return { ms, text: value };
  const text = value.trim();
  if (/^-?\d{9,19}(\.\d+)?$/.test(text)) return fromNumber(Number(text));
  return fromParts(text) ?? fromMailDate(text);
}

const datePart = /(\d{4})([-/])(\d\d)\2(\d\d)/;
const timePart = /(?:[Tt ]+(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d*)?)?)?/;
const zonePart = / ?(Z|z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?/;
const parts = new RegExp(`^${datePart.source}${timePart.source}${zonePart.source}$`);

function fromParts(text: string): Timestamp | undefined {
  const found = parts.exec(text);
  if (found === null) return undefined;
  const [, year, , month, day, hours = "00", minutes = "00", seconds = "00", fraction, zone = "Z"] = found;
  const plain = `${year}-${month}-${day}T${hours}:${minutes}:${seconds}${fraction ? `.${fraction}` : ""}`;
  const canonical = `${plain}${zoneText(zone)}`;
  const ms = rfc3339Ms(canonical);
  return Number.isNaN(ms) ? undefined : { ms, text: canonical };
}

function zoneText(zone: string): string {
  if (!/^[+-]/.test(zone)) return "Z";
  const digits = zone.slice(1).replace(":", "").padEnd(4, "0");
  return `${zone[0]}${digits.slice(0, 2)}:${digits.slice(2)}`;
}

const mailDate =
  /^(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d(?::\d\d)? (?:[+-]\d{4}|GMT|UT|UTC|Z)$/;

function fromMailDate(text: string): Timestamp | undefined {
  return mailDate.test(text) ? fromMs(Date.parse(text)) : undefined;
}

function fromNumber(value: number): Timestamp | undefined {
  const size = Math.abs(value);
  // 1e10 seconds are in the year 2286, 1e10 ms in April 1970: exports have neither.
  if (size <= 1e10) return fromMs(Math.round(value * 1000));
  if (size < 1e14) return fromMs(Math.floor(value));
  if (size < 1e17) return fromMs(Math.floor(value / 1e3));
  return fromMs(Math.floor(value / 1e6));
}

const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

function fromMs(ms: number): Timestamp | undefined {
  if (!(ms >= -lastMs && ms <= lastMs)) return undefined;
  const text = new Date(ms).toISOString();
  // toISOString writes years before 0 with six digits; no event has such a time.
  return text.length === 24 ? { ms, text } : undefined;
}
