// The texts of warnings: why an event was ignored, altered or warned about, with the values that a person needs to act.

import { decodeText, toBytes } from "../../core/bytes.ts";
import { limits } from "../../core/limits.ts";
import type { Repaired } from "../decode/repair.ts";
import { locateRepair } from "../decode/repaired_place.ts";
import { field } from "../fields/event_fields.ts";
import type { Example, Reason, Warning } from "../fields/outcome.ts";
import { emptyRange, rangeText, readCompact, readMember } from "../fields/raw_value.ts";
import { uuidText } from "../fields/row.ts";
import { captureLimits } from "../limits.ts";
import { sentences } from "./sentences.ts";
import type { WarningRow } from "./warning.ts";

/** The field of the event that a type is about. */
const quoted: Partial<Record<Reason | Warning, keyof typeof field>> = {
  missing_event_name: "event",
  empty_distinct_id: "distinct_id",
  malformed_event_properties: "properties",
  distinct_id_truncated: "distinct_id",
  ignored_invalid_timestamp: "timestamp",
  event_timestamp_in_future: "timestamp",
  cookieless_timestamp_out_of_range: "timestamp",
  invalid_event_uuid: "uuid",
};

/**
 * An example as a row; `bytes` are the body that its entry points into, `now` in microseconds, `repaired` the places
 * where the body was repaired.
 */
export function warningText(
  example: Example<Reason | Warning>,
  bytes: Uint8Array,
  project_id: number,
  now: number,
  repaired?: Repaired,
): WarningRow {
  const { type, index, entry, uuid } = example;
  const raw = (name: keyof typeof field): string | undefined => {
    const [from, to] = [entry?.[field[name]] ?? 0, entry?.[field[name] + 1] ?? 0];
    return to > from ? rawText(bytes, from, to) : undefined;
  };
  const details: Record<string, unknown> = { message: sentences[type], index };
  if (type === "client_ingestion_warning" && entry) {
    const message = clientsMessage(bytes, entry);
    if (message !== undefined) details["message"] = message;
  }
  if (repaired && entry && (type === "invalid_utf8_replaced" || type === "invalid_number_replaced")) {
    const kind = type === "invalid_utf8_replaced" ? "text" : "number";
    const [from, to] = [entry[field.item]!, entry[field.item + 1]!];
    Object.assign(details, locateRepair(bytes, from, repaired.offsetIn(from, to, kind)));
  }
  const name = quoted[type];
  if (name) Object.assign(details, { field: name, value: raw(name) });
  if (type === "ignored_invalid_timestamp" || type === "event_timestamp_in_future") {
    Object.assign(details, { offset: raw("offset") });
  }
  if (type === "message_size_too_large" && entry) {
    const size = entry[field.item + 1]! - entry[field.item]!;
    Object.assign(details, { bytes: size, bytes_max: limits.eventBytesMax });
  }
  const rawUuid = raw("uuid");
  if (uuid) details["event_uuid"] = uuidText(uuid);
  else if (rawUuid !== undefined) details["event_uuid"] = plainText(rawUuid);
  return {
    project_id,
    type,
    details: JSON.stringify(details),
    event: plainText(raw("event") ?? ""),
    distinct_id: idText(bytes, entry, raw),
    count: 1,
    timestamp: now,
  };
}

const messageKey = toBytes("$$client_ingestion_warning_message");

function clientsMessage(bytes: Uint8Array, entry: Int32Array): string | undefined {
  const [from, to] = [entry[field.properties]!, entry[field.properties + 1]!];
  if (bytes[from] !== 0x7b || to - from > captureLimits.warningSearchBytesMax) return undefined;
  const found = readMember(bytes, from, messageKey);
  return found && bytes[found[0]] === 0x22
    ? plainText(rawText(bytes, ...found, captureLimits.clientMessageCharsMax))
    : undefined;
}

/** The distinct id as it would be stored: the event's, or else the one in its properties. */
function idText(
  bytes: Uint8Array,
  entry: Int32Array | undefined,
  raw: (name: keyof typeof field) => string | undefined,
): string {
  for (const name of ["distinct_id", "properties_distinct_id"] as const) {
    const text = raw(name);
    if (text === undefined || !entry) continue;
    if (text[0] !== "[" && text[0] !== "{") return plainText(text);
    readCompact(bytes, entry[field[name]]!, entry[field[name] + 1]!, compact);
    return rangeText(compact).slice(0, captureLimits.warningValueCharsMax);
  }
  return "";
}

/** Overwritten for each distinct id that is a list or an object. */
const compact = emptyRange();

/** The first characters of a raw JSON value. */
function rawText(
  bytes: Uint8Array,
  from: number,
  to: number,
  charsMax: number = captureLimits.warningValueCharsMax,
): string {
  // At most four bytes a character; a character cut in half decodes to U+FFFD behind the cut.
  const end = Math.min(to, from + 4 * charsMax);
  return decodeText(bytes, from, end).slice(0, charsMax);
}

/** A raw JSON text without its quotes and escapes; one that was cut, without its first quote. */
function plainText(raw: string): string {
  if (!raw.startsWith('"')) return raw;
  try {
    // Columns cannot hold all of it: it may be of an ignored event, which is not repaired.
    return (JSON.parse(raw) as string).toWellFormed().replaceAll("\0", "\ufffd");
  } catch {
    return raw.slice(1);
  }
}
