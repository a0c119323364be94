// The properties that members of a v1 event become: its options, session_id and window_id.

import { toBytes } from "../../core/bytes.ts";
import { knownKeys } from "../fields/event_fields.ts";

/**
 * Members of an event that are left out, with their slots in a list of ranges: the first three become properties. The
 * last is copied without blanks around it.
 */
export const beside = { session_id: 0, window_id: 2, options: 4, offset: 6, distinct_id: 8 } as const;
export const besideKeys = knownKeys(beside);

/** Options, with the property that each becomes. */
const knownOptions = {
  cookieless_mode: "$cookieless_mode",
  disable_skew_correction: "$ignore_sent_at",
  product_tour_id: "$product_tour_id",
  process_person_profile: "$process_person_profile",
};

/** Names of properties that are added, in place of earlier ones of the same names. */
const addedNames = ["$lib", "$lib_version", "$session_id", "$window_id", ...Object.values(knownOptions)];
/** Those names as raw keys. */
export const addedKeys = addedNames.map((name) => toBytes(`"${name}"`));

/**
 * The members that are added to an event's properties, as JSON without braces; undefined when an option is invalid.
 * @param ranges of the members besideKeys, [from, to) of raw values.
 * @param always members that are added to those of every event.
 */
export function readAdded(source: Buffer, ranges: Int32Array, always: string): string | undefined {
  let added = readOptions(source, ranges[beside.options]!, ranges[beside.options + 1]!);
  if (added === undefined) return undefined;
  for (const name of ["session_id", "window_id"] as const) {
    const [from, to] = [ranges[beside[name]]!, ranges[beside[name] + 1]!];
    if (to > 0 && source[from] !== 0x6e) added += `"$${name}":${source.toString("utf8", from, to)},`;
  }
  return always === "" ? added.slice(0, -1) : added + always;
}

/**
 * The properties that the options at [from, to) become, as members of JSON, each with a comma behind it; the bytes are
 * raw JSON. Unknown options are skipped. Undefined when the options are not an object, or one has an invalid value: the
 * event is then refused, since its sender's intent is unknown.
 */
function readOptions(source: Buffer, from: number, to: number): string | undefined {
  if (to - from <= 2) return to === 0 || source[from] === 0x7b ? "" : undefined;
  const options = JSON.parse(source.toString("utf8", from, to)) as Record<string, unknown> | null;
  if (options === null) return "";
  if (source[from] !== 0x7b) return undefined;
  let members = "";
  for (const [name, property] of Object.entries(knownOptions)) {
    const value = Object.hasOwn(options, name) ? options[name] : null;
    if (value === null) continue;
    const json = name === "product_tour_id" ? toText(value) : toFlag(value);
    if (json === undefined) return undefined;
    members += `"${property}":${json},`;
  }
  return members;
}

/** A flag as PostHog reads it: a boolean, a number, or a text for one. */
function toFlag(value: unknown): string | undefined {
  if (typeof value === "number") return String(value !== 0);
  const word = typeof value === "string" ? value.trim().toLowerCase() : value;
  if (word === true || word === "true" || word === "1") return "true";
  return word === false || word === "false" || word === "0" ? "false" : undefined;
}

/** A text, or a whole number as a text. */
function toText(value: unknown): string | undefined {
  if (Number.isSafeInteger(value)) return `"${String(value)}"`;
  return typeof value === "string" ? JSON.stringify(value) : undefined;
}

/** A raw text at [from, to), without its quotes, without the blanks at its ends. */
export function trimRaw(text: Uint8Array, from: number, to: number): [from: number, to: number] {
  let [start, end] = [from, to];
  for (let size = blankAt(text, start, end); size > 0; size = blankAt(text, start, end)) start += size;
  for (let size = blankBefore(text, start, end); size > 0; size = blankBefore(text, start, end)) end -= size;
  return [start, end];
}

/** Bytes of the blank at `from`, before `to`: a space, or an escaped tab or end of line; 0 for none. */
function blankAt(text: Uint8Array, from: number, to: number): number {
  if (from >= to) return 0;
  if (text[from] === 0x20) return 1;
  const escaped = text[from + 1]!;
  return text[from] === 0x5c && (escaped === 0x74 || escaped === 0x6e || escaped === 0x72) ? 2 : 0;
}

/** Bytes of the blank at the end of a raw text. */
function blankBefore(text: Uint8Array, from: number, to: number): number {
  if (to > from && text[to - 1] === 0x20) return 1;
  let slash = to - 2;
  while (slash >= from && text[slash] === 0x5c) slash--;
  // An even number of backslashes stand for themselves.
  return to - from >= 2 && (to - slash) % 2 === 1 ? blankAt(text, to - 2, to) : 0;
}

/** Whether the bytes are an opening brace and white space only. */
export function isOpening(bytes: Uint8Array, from: number, to: number): boolean {
  let at = to - 1;
  while (at > from && bytes[at]! <= 0x20) at--;
  return at === from;
}
