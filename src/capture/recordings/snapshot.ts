// Reads a snapshot, an event that carries a piece of a session recording, into a row of its own lane. The recorder's
// JSON is not changed.

import { captureLimits } from "../limits.ts";
import { limits } from "../../core/limits.ts";
import { recordingLimits } from "./limits.ts";
import { readDistinctId } from "../event/event.ts";
import { field } from "../scan/event_fields.ts";
import type { Reason } from "../event/outcome.ts";
import { type Row, emptyRow, uuidFromText } from "../event/row.ts";
import type { ByteRange } from "../scan/byte_range.ts";
import type { BodyScanner } from "../scan/body_scanner.ts";
import { type SnapshotFacts, textAt, type ValueRange } from "./snapshot_facts.ts";
import { SnapshotWalker } from "./snapshot_walker.ts";

/** One piece of a recording. Its timestamp is the time of arrival, which decides the partition. */
export interface SnapshotRow {
  project_id: number;
  /** 16 bytes in ClickHouse's order. */
  uuid: Uint8Array;
  session_id: string;
  window_id: string;
  distinct_id: ByteRange;
  /** `web` unless the recorder sets another. */
  source: string;
  facts: SnapshotFacts;
  /** JSON text of one rrweb event or an array of them. */
  data: ByteRange;
  /** Whether the row owns the bytes of `data`, so that they need no copy. */
  own: boolean;
  /** Microseconds since 1970 when the journal took it; `expires_at` has the same unit. */
  timestamp: number;
  expires_at: number;
}

export interface SnapshotSending {
  project_id: number;
  /** When the request arrived, in microseconds since 1970. */
  received: number;
}

/** Whether entry `at` is so long that it is read in slices. */
export function isLongSnapshot({ entries }: BodyScanner, at: number): boolean {
  return entries[at + field.item + 1]! - entries[at + field.item]! > recordingLimits.snapshotSliceBytesMax;
}

/**
 * Reads entry `at`, whose event name begins with `$snapshot`, in one go. The caller sets the row's times; the row is
 * valid until the next call.
 * @returns the row, or the reason why it is refused.
 */
export function readSnapshot(scan: BodyScanner, at: number, sending: SnapshotSending): SnapshotRow | Reason {
  short.open(scan, at, sending);
  while (!short.advance(Number.POSITIVE_INFINITY));
  return short.outcome!;
}

/** Stages of a reading. Hash and copy also work in slices; only long snapshots are copied. */
const stage = { walk: 0, hash: 1, copy: 2 } as const;

/** Reads one snapshot in slices. */
export class SnapshotReading {
  /** The row, or the reason why it is refused; set once advance() has returned true. */
  outcome: SnapshotRow | Reason | undefined;
  readonly #walk = new SnapshotWalker();
  readonly #row: Row = emptyRow();
  #stage: number = stage.walk;
  #scan!: BodyScanner;
  #at = 0;
  #sending!: SnapshotSending;
  #taken!: SnapshotRow;
  #hashes: [bigint, bigint] = [0n, 0n];
  /** Bytes hashed or copied so far. */
  #through = 0;
  #copy = nothing;

  /** Starts with entry `at`. */
  open(scan: BodyScanner, at: number, sending: SnapshotSending): void {
    this.#scan = scan;
    this.#at = at;
    this.#sending = sending;
    this.#stage = stage.walk;
    this.outcome = this.#refused();
    if (this.outcome) return;
    const latest = sending.received / 1000 + recordingLimits.snapshotAheadMsMax;
    this.#walk.open(scan.bytes, scan.entries[at + field.properties]!, latest);
  }

  #refused(): Reason | undefined {
    const [scan, at] = [this.#scan, this.#at];
    const { bytes, entries } = scan;
    if (entries[at + field.item + 1]! - entries[at + field.item]! > captureLimits.snapshotBytesMax) {
      return "snapshot_too_large";
    }
    const refused = readDistinctId(scan, at, this.#row);
    if (refused) return refused;
    const isObject = bytes[entries[at + field.properties]!] === 0x7b;
    return isObject ? undefined : "malformed_event_properties";
  }

  /** Continues for about `bytesMax` bytes; true when the reading is complete. */
  advance(bytesMax: number): boolean {
    if (this.outcome) return true;
    if (this.#stage === stage.walk) {
      if (this.#walk.advance(bytesMax)) this.#judge();
    } else if (this.#stage === stage.hash) this.#hash(bytesMax);
    else this.#copyOn(bytesMax);
    return this.outcome !== undefined;
  }

  /** Checks what the walk found, and makes the row. */
  #judge(): void {
    const { bytes } = this.#scan;
    const { sessionId, windowId, source, data, facts } = this.#walk;
    const textOf = (range: ValueRange) => (range.to === 0 ? "" : textAt(bytes, range));
    const session_id = textOf(sessionId);
    // No recorder makes ids of more than sessionIdCharsMax (200) characters.
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
    this.#through = 0;
    if (this.#isNamed()) this.#endHash();
    else {
      const seed = Bun.hash.xxHash64(`${session_id}\n${window_id}`);
      this.#hashes = [seed, seed ^ 0x5bd1e995n];
      this.#stage = stage.hash;
    }
  }

  /** Reads the client's uuid, if there is a valid one. */
  #isNamed(): boolean {
    const { bytes, entries } = this.#scan;
    const from = entries[this.#at + field.uuid]!;
    const to = entries[this.#at + field.uuid + 1]!;
    return bytes[from] === 0x22 && uuidFromText(bytes, from + 1, to - 1, this.#row.uuid);
  }

  /** A snapshot without a uuid gets a hash of its content, so that a client's retry becomes the same row. */
  #hash(bytesMax: number): void {
    const { source, from, to } = this.#taken.data;
    // The hash takes slices of a fixed size, so that it does not depend on `bytesMax`.
    for (
      let left = bytesMax;
      left > 0 && from + this.#through < to;
      left -= recordingLimits.snapshotSliceBytesMax
    ) {
      const begin = from + this.#through;
      const content = source.subarray(begin, Math.min(to, begin + recordingLimits.snapshotSliceBytesMax));
      const [one, other] = this.#hashes;
      this.#hashes = [Bun.hash.xxHash64(content, one), Bun.hash.xxHash64(content, other)];
      this.#through += content.length;
    }
    if (from + this.#through < to) return;
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
    this.#through = 0;
    this.#copy = Buffer.allocUnsafeSlow(to - from);
  }

  /** Copies a long snapshot here in slices; its block then keeps the copy by reference. */
  #copyOn(bytesMax: number): void {
    const { source, from, to } = this.#taken.data;
    const begin = from + this.#through;
    const content = source.subarray(begin, Math.min(to, begin + bytesMax));
    this.#copy.set(content, this.#through);
    this.#through += content.length;
    if (from + this.#through < to) return;
    this.#taken.data = { source: this.#copy, from: 0, to: this.#copy.length };
    this.#taken.own = true;
    this.outcome = this.#taken;
  }
}

const nothing = new Uint8Array(0);
/** Reused for every short snapshot. */
const short = new SnapshotReading();
