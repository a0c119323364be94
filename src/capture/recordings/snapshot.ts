// A snapshot: an event that carries a piece of a session's recording, read into a row of its own lane. Never takes one
// for an event, and never changes what its recorder wrote.

import { captureLimits } from "../limits.ts";
import { limits } from "../../core/limits.ts";
import { recordingLimits } from "./limits.ts";
import { readDistinctId } from "../event/event.ts";
import { field } from "../scan/event_fields.ts";
import type { Reason } from "../event/outcome.ts";
import { type Row, emptyRow, uuidFromText } from "../event/row.ts";
import type { ByteRange } from "../scan/byte_range.ts";
import type { EventIndex } from "../scan/event_index.ts";
import { type SnapshotFacts, textAt } from "./snapshot_facts.ts";
import { SnapshotWalker } from "./snapshot_walker.ts";

/** One chunk of a recording on its way into the columns. Its timestamp is when it came: that decides the partition. */
export interface SnapshotRow {
  project_id: number;
  /** 16 bytes in ClickHouse's order. */
  uuid: Uint8Array;
  session_id: string;
  window_id: string;
  distinct_id: ByteRange;
  /** `web` unless the recorder says otherwise. */
  source: string;
  facts: SnapshotFacts;
  /** JSON text of an rrweb event or an array of them. */
  data: ByteRange;
  /** Nobody else has or changes the bytes of `data`. */
  own: boolean;
  /** Microseconds since 1970: when the journal took it; like the next. */
  timestamp: number;
  expires_at: number;
}

export interface SnapshotSending {
  project_id: number;
  /** When the request arrived, in microseconds since 1970. */
  received: number;
}

/** Whether entry `at` is so long that it is read a stretch at a time. */
export function isLongSnapshot({ entries }: EventIndex, at: number): boolean {
  return entries[at + field.item + 1]! - entries[at + field.item]! > recordingLimits.snapshotSliceBytesMax;
}

/**
 * Reads entry `at` of the scan, whose name begins with `$snapshot`, at once. The row's moments are left to its taker;
 * the row is valid until the next call.
 * @returns why it is not taken, or the row.
 */
export function readSnapshot(index: EventIndex, at: number, sending: SnapshotSending): SnapshotRow | Reason {
  short.open(index, at, sending);
  while (!short.advance(Number.POSITIVE_INFINITY));
  return short.outcome!;
}

/** What a reading works at: its events, and for a long one a hash of its bytes and a copy of them. */
const stage = { walk: 0, hash: 1, copy: 2 } as const;

/** One snapshot, read a stretch at a time. */
export class SnapshotReading {
  /** Why it is not taken, or its row; once advance() said that it is through. */
  outcome: SnapshotRow | Reason | undefined;
  readonly #walk = new SnapshotWalker();
  readonly #row: Row = emptyRow();
  #stage: number = stage.walk;
  #index!: EventIndex;
  #at = 0;
  #sending!: SnapshotSending;
  #taken!: SnapshotRow;
  #hashes: [bigint, bigint] = [0n, 0n];
  /** Bytes hashed or copied. */
  #through = 0;
  #copy = nothing;

  /** Begins with entry `at`. */
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

  /** Goes on for about `bytesMax` bytes; true when it is through. */
  advance(bytesMax: number): boolean {
    if (this.outcome) return true;
    if (this.#stage === stage.walk) {
      if (this.#walk.advance(bytesMax)) this.#judge();
    } else if (this.#stage === stage.hash) this.#hash(bytesMax);
    else this.#copyOn(bytesMax);
    return this.outcome !== undefined;
  }

  /** Behind the walk: what it found is a row, but for what a long one still wants. */
  #judge(): void {
    const { bytes } = this.#index;
    const { sessionId, windowId, source, data, facts } = this.#walk;
    const textOf = (place: { from: number; to: number }) => (place.to === 0 ? "" : textAt(bytes, place));
    const session_id = textOf(sessionId);
    // Of 200 characters and more, nobody made an id.
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

  /** Reads the client's own uuid, if there is one. */
  #isNamed(): boolean {
    const { bytes, entries } = this.#index;
    const from = entries[this.#at + field.uuid]!;
    const to = entries[this.#at + field.uuid + 1]!;
    return bytes[from] === 0x22 && uuidFromText(bytes, from + 1, to - 1, this.#row.uuid);
  }

  /** A chunk without a uuid is the same as another with the same content: a client's retry becomes one row too. */
  #hash(bytesMax: number): void {
    const { source, from, to } = this.#taken.data;
    // Not by `bytesMax`: however it is read, the hash is the same.
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

  /** A long one is copied here: its block takes the copy as it is. */
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
/** Used again for every short one. */
const short = new SnapshotReading();
