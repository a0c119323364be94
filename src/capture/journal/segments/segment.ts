// A journal segment: its file's name and head, and what is known of it in memory.
//
//   segment of events = frame*, as native_frame.ts writes them: the engine can read the whole file
//   any other segment = head frame*, as frame.ts writes them
//   head = "SLUICEJ3"  u64 segment id  u8 lane (its place in `lanes`)  3 × 0  u32 CRC-32 of what is before it
//
// All integers are little-endian. A file may have been another segment's before: what lies behind the last frame is
// none of this one's, which shows by the batch's number. A batch is the frames of one number, all of one
// partition of its table, and so stored whole or not at all; several share an INSERT. Segments of earlier versions have
// events by month (yyyymm), and are as good: months of one year become one part, with all or none of them.
//   segment id = 41 bits of ms since 2020, 12 bits of journal number;  batch = segment id, 11 bits of place

import { crc32 } from "node:zlib";
import { captureLimits } from "../../limits.ts";
import { journalLimits } from "../limits.ts";
import { monthOf, yearOf } from "../../columns/partition.ts";

/**
 * Two lanes of events, one of warnings about them, one of merges, one of recordings. Their order is part of the file
 * format.
 */
export const lanes = ["live", "historical", "warnings", "merges", "recordings"] as const;
export type LaneName = (typeof lanes)[number];
export type EventLaneName = Exclude<LaneName, "warnings" | "merges">;
/** Lanes whose frames are Native blocks for ClickHouse; merges go to Postgres. */
export const flushedLanes = ["live", "historical", "warnings", "recordings"] as const;

/** How many segments of a lane are on their way into a store at once. */
export const flushesAtOnce: Readonly<Record<LaneName, number>> = {
  live: 1,
  historical: journalLimits.historicalFlushesMax,
  warnings: 1,
  // They are applied in order.
  merges: 1,
  recordings: 1,
};

/** The table a lane's batches go to. */
export const laneTable: Readonly<Record<LaneName, string>> = {
  live: "event_rows",
  historical: "event_rows",
  warnings: "ingestion_warnings",
  merges: "merged_ids",
  recordings: "snapshot_chunks",
};

/**
 * The partition of a lane's table that a row of this time (microseconds since 1970) goes to: what is in one batch is in
 * one, or it could be stored by halves.
 */
export const lanePartition: Readonly<Record<LaneName, (micros: number) => number>> = {
  live: yearOf,
  historical: yearOf,
  warnings: monthOf,
  merges: () => 0,
  recordings: monthOf,
};

export const segmentHeadBytes = 24;
const headSumAt = 20;
const magic = new TextEncoder().encode("SLUICEJ3");
/** Heads of earlier versions, which were not summed up. */
const olderMagics = ["SLUICEJ2", "SLUICEJ1"].map((text) => new TextEncoder().encode(text));
const epochMs = Date.UTC(2020, 0, 1);

/** Something for each lane. */
export function byLane<T>(make: (lane: LaneName) => T): Record<LaneName, T> {
  const [live, historical, warnings] = [make("live"), make("historical"), make("warnings")];
  return { live, historical, warnings, merges: make("merges"), recordings: make("recordings") };
}

/** Whether a lane's segments are nothing but Native blocks. */
export function isNative(lane: LaneName): boolean {
  return lane === "live" || lane === "historical";
}

/** Where a frame's payload lies in its segment's file. */
export interface Frame {
  offset: number;
  length: number;
  rows: number;
  /** Of persons and groups; unknown of a frame that was found at the start. */
  changes?: number;
}

export interface Batch {
  id: bigint;
  partition: number;
  rows: number;
  bytes: number;
  /** As its frames'. */
  changes?: number;
  frames: Frame[];
}

export interface Segment {
  id: bigint;
  lane: LaneName;
  path: string;
  /** File size so far. */
  bytes: number;
  rows: number;
  /** created_at of its first row, in microseconds. */
  oldest: number;
  batches: Batch[];
  /** True when an earlier process wrote it: any of its batches may be in ClickHouse already. */
  recovered: boolean;
  /** True when an engine that was given up may still read the file: it must not be written over. */
  borrowed?: boolean;
}

