// Reads one entry of the index into a row, or finds out why it is not stored.

import { decodeText, isTextAt, toBytes } from "../../core/bytes.ts";
import { limits } from "../../core/limits.ts";
import { type CookielessContext, isCookieless, readCookieless } from "../cookieless/visit.ts";
import type { Repaired } from "../decode/repair.ts";
import type { GroupTypes } from "../fields/changes.ts";
import {
  alteration,
  type EntryOffset,
  field,
  grade,
  gradeIn,
  toOffset,
  trait,
} from "../fields/event_fields.ts";
import { checkEventRule, notStored } from "../fields/event_rules.ts";
import { type Reason, warningBit } from "../fields/outcome.ts";
import {
  type ByteRange,
  cutText,
  emptyRange,
  readCompact,
  readString,
  setBytes,
} from "../fields/raw_value.ts";
import { newUuidBytes, type Row, uuidFromText } from "../fields/row.ts";
import { captureLimits } from "../limits.ts";
import { BodyScanner } from "../scan/body_scanner.ts";
import type { EventIndex } from "../scan/event_index.ts";
import { aheadMicrosMax, readEventTime, readSkew, timestampMicrosMin } from "../scan/timestamp.ts";
import { readRank } from "./first_ranks.ts";
import { readEventIdentity } from "./identity.ts";
import { sanitize } from "./sanitize.ts";
import { readOnce, readProperties } from "./stored_properties.ts";

export interface EventContext {
  project_id: number;
  historical_migration: boolean;
  /** When the request arrived, in microseconds since 1970. */
  received: number;
  /** How far the client's clock is ahead of ours, in microseconds; 0 when unknown or too little to matter. */
  skew: number;
  /** Group types that the project may have; any when absent. */
  groupTypes?: GroupTypes;
  /** Events without a name are `$identify` calls (/engage). */
  allowsNameless?: boolean;
  /** How cookieless events are handled; when absent, they are ignored. */
  cookieless?: CookielessContext;
  /** Set for a cookieless event that was rewritten. */
  isScrubbed?: boolean;
}

const identifyEvent = toBytes("$identify");
const snapshotPrefix = toBytes("$snapshot");
/** Overwritten by each isSnapshot(). */
const name = emptyRange();

/**
 * Reads entry `at` (an offset into index.entries) into `row`.
 * @returns why the event is ignored; "recording" when it is a piece of a recording, which the recorder reads; undefined
 * when the row is filled.
 */
export function readEvent(
  index: EventIndex,
  at: EntryOffset,
  context: EventContext,
  row: Row,
): Reason | "recording" | undefined {
  const { bytes, entries } = index;
  const size = entries[at + field.item + 1]! - entries[at + field.item]!;
  const nameFrom = entries[at + field.event]! + 1;
  row.warned = 0;
  if (
    (entries[at + field.altered]! & alteration.characters) !== 0 &&
    // A larger event is not stored at all.
    size <= limits.eventBytesMax &&
    !isTextAt(bytes, nameFrom, nameFrom + snapshotPrefix.length, snapshotPrefix)
  ) {
    sanitize(bytes, entries[at + field.item]!, entries[at + field.item + 1]!);
    row.warned = warningBit.unstorable_characters_replaced;
  }
  if (index.repaired) row.warned |= repairsIn(index.repaired, entries[at + field.item]!, size);
  if (context.allowsNameless && entries[at + field.event + 1] === 0) {
    setBytes(row.event, identifyEvent, 0, identifyEvent.length);
  } else if (!readString(bytes, entries[at + field.event]!, entries[at + field.event + 1]!, row.event)) {
    return "missing_event_name";
  }
  // Checked before the size: pieces of recordings have a bound of their own.
  if (startsWith(row.event, snapshotPrefix)) return "recording";
  if (size > limits.eventBytesMax) return "message_size_too_large";
  const unstored = notStored(row.event);
  if (unstored) return unstored;
  const once = readOnce(index, at);
  if (once !== undefined) return readRewritten(toBytes(`[${once}]`), context, row);
  row.project_id = context.project_id;
  const wrong = readDistinctId(index, at, row) ?? readProperties(index, at, row.properties);
  if (wrong) return wrong;
  if (!context.isScrubbed) {
    if (gradeIn(index.entries[at + field.traits]!, trait.$cookieless_mode) === grade.wrong) {
      return "invalid_cookieless_mode";
    }
    if (isCookieless(index, at, row)) return readScrubbed(index, at, context, row);
  }
  const refused = checkEventRule(index, at, row);
  if (refused) return refused;
  readEventIdentity(index, at, context.groupTypes, row);
  row.historical_migration = context.historical_migration;
  row.timestamp = readTimestamp(index, at, context, row);
  readUuid(index, at, row);
  row.rank = readRank(index, at) ?? row.rank;
  return undefined;
}

/** Whether entry `at` is a piece of a recording, by its name. */
export function isSnapshot({ bytes, entries }: EventIndex, at: EntryOffset): boolean {
  const [from, to] = [entries[at + field.event]!, entries[at + field.event + 1]!];
  return to > from && readString(bytes, from, to, name) && startsWith(name, snapshotPrefix);
}

