// Reads a snapshot, an event that carries a piece of a session's recording, into a row of the lane of recordings. What
// the recorder wrote is kept byte by byte.

import { limits } from "../../core/limits.ts";
import { readDistinctId } from "../event/event.ts";
import type { Reason } from "../event/outcome.ts";
import { emptyRow, type Row, uuidFromText } from "../event/row.ts";
import { captureLimits } from "../limits.ts";
import type { ByteRange } from "../scan/byte_range.ts";
import { type EntryOffset, field, offsetOf } from "../scan/event_fields.ts";
import type { EventIndex } from "../scan/event_index.ts";
import { recordingLimits } from "./limits.ts";
import { type SnapshotFacts, textAt, type ValueRange } from "./snapshot_facts.ts";
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
}

/** Whether entry `at` is so long that it is read in slices. */
export function isLongSnapshot({ entries }: EventIndex, at: EntryOffset): boolean {
  return entries[at + field.item + 1]! - entries[at + field.item]! > recordingLimits.snapshotSliceBytesMax;
}

/**
 * Reads one snapshot in slices: its properties; then, where needed, hashes and copies the recording's bytes. The caller
 * sets the row's times.
 */
export class SnapshotReading {
  /** The row, or the reason why it is ignored; set once advance() returned true. */
  outcome: SnapshotRow | Reason | undefined;
  readonly #walk = new SnapshotWalker();
  readonly #row: Row = emptyRow();
  #index!: EventIndex;
  #at = offsetOf(0);
  #context!: SnapshotContext;
  /** The row, once the properties are read. */
  #read: SnapshotRow | undefined;
  /** Hashes of a piece without a uuid. */
  #hashes: [bigint, bigint] | undefined;
  /** The copy of a long piece. */
  #copy: Buffer | undefined;
  /** Bytes hashed or copied so far. */
  #done = 0;

  /** Reads entry `at`, whose name begins with `$snapshot`, at once. The row is valid until the next call. */
  read(index: EventIndex, at: EntryOffset, context: SnapshotContext): SnapshotRow | Reason {
    this.open(index, at, context);
    while (!this.advance(Number.POSITIVE_INFINITY));
    return this.outcome!;
  }

  open(index: EventIndex, at: EntryOffset, context: SnapshotContext): void {
    this.#index = index;
    this.#at = at;
    this.#context = context;
    this.#read = undefined;
    this.outcome = this.#refused();
    if (this.outcome) return;
    const latest = context.received / 1000 + recordingLimits.snapshotAheadMsMax;
    this.#walk.open(index.bytes, index.entries[at + field.properties]!, latest);
  }

  #refused(): Reason | undefined {
    const [index, at] = [this.#index, this.#at];
    const { bytes, entries } = index;
    if (entries[at + field.item + 1]! - entries[at + field.item]! > captureLimits.snapshotBytesMax) {
      return "snapshot_too_large";
    }
    const refused = readDistinctId(index, at, this.#row);
    if (refused) return refused;
    const isObject = bytes[entries[at + field.properties]!] === 0x7b;
    return isObject ? undefined : "malformed_event_properties";
  }

  /** Reads about `bytesMax` further bytes; returns true when it is done. */
  advance(bytesMax: number): boolean {
    if (this.outcome) return true;
    if (this.#read) this.#copyAndHash(this.#read, bytesMax);
    else if (this.#walk.advance(bytesMax)) this.#decide();
    return this.outcome !== undefined;
  }

  /** Makes the row from what the walk found; what needs a hash or a copy is not done yet. */
  #decide(): void {
    const { bytes } = this.#index;
    const { sessionId, windowId, source, data, facts } = this.#walk;
    const textOf = (range: ValueRange) => (range.to === 0 ? "" : textAt(bytes, range));
    const session_id = textOf(sessionId);
    if (session_id === "" || session_id.length > limits.sessionIdCharsMax) {
      this.outcome = "missing_session_id";
      return;
    }
    if (data.to === 0 || facts.events === 0) {
      this.outcome = "missing_snapshot_data";
      return;
    }
    const window_id = textOf(windowId);
    const read: SnapshotRow = {
      project_id: this.#context.project_id,
      uuid: this.#row.uuid,
      session_id,
      window_id: window_id.slice(0, limits.sessionIdCharsMax),
      distinct_id: this.#row.distinct_id,
      source: textOf(source).slice(0, recordingLimits.snapshotSourceCharsMax) || "web",
      facts,
      data: { source: bytes, from: data.from, to: data.to },
      own: false,
      timestamp: 0,
      expires_at: 0,
    };
    this.#done = 0;
    const size = data.to - data.from;
    this.#copy = size > recordingLimits.snapshotSliceBytesMax ? Buffer.allocUnsafeSlow(size) : undefined;
    this.#hashes = undefined;
    if (!this.#isNamed()) {
      const seed = Bun.hash.xxHash64(`${session_id}\n${window_id}`);
      this.#hashes = [seed, seed ^ 0x5bd1e995n];
    }
    if (this.#hashes || this.#copy) this.#read = read;
    else this.outcome = read;
  }

  /** Reads the client's uuid; returns false when it sent none. */
  #isNamed(): boolean {
    const { bytes, entries } = this.#index;
    const from = entries[this.#at + field.uuid]!;
    const to = entries[this.#at + field.uuid + 1]!;
    return bytes[from] === 0x22 && uuidFromText(bytes, from + 1, to - 1, this.#row.uuid);
  }

  /**
   * A piece without a uuid gets one from its content, so that a client's retry becomes one row too. A long piece is
   * copied, and the block then borrows the copy.
   */
  #copyAndHash(read: SnapshotRow, bytesMax: number): void {
    const { source, from, to } = read.data;
    const sliceMax = recordingLimits.snapshotSliceBytesMax;
    // In fixed slices, not by `bytesMax`, so that the hash does not depend on how the piece was read.
    for (let left = bytesMax; left > 0 && from + this.#done < to; left -= sliceMax) {
      const begin = from + this.#done;
      const content = source.subarray(begin, Math.min(to, begin + sliceMax));
      if (this.#hashes) {
        const [one, other] = this.#hashes;
        this.#hashes = [Bun.hash.xxHash64(content, one), Bun.hash.xxHash64(content, other)];
      }
      this.#copy?.set(content, this.#done);
      this.#done += content.length;
    }
    if (from + this.#done < to) return;
    if (this.#hashes) {
      const { uuid } = this.#row;
      const view = new DataView(uuid.buffer, uuid.byteOffset, uuid.length);
      view.setBigUint64(0, this.#hashes[0], true);
      view.setBigUint64(8, this.#hashes[1], true);
    }
    if (this.#copy) {
      read.data = { source: this.#copy, from: 0, to: this.#copy.length };
      read.own = true;
    }
    this.outcome = read;
  }
}
