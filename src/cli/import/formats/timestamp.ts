// Timestamps of exported events, read as /batch reads them. A text that can be read in two ways is not a timestamp.

import { readIso } from "../../../capture/scan/timestamp.ts";
import { readWrittenTime } from "../../../capture/scan/written_time.ts";
import { type RecordOutcome, rejected } from "./record.ts";

/** How far ahead of the clock a timestamp may lie before the server would replace it, in ms. */
const aheadMsMax = 23 * 3_600_000;
/** The earliest time that ClickHouse's DateTime64 holds. */
const earliestMs = Date.UTC(1900, 0, 1);

export interface Timestamp {
  /** Milliseconds since 1970, UTC. */
  ms: number;
  /** RFC 3339. */
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

/** Rules by which the times of one import are read. */
export interface TimeRules {
  /** When the import began. */
  nowMs: number;
  /** How `06.05.2024` and the like are read. */
  dates: "month-first" | "day-first" | "refused";
}

/**
 * The first value that is a timestamp and that the server would keep; otherwise the rejection: the server would replace
 * the first that can be read, or none can. A program without a time may write 0: any other counts before it.
 */
export function importTimestamp(values: readonly unknown[], rules: TimeRules): Timestamp | RecordOutcome {
  let unreadable: unknown;
  let firstProblem: string | undefined;
  let zero: Timestamp | undefined;
  for (const value of values) {
    const time = readTimestamp(value, rules.dates);
    const problem = time && timeProblem(time.ms, rules.nowMs);
    if (time && problem === undefined && time.ms !== 0) return time;
    if (time?.ms === 0) zero ??= time;
    firstProblem ??= problem;
    unreadable ??= value;
  }
  return zero ?? rejected(firstProblem ?? unreadableTime(unreadable));
}

/** Why the server would replace this time; undefined when it would not. */
export function timeProblem(ms: number, nowMs: number): string | undefined {
  if (ms > nowMs + aheadMsMax) return "the timestamp lies in the future";
  return ms < earliestMs ? "the timestamp lies before 1900" : undefined;
}

function unreadableTime(value: unknown): string {
  if (value === undefined || value === null || value === "") return "no timestamp";
  const text = JSON.stringify(value);
  const timeText = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  const hasOrder = readTimestamp(value, "day-first") ?? readTimestamp(value, "month-first");
  return `cannot read the timestamp ${timeText}${hasOrder ? "; say --dates day-first or month-first" : ""}`;
}

/** Reads a timestamp of an export: RFC 3339, kept as it is written, or whatever /batch reads. */
export function readTimestamp(value: unknown, dates: TimeRules["dates"]): Timestamp | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const text = String(value);
  const ms = rfc3339Ms(text);
  if (!Number.isNaN(ms)) return { ms, text };
  const bytes = Buffer.from(text);
  const iso = readIso(bytes, 0, bytes.length);
  return fromMicros(Number.isNaN(iso) ? readWrittenTime(text, { numericDates: dates }) : iso);
}

const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

function fromMicros(micros: number): Timestamp | undefined {
  const ms = Math.floor(micros / 1000);
  if (!(ms >= -lastMs && ms <= lastMs)) return undefined;
  const text = new Date(ms).toISOString();
  // toISOString writes years before 0 with six digits; no event has such a time.
  if (text.length !== 24) return undefined;
  const rest = micros - ms * 1000;
  return { ms, text: rest === 0 ? text : `${text.slice(0, -1)}${String(rest).padStart(3, "0")}Z` };
}
