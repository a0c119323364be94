// A snapshot: an event that carries a piece of a session's recording, read into a row of its own lane. Never takes one
// for an event, and never changes what its recorder wrote.

import { bytesOf } from "../core/bytes.ts";
import { limits } from "../core/limits.ts";
import { readDistinctId } from "./event.ts";
import { field } from "./member.ts";
import type { Reason } from "./outcome.ts";
import { type Row, emptyRow, uuidFromText } from "./row.ts";
import type { Span } from "./span.ts";
import type { Scan } from "./scan.ts";
import { type SnapshotFacts, Members, readFacts } from "./snapshot_facts.ts";

/** One chunk of a recording on its way into the columns. Its timestamp is when it came: that decides the partition. */
export interface SnapshotRow {
  project_id: number;
  /** 16 bytes in ClickHouse's order. */
  uuid: Uint8Array;
  session_id: string;
  window_id: string;
  distinct_id: Span;
  /** `web` unless the recorder says otherwise. */
  source: string;
  facts: SnapshotFacts;
  /** JSON text of an rrweb event or an array of them. */
  data: Span;
  /** Microseconds since 1970: when the journal took it; like the next. */
  timestamp: number;
  expires_at: number;
}

export interface SnapshotSending {
  project_id: number;
  /** When the request arrived, in microseconds since 1970. */
  received: number;
}

const key = {
  session_id: bytesOf("$session_id"),
  window_id: bytesOf("$window_id"),
  data: bytesOf("$snapshot_data"),
  items: bytesOf("$snapshot_items"),
  source: bytesOf("$snapshot_source"),
};

/** Filled anew for every snapshot; its taker copies what it needs. */
const row: Row = emptyRow();

/**
 * Reads entry `at` of the scan, whose name begins with `$snapshot`. The row's moments are left to its taker;
 * its uuid and distinct_id are valid until the next call.
 * @returns why it is not taken, or the row.
 */
export function readSnapshot(scan: Scan, at: number, sending: SnapshotSending): SnapshotRow | Reason {
  const { bytes, entries } = scan;
  if (entries[at + field.item + 1]! - entries[at + field.item]! > limits.snapshotBytesMax) {
    return "snapshot_too_large";
  }
  const refused = readDistinctId(scan, at, row);
  if (refused) return refused;
  const properties = entries[at + field.properties]!;
  if (bytes[properties] !== 0x7b) return "malformed_event_properties";
  const member = new Members(bytes);
  let [session_id, window_id, source] = ["", "", ""];
  let [from, to] = [0, 0];
  member.open(properties);
  while (member.next()) {
    if (member.is(key.session_id)) session_id = member.text();
    else if (member.is(key.window_id)) window_id = member.text();
    else if (member.is(key.source)) source = member.text();
    else if (member.is(key.data) || member.is(key.items)) [from, to] = [member.from, member.to];
  }
  // Of 200 characters and more, nobody made an id.
  if (session_id === "" || session_id.length > limits.sessionIdCharsMax) return "missing_session_id";
  const latest = sending.received / 1000 + limits.snapshotAheadMsMax;
  const facts = readFacts(bytes, from, latest);
  if (to === 0 || facts.events === 0) return "missing_snapshot_data";
  const data = { source: bytes, from, to };
  const [uuidFrom, uuidTo] = [entries[at + field.uuid]!, entries[at + field.uuid + 1]!];
  const named = bytes[uuidFrom] === 0x22 && uuidFromText(bytes, uuidFrom + 1, uuidTo - 1, row.uuid);
  if (!named) hashInto(row.uuid, data, `${session_id}\n${window_id}`);
  return {
    project_id: sending.project_id,
    uuid: row.uuid,
    session_id,
    window_id: window_id.slice(0, limits.sessionIdCharsMax),
    distinct_id: row.distinct_id,
    source: source.slice(0, limits.snapshotSourceCharsMax) || "web",
    facts,
    data,
    timestamp: 0,
    expires_at: 0,
  };
}

/** A chunk without a uuid is the same as another with the same content: a client's retry becomes one row too. */
function hashInto(uuid: Uint8Array, { source, from, to }: Span, salt: string): void {
  const view = new DataView(uuid.buffer, uuid.byteOffset, uuid.length);
  const seed = Bun.hash.xxHash64(salt);
  const content = source.subarray(from, to);
  view.setBigUint64(0, Bun.hash.xxHash64(content, seed), true);
  view.setBigUint64(8, Bun.hash.xxHash64(content, seed ^ 0x5bd1e995n), true);
}
