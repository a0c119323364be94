// Timestamps of exported events. A text that can be read in two ways is not a timestamp.

import { type RecordOutcome, rejected } from "./record.ts";

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

const rfc3339 =
  /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Milliseconds since 1970 of an RFC 3339 time (`2024-05-01T10:00:00.123+02:00`); NaN for any other text. */
export function rfc3339Ms(text: string): number {
  if (!rfc3339.test(text)) return Number.NaN;
  const day = Number(text.slice(8, 10));
  // Date.parse takes 30 February for 1 March.
  if (day > 28 && new Date(Date.parse(text.slice(0, 10))).getUTCDate() !== day) return Number.NaN;
  // A leap second counts as the first second of the next minute.
  if (text.startsWith("60", 17)) return Date.parse(`${text.slice(0, 17)}59${text.slice(19)}`) + 1000;
  return Date.parse(text);
}

/**
 * The first value that is a timestamp; otherwise the rejection: none can be read, or the server would replace it.
 * `nowMs`: when the import began.
 */
export function importTimestamp(values: readonly unknown[], nowMs: number): Timestamp | RecordOutcome {
  let unreadable: unknown;
  for (const value of values) {
    const time = readTimestamp(value);
    const problem = time && timeProblem(time.ms, nowMs);
    if (time !== undefined) return problem === undefined ? time : rejected(problem);
    unreadable ??= value;
  }
  return rejected(unreadableTime(unreadable));
}

/** Why the server would replace this time; undefined when it would not. */
export function timeProblem(ms: number, nowMs: number): string | undefined {
  if (ms > nowMs + aheadMsMax) return "the timestamp lies in the future";
  return ms < earliestMs ? "the timestamp lies before 1900" : undefined;
}

function unreadableTime(value: unknown): string {
  if (value === undefined || value === null || value === "") return "no timestamp";
  const text = JSON.stringify(value);
  return `cannot read the timestamp ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`;
}

/**
 * Reads a timestamp of an export: RFC 3339; dates, and times with a space, without seconds or zone (UTC), with `UTC`,
 * `+02` or `+0200`; RFC 2822; numbers of seconds, ms, µs or ns, distinguished by their size.
 */
export function readTimestamp(value: unknown): Timestamp | undefined {
  if (typeof value === "number") return fromNumber(value);
  if (typeof value !== "string") return undefined;
  const ms = rfc3339Ms(value);
  if (!Number.isNaN(ms)) return { ms, text: value };
  const text = value.trim();
  if (/^-?\d{9,19}(\.\d+)?$/.test(text)) return fromNumber(Number(text));
  return fromParts(text) ?? (mailDate.test(text) ? fromMs(Date.parse(text)) : undefined);
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