function readScrubbed(
  index: EventIndex,
  at: EntryOffset,
  context: EventContext,
  row: Row,
): Reason | "recording" | undefined {
  const timestamp = readTimestamp(index, at, context, row);
  const event = readCookieless(index, at, row, context.cookieless, { ...context, timestamp });
  return typeof event === "string" ? event : readRewritten(event, { ...context, isScrubbed: true }, row);
}

/**
 * Reads an event in its rewritten form.
 * @param list the only member of a list, since an event that has a member `batch` would be read as a batch.
 */
function readRewritten(list: Uint8Array, context: EventContext, row: Row): Reason | "recording" | undefined {
  const { warned } = row;
  const scanner = new BodyScanner(list, { allowsNameless: context.allowsNameless ?? false });
  while (!scanner.advance(captureLimits.sliceBytesMax));
  const refused = readEvent(scanner.index, toOffset(0), context, row);
  row.warned |= warned;
  return refused;
}

/** Warnings of what was repaired in an item. */
function repairsIn(repaired: Repaired, from: number, size: number): number {
  const text = repaired.offsetIn(from, from + size, "text") < 0 ? 0 : warningBit.invalid_utf8_replaced;
  const number = repaired.offsetIn(from, from + size, "number") < 0 ? 0 : warningBit.invalid_number_replaced;
  return text | number;
}

/**
 * The event's own distinct_id, or else the one in its properties. Null counts as absent; numbers, true and false become
 * their text, lists and objects compact JSON.
 */
export function readDistinctId(index: EventIndex, at: EntryOffset, row: Row): Reason | undefined {
  const { bytes, entries } = index;
  const out = row.distinct_id;
  let [from, to] = [entries[at + field.distinct_id]!, entries[at + field.distinct_id + 1]!];
  if (to === 0 || bytes[from] === 0x6e) {
    from = entries[at + field.properties_distinct_id]!;
    to = entries[at + field.properties_distinct_id + 1]!;
  }
  if (to === 0 || bytes[from] === 0x6e) return "missing_distinct_id";
  if (bytes[from] === 0x7b || bytes[from] === 0x5b) readCompact(bytes, from, to, out);
  else if (bytes[from] !== 0x22) setBytes(out, bytes, from, to);
  else if (!readString(bytes, from, to, out)) return "empty_distinct_id";
  if (isBlank(out)) return "empty_distinct_id";
  if (cutText(out, captureLimits.distinctIdCharsMax)) row.warned |= warningBit.distinct_id_truncated;
  return undefined;
}

function isBlank({ source, from, to }: ByteRange): boolean {
  for (let at = from; at < to; at++) {
    const byte = source[at]!;
    // There is white space beyond ASCII (no-break and ideographic spaces): the runtime decides.
    if (byte >= 0x80) return decodeText(source, from, to).trim() === "";
    if (byte > 0x20) return false;
  }
  return true;
}

/**
 * The event's time: now less `offset` if it has one, else `timestamp` less the client's skew, else now. A time that
 * cannot be read, that no column holds, or that is more than 23 h ahead becomes now, with a warning.
 */
function readTimestamp(index: EventIndex, at: EntryOffset, context: EventContext, row: Row): number {
  const { bytes, entries } = index;
  const { received } = context;
  const offsetEnd = entries[at + field.offset + 1]!;
  const offset =
    offsetEnd > 0 ? Number(decodeText(bytes, entries[at + field.offset]!, offsetEnd)) : Number.NaN;
  let micros = received - Math.round(offset * 1000);
  if (Number.isNaN(micros)) {
    const [from, to] = [entries[at + field.timestamp]!, entries[at + field.timestamp + 1]!];
    if (to === 0 || bytes[from] === 0x6e) return received;
    micros = readEventTime(bytes, from, to, received) - readSkew(entries, at, context.skew);
  }
  if (micros >= timestampMicrosMin && micros <= received + aheadMicrosMax) return micros;
  row.warned |=
    micros > received ? warningBit.event_timestamp_in_future : warningBit.ignored_invalid_timestamp;
  return received;
}

function readUuid(index: EventIndex, at: EntryOffset, row: Row): void {
  const { bytes, entries } = index;
  const [from, to] = [entries[at + field.uuid]!, entries[at + field.uuid + 1]!];
  if (to > 0 && bytes[from] !== 0x6e) {
    if (bytes[from] === 0x22 && uuidFromText(bytes, from + 1, to - 1, row.uuid)) return;
    // An empty one counts as absent, without a warning.
    if (to - from !== 2) row.warned |= warningBit.invalid_event_uuid;
  }
  newUuidBytes(row.timestamp / 1000, row.uuid, row.rank);
}

function startsWith({ source, from, to }: ByteRange, bytes: Uint8Array): boolean {
  return isTextAt(source, from, Math.min(to, from + bytes.length), bytes);
}
