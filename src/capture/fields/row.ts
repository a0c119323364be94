// A row: one event on its way into the columns. One object is reused for every event.

import { decodeText, hexValue, toBytes } from "../../core/bytes.ts";
import { readUuid } from "../../core/id.ts";
import { EventChanges, EventGroups } from "./changes.ts";
import { emptyRange } from "./raw_value.ts";

/**
 * Whose event it is: a person's, nobody's, or a person's that sets properties of its first group. Stored in event_rows.
 */
export const personMode = { full: 0, personless: 1, group: 2 } as const;

export type Row = ReturnType<typeof emptyRow>;

export function emptyRow() {
  const uuid = new Uint8Array(16);
  return {
    project_id: 0,
    /** 16 bytes in ClickHouse's order: two little-endian halves, the high one first. */
    uuid,
    uuidWords: new Uint32Array(uuid.buffer),
    event: emptyRange(),
    distinct_id: emptyRange(),
    /** JSON text of an object. */
    properties: emptyRange(),
    /** Microseconds since 1970, UTC. */
    timestamp: 0,
    /** Microseconds since 1970, UTC: when the row was appended; never goes back within a journal. */
    created_at: 0,
    historical_migration: false,
    /** One of personMode. */
    person_mode: personMode.full as number,
    /** The changes of its person, and of the group it identifies. */
    changes: new EventChanges(),
    groups: new EventGroups(),
    /** A merge it asks for, one of mergeKind, and the other id. */
    merge: 0,
    other_id: emptyRange(),
    /** Orders changes of one moment, and new uuids: the later arrival has the higher rank. */
    rank: 0,
    /** Warnings about it: bits of `warningBit`. Not stored. */
    warned: 0,
  };
}

/**
 * Reads a uuid, in the spellings of readUuid(), into `out`, as 16 bytes in ClickHouse's order; false for any other text
 * and for the nil uuid, which may have written a part of `out`.
 */
export function uuidFromText(source: Uint8Array, from: number, to: number, out: Uint8Array): boolean {
  if (to - from === 36) return readDigits(source, from, to, out);
  const uuid = to - from > 64 ? undefined : readUuid(decodeText(source, from, to));
  return uuid !== undefined && readDigits(toBytes(uuid), 0, 36, out);
}

/** Reads the digits of a uuid with dashes. */
function readDigits(source: Uint8Array, from: number, to: number, out: Uint8Array): boolean {
  let digit = 0;
  let isNil = true;
  for (let at = from; at < to; at++) {
    const offset = at - from;
    if (offset === 8 || offset === 13 || offset === 18 || offset === 23) {
      if (source[at] !== 0x2d) return false;
      continue;
    }
    const value = hexValue[source[at]!]!;
    if (value === 255) return false;
    if (value > 0) isNil = false;
    const byte = digit >> 1;
    const to = byte < 8 ? 7 - byte : 23 - byte;
    out[to] = (digit & 1) === 0 ? value << 4 : out[to]! | value;
    digit++;
  }
  return !isNil;
}

/** The text of a uuid in ClickHouse's order. */
export function uuidText(uuid: Uint8Array): string {
  let hex = "";
  for (let byte = 0; byte < 16; byte++) {
    hex += uuid[byte < 8 ? 7 - byte : 23 - byte]!.toString(16).padStart(2, "0");
    if (byte === 3 || byte === 5 || byte === 7 || byte === 9) hex += "-";
  }
  return hex;
}

/** A new UUIDv7 in ClickHouse's order, its time part from `millis`, and then the low 30 bits of its rank. */
export function newUuidBytes(millis: number, out: Uint8Array, rank: number): void {
  const tie = rank % 2 ** 30;
  crypto.getRandomValues(out);
  const time = Math.max(0, Math.floor(millis));
  let rest = time;
  for (let to = 2; to < 8; to++) {
    out[to] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  out[1] = 0x70 | ((tie >>> 26) & 0x0f);
  out[0] = (tie >>> 18) & 0xff;
  out[15] = 0x80 | ((tie >>> 12) & 0x3f);
  out[14] = (tie >>> 4) & 0xff;
  out[13] = ((tie & 0x0f) << 4) | (out[13]! & 0x0f);
}
