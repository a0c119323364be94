// The type of a property by its name and a raw JSON value, by PostHog's rules.

import { decodeText } from "../../core/bytes.ts";
import { definitionLimits } from "./limits.ts";

export type DetectedType = "String" | "Numeric" | "Boolean" | "DateTime";

/** A number at least this far back, in seconds since 1970, may be a moment. */
const momentSecondsBack = 15_768_000;
const momentNames = ["time", "timestamp", "date", "_at", "-at", "createdat", "updatedat"];

const dayFirst =
  /^(?:\d{4}[/-][0-2]\d[/-][0-3]\d|[0-2]\d[/-][0-3]\d[/-]\d{4})(?:$|[ Tt][0-2]\d:[0-6]\d:[0-6]\d)/;
const mailDate =
  /^(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}(?::\d{2})? (?:[+-]\d{4}|[A-Z]{1,4})$/;

/** Whether the first value of a property shows its type; a list, an object and null do not. */
export function showsType(first: number): boolean {
  return first !== 0x6e && (first & 0xdf) !== 0x5b;
}

/** The type of the raw value at [from, to); undefined when it shows none. `now` is in ms since 1970. */
export function detectType(
  name: string,
  bytes: Uint8Array,
  from: number,
  to: number,
  now: number,
): DetectedType | undefined {
  const first = bytes[from]!;
  const key = name.toLowerCase();
  if (alwaysText(key)) return "String";
  if (!showsType(first)) return undefined;
  if (first === 0x74 || first === 0x66) return "Boolean";
  if (first === 0x22) {
    const text = readText(bytes, from, to).trim();
    if (["true", "false", "TRUE", "FALSE"].includes(text)) return "Boolean";
    return dayFirst.test(text) || mailDate.test(text) ? "DateTime" : "String";
  }
  return isMoment(key, bytes, from, to, now) ? "DateTime" : "Numeric";
}

/** Values of flags and surveys may look like anything. */
function alwaysText(key: string): boolean {
  if (key.startsWith("utm_") || key.startsWith("$feature/")) return true;
  return key === "$feature_flag_response" || key.startsWith("$survey_response");
}

function isMoment(key: string, bytes: Uint8Array, from: number, to: number, now: number): boolean {
  if (!momentNames.some((part) => key.includes(part))) return false;
  for (let at = from; at < to; at++) if (bytes[at]! < 0x30 || bytes[at]! > 0x39) return false;
  const seconds = Number(decodeText(bytes, from, Math.min(to, from + 32)));
  return seconds >= now / 1000 - momentSecondsBack;
}

/** The beginning of a text, which is enough for its type. */
function readText(bytes: Uint8Array, from: number, to: number): string {
  const isShort = to - from <= definitionLimits.typeBytesMax;
  if (isShort) return JSON.parse(decodeText(bytes, from, to)) as string;
  return decodeText(bytes, from + 1, from + definitionLimits.typeBytesMax);
}
