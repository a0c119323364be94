// Reads a snapshot, an event that carries a piece of a session's recording, into a row of the lane of recordings. What
// the recorder wrote is kept byte by byte.

import type { Slices } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import { readDistinctId } from "../event/event.ts";
import { type EntryOffset, field } from "../fields/event_fields.ts";
import type { Reason } from "../fields/outcome.ts";
import type { ByteRange } from "../fields/raw_value.ts";
import { emptyRow, type Row, uuidFromText } from "../fields/row.ts";
import { captureLimits } from "../limits.ts";
import type { EventIndex } from "../scan/event_index.ts";
import { aheadMicrosMax, readSkew } from "../scan/timestamp.ts";
import type { SnapshotFacts } from "./snapshot_facts.ts";
import { textAt, type ValueRange } from "./snapshot_values.ts";
import { SnapshotWalker } from "./snapshot_walker.ts";

/** A piece of a recording. Its timestamp is its arrival, which decides the partition. */
export interface SnapshotRow {
  project_id: number;
  /** 16 bytes in ClickHouse's order. */
  uuid: Uint8Array;
  session_id: string;
  window_id: string;
  distinct_id: ByteRange;
  /** The recorder's name; by default `web`. */
  source: string;
  facts: SnapshotFacts;
  /** The client's clock less ours, in microseconds: facts have the client's times. */
  skew: number;
  /** JSON text of one rrweb event or an array of them. */
  data: ByteRange;
  /** Whether the row owns the bytes of `data`; otherwise they are the body's. */
  own: boolean;
  /** Arrival and end of its retention, in microseconds since 1970. */
  timestamp: number;
  expires_at: number;
}

export interface SnapshotContext {
  project_id: number;
  /** When the request arrived, in microseconds since 1970. */
  received: number;
  /** The client's clock less ours, in microseconds. */
  skew: number;
}

/** Reads snapshots, one at a time; the row of one is valid until the next. The caller sets the row's times. */
export class SnapshotReader {
  readonly #walk = new SnapshotWalker();
  readonly #row: Row = emptyRow();

  /**
   * Reads entry `at`, whose name begins with `$snapshot`, in slices: its properties; then, where needed, hashes and
   * copies the recording's bytes. Returns the row, or the reason why it is ignored.
   */
  *read(
    index: EventIndex,
    at: EntryOffset,
    context: SnapshotContext,
    sliceBytes: number = captureLimits.snapshotSliceBytesMax,
  ): Slices<SnapshotRow | Reason> {
    const refused = this.#refused(index, at);
    if (refused) return refused;
    const skew = readSkew(index.entries, at, context.skew);
    const latest = (context.received + skew + aheadMicrosMax) / 1000;
    this.#walk.open(index.bytes, index.entries[at + field.properties]!, latest);
    while (!this.#walk.advance(sliceBytes)) yield;
    const row = this.#toRow(index, { ...context, skew });
    if (typeof row !== "string") yield* copyAndHash(row, readUuid(index, at, row.uuid));
    return row;
  }

  #refused(index: EventIndex, at: EntryOffset): Reason | undefined {
    const { bytes, entries } = index;
    if (entries[at + field.item + 1]! - entries[at + field.item]! > captureLimits.snapshotBytesMax) {
      return "snapshot_too_large";
    }
    const refused = readDistinctId(index, at, this.#row);
    if (refused) return refused;
    const isObject = bytes[entries[at + field.properties]!] === 0x7b;
    return isObject ? undefined : "malformed_event_properties";
  }

  /** Makes the row from what the walk found. */
  #toRow({ bytes }: EventIndex, { project_id, skew }: SnapshotContext): SnapshotRow | Reason {
    const { sessionId, windowId, source, data, collector } = this.#walk;
    const { facts } = collector;
    const readText = (range: ValueRange) => (range.to === 0 ? "" : textAt(bytes, range));
    const session_id = readText(sessionId);
    if (session_id === "" || session_id.length > limits.sessionIdCharsMax) return "missing_session_id";
    if (data.to === 0 || facts.events === 0) return "missing_snapshot_data";
    collector.boundTimes(session_id);
    return {
      project_id,
      uuid: this.#row.uuid,
      session_id,
      window_id: readText(windowId),
      distinct_id: this.#row.distinct_id,
      source: readText(source).slice(0, captureLimits.snapshotSourceCharsMax) || "web",
      facts,
      skew,
      data: { source: bytes, from: data.from, to: data.to },
      own: false,
      timestamp: 0,
      expires_at: 0,
    };
  }
}

/** Reads the client's uuid; returns false when it sent none. */
function readUuid({ bytes, entries }: EventIndex, at: EntryOffset, out: Uint8Array): boolean {
  const [from, to] = [entries[at + field.uuid]!, entries[at + field.uuid + 1]!];
  return bytes[from] === 0x22 && uuidFromText(bytes, from + 1, to - 1, out);
}

/**
 * A piece without a uuid gets one from its content, so that a client's retry becomes one row too. A long piece is
 * copied, and the block then borrows the copy.
 */
function* copyAndHash(row: SnapshotRow, hasUuid: boolean): Slices<void> {
  const { source, from, to } = row.data;
  const seed = Bun.hash.xxHash64(`${row.session_id}\n${row.window_id}`);
  row.window_id = row.window_id.slice(0, limits.sessionIdCharsMax);
  // Fixed slices, so that the hash does not depend on how the piece was read.
  const sliceMax = captureLimits.snapshotSliceBytesMax;
  const copy = to - from > sliceMax ? Buffer.allocUnsafeSlow(to - from) : undefined;
  if (hasUuid && !copy) return;
  let [head, tail] = [seed, seed ^ 0x5bd1e995n];
  for (let at = from; at < to; at += sliceMax) {
    if (at > from) yield;
    const content = source.subarray(at, Math.min(to, at + sliceMax));
    if (!hasUuid) [head, tail] = [Bun.hash.xxHash64(content, head), Bun.hash.xxHash64(content, tail)];
    copy?.set(content, at - from);
  }
  if (!hasUuid) {
    const view = new DataView(row.uuid.buffer, row.uuid.byteOffset, row.uuid.length);
    view.setBigUint64(0, head, true);
    view.setBigUint64(8, tail, true);
  }
  if (!copy) return;
  row.data = { source: copy, from: 0, to: copy.length };
  row.own = true;
}