/** A segment that begins: `bytes` are its head's. */
export function emptySegment(lane: LaneName, id: bigint, path: string, bytes: number): Segment {
  return { id, lane, path, bytes, rows: 0, oldest: 0, batches: [], recovered: false };
}

export function segmentId(millis: number, journal: number): bigint {
  return (BigInt(millis - epochMs) << 12n) | BigInt(journal % journalLimits.journalsCountMax);
}

/** The milliseconds inside a segment id: ids of one journal must rise, even when the clock goes back. */
export function millisOfSegment(id: bigint): number {
  return Number(id >> 12n) + epochMs;
}

export function batchId(segment: bigint, place: number): bigint {
  return (segment << 11n) | BigInt(place);
}

/** How a file is named that quarantined rows come back in. */
export const returnedSuffix = ".returned.segment";

export function segmentName(lane: LaneName, id: bigint): string {
  return `${lane}-${id.toString(16).padStart(16, "0")}.segment`;
}

export function segmentHead(lane: LaneName, id: bigint): Uint8Array {
  const head = new Uint8Array(segmentHeadBytes);
  const view = new DataView(head.buffer);
  head.set(magic);
  view.setBigUint64(8, id, true);
  head[16] = lanes.indexOf(lane);
  view.setUint32(headSumAt, crc32(head.subarray(0, headSumAt)), true);
  return head;
}

/** Whose segment a file is. */
export interface KnownSegment {
  id: bigint;
  lane: LaneName;
}

/** What a file's first bytes say, and whether a sum shows it to be true; undefined when they are no head. */
export function readSegmentHead(bytes: Uint8Array): (KnownSegment & { summed: boolean }) | undefined {
  const lane = lanes[bytes[16] ?? 255];
  if (bytes.length < segmentHeadBytes || !lane) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const id = view.getBigUint64(8, true);
  const begins = (with_: Uint8Array) => with_.every((byte, i) => bytes[i] === byte);
  if (olderMagics.some(begins)) return { id, lane, summed: false };
  const sound = begins(magic) && crc32(bytes.subarray(0, headSumAt)) === view.getUint32(headSumAt, true);
  return sound ? { id, lane, summed: true } : undefined;
}

/** What a file's name says. */
export function readSegmentName(name: string): KnownSegment | undefined {
  const [, word, id] = /^([a-z]+)-([0-9a-f]{16})\.segment$/.exec(name) ?? [];
  const lane = lanes.find((one) => one === word);
  return lane && id ? { id: BigInt(`0x${id}`), lane } : undefined;
}

/**
 * The batch that takes a block's rows, opened when the partition's last one has no room; undefined when the
 * segment is full, or better ends here.
 */
export function batchFor(
  segment: Segment,
  block: { partition: number; rows: number; changes?: number },
): Batch | undefined {
  const open = segment.batches.findLast((batch) => batch.partition === block.partition);
  const room =
    open && open.rows + block.rows <= captureLimits.batchRowsMax && open.bytes < captureLimits.batchBytesMax;
  const changes = (open?.changes ?? 0) + (block.changes ?? 0);
  if (room && (changes <= captureLimits.batchChangesMax || open.rows === 0)) return open;
  // A segment of one batch can be read by the engine as it is: it ends with that.
  if (open && segment.batches.length === 1) return undefined;
  if (segment.batches.length >= journalLimits.segmentBatchesMax) return undefined;
  const id = batchId(segment.id, segment.batches.length);
  const batch: Batch = { id, partition: block.partition, rows: 0, bytes: 0, frames: [] };
  segment.batches.push(batch);
  return batch;
}

/** A frame that was just written; one without changes says nothing of them, as one that was found. */
export function frameOf(
  { offset, length }: Pick<Frame, "offset" | "length">,
  rows: number,
  changes: number,
): Frame {
  return changes > 0 ? { offset, length, rows, changes } : { offset, length, rows };
}

/** Counts a frame into its batch and segment. */
export function noteFrame(segment: Segment, batch: Batch, frame: Frame): void {
  batch.frames.push(frame);
  batch.rows += frame.rows;
  batch.bytes += frame.length;
  if (frame.changes) batch.changes = (batch.changes ?? 0) + frame.changes;
  segment.rows += frame.rows;
}
