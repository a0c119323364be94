// Reads a snapshot, an event that carries a chunk of a session's recording, into a row of the lane of recordings. What
// the recorder wrote is kept byte by byte.

import { captureLimits } from "../limits.ts";
import { limits } from "../../core/limits.ts";
import { recordingLimits } from "./limits.ts";
import { readDistinctId } from "../event/event.ts";
import { field } from "../scan/event_fields.ts";
import type { Reason } from "../event/outcome.ts";
import { type Row, emptyRow, uuidFromText } from "../event/row.ts";
import type { ByteRange } from "../scan/byte_range.ts";
import type { EventIndex } from "../scan/event_index.ts";
import { type SnapshotFacts, textAt, type ValueRange } from "./snapshot_facts.ts";
import { SnapshotWalker } from "./snapshot_walker.ts";

/** A chunk of a recording. Its timestamp is its arrival, which decides the partition. */
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

export interface SnapshotSending {
  project_id: number;
  /** When the request arrived, in microseconds since 1970. */
  received: number;
}

/** Whether entry `at` is so long that it is read in slices. */
export function isLongSnapshot({ entries }: EventIndex, at: number): boolean {
  return entries[at + field.item + 1]! - entries[at + field.item]! > recordingLimits.snapshotSliceBytesMax;
}

/**
 * Reads entry `at` of the scan, whose name begins with `$snapshot`, at once. The caller sets the row's times. The row
 * is valid until the next call.
 * @returns the row, or the reason why it is ignored.
 */
export function readSnapshot(index: EventIndex, at: number, sending: SnapshotSending): SnapshotRow | Reason {
  short.open(index, at, sending);
  while (!short.advance(Number.POSITIVE_INFINITY));
  return short.outcome!;
}

/** The stages of reading: the properties; then, where needed, a hash of the bytes, and a copy. */
const stage = { walk: 0, hash: 1, copy: 2 } as const;

/** Reads one snapshot in slices. */
export class SnapshotReading {
  /** The row, or the reason why it is ignored; set once advance() returned true. */
  outcome: SnapshotRow | Reason | undefined;
  readonly #walk = new SnapshotWalker();
  readonly #row: Row = emptyRow();
  #stage: number = stage.walk;
  #index!: EventIndex;
  #at = 0;
  #sending!: SnapshotSending;
  #taken!: SnapshotRow;
  #hashes: [bigint, bigint] = [0n, 0n];
  /** Bytes hashed or copied so far. */
  #done = 0;
  #copy = nothing;

  /** Starts to read entry `at`. */
  open(index: EventIndex, at: number, sending: SnapshotSending): void {
    this.#index = index;
    this.#at = at;
    this.#sending = sending;
    this.#stage = stage.walk;
    this.outcome = this.#refused();
    if (this.outcome) return;
    const latest = sending.received / 1000 + recordingLimits.snapshotAheadMsMax;
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
    if (this.#stage === stage.walk) {
      if (this.#walk.advance(bytesMax)) this.#judge();
    } else if (this.#stage === stage.hash) this.#hash(bytesMax);
    else this.#copyOn(bytesMax);
    return this.outcome !== undefined;
  }

  /** Makes the row from what the walk found; what needs a hash or a copy is not done yet. */
  #judge(): void {
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
    this.#taken = {
      project_id: this.#sending.project_id,
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
    if (this.#isNamed()) this.#endHash();
    else {
      const seed = Bun.hash.xxHash64(`${session_id}\n${window_id}`);
      this.#hashes = [seed, seed ^ 0x5bd1e995n];
      this.#stage = stage.hash;
    }
  }

  /** Reads the client's uuid; returns false when it sent none. */
  #isNamed(): boolean {
    const { bytes, entries } = this.#index;
    const from = entries[this.#at + field.uuid]!;
    const to = entries[this.#at + field.uuid + 1]!;
    return bytes[from] === 0x22 && uuidFromText(bytes, from + 1, to - 1, this.#row.uuid);
  }

  /** A chunk without a uuid gets one from its content, so that a client's retry becomes one row too. */
  #hash(bytesMax: number): void {
    const { source, from, to } = this.#taken.data;
    // In fixed slices, not by `bytesMax`, so that the hash does not depend on how the chunk was read.
    for (
      let left = bytesMax;
      left > 0 && from + this.#done < to;
      left -= recordingLimits.snapshotSliceBytesMax
    ) {
      const begin = from + this.#done;
      const content = source.subarray(begin, Math.min(to, begin + recordingLimits.snapshotSliceBytesMax));
      const [one, other] = this.#hashes;
      this.#hashes = [Bun.hash.xxHash64(content, one), Bun.hash.xxHash64(content, other)];
      this.#done += content.length;
    }
    if (from + this.#done < to) return;
    const { uuid } = this.#row;
    const view = new DataView(uuid.buffer, uuid.byteOffset, uuid.length);
    view.setBigUint64(0, this.#hashes[0], true);
    view.setBigUint64(8, this.#hashes[1], true);
    this.#endHash();
  }

  #endHash(): void {
    const { from, to } = this.#taken.data;
    if (to - from <= recordingLimits.snapshotSliceBytesMax) {
      this.outcome = this.#taken;
      return;
    }
    this.#stage = stage.copy;
    this.#done = 0;
    this.#copy = Buffer.allocUnsafeSlow(to - from);
  }

  /** Copies a long chunk, which the block then borrows. */
  #copyOn(bytesMax: number): void {
    const { source, from, to } = this.#taken.data;
    const begin = from + this.#done;
    const content = source.subarray(begin, Math.min(to, begin + bytesMax));
    this.#copy.set(content, this.#done);
    this.#done += content.length;
    if (from + this.#done < to) return;
    this.#taken.data = { source: this.#copy, from: 0, to: this.#copy.length };
    this.#taken.own = true;
    this.outcome = this.#taken;
  }
}

const nothing = new Uint8Array(0);
/** Reused for every short one. */
const short = new SnapshotReading();
