// A journal segment: its file's name and head, and what is known of it in memory.
//
//   segment of events = frame*, as native_frame.ts writes them: the engine can read the whole file
//   any other segment = head frame*, as frame.ts writes them
//   head = "SLUICEJ1"  u64 segment id  u8 lane (its place in `lanes`)  3 × 0  u32 CRC-32 of what is before it
//
// All integers are little-endian. A file may be recycled from another segment: frames of that one may follow the last
// frame of this one, and differ by their batch numbers. A batch is the frames of one number, all of one partition of
// the table, so that it is stored whole or not at all; an INSERT may hold several batches.
//   segment id = 41 bits of ms since 2020, 12 bits of journal number;  batch = segment id, 11 bits of place

import { crc32 } from "node:zlib";
import { captureLimits } from "../../limits.ts";
import { journalLimits } from "../limits.ts";
import { monthOf, yearOf } from "../../columns/partition.ts";

/** The order is part of the file format. */
export const lanes = ["live", "historical", "warnings", "merges", "recordings"] as const;
export type LaneName = (typeof lanes)[number];
export type EventLaneName = Exclude<LaneName, "warnings" | "merges">;
/** Lanes whose frames are Native blocks for ClickHouse; merges go to Postgres. */
export const flushedLanes = ["live", "historical", "warnings", "recordings"] as const;

/** How many segments of a lane are flushed at once. */
export const flushesAtOnce: Readonly<Record<LaneName, number>> = {
  live: 1,
  historical: journalLimits.historicalFlushesMax,
  warnings: 1,
  // Merges are applied in order.
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

/** The partition of a lane's table for a row of this time, in microseconds since 1970. */
export const lanePartition: Readonly<Record<LaneName, (micros: number) => number>> = {
  live: yearOf,
  historical: yearOf,
  warnings: monthOf,
  merges: () => 0,
  recordings: monthOf,
};

export const segmentHeadBytes = 24;
const headSumAt = 20;
const magic = new TextEncoder().encode("SLUICEJ1");
const epochMs = Date.UTC(2020, 0, 1);
const journalBits = BigInt(Math.log2(journalLimits.journalsCountMax));
const placeBits = BigInt(Math.log2(journalLimits.segmentBatchesMax));

/** One value for each lane. */
export function byLane<T>(make: (lane: LaneName) => T): Record<LaneName, T> {
  const [live, historical, warnings] = [make("live"), make("historical"), make("warnings")];
  return { live, historical, warnings, merges: make("merges"), recordings: make("recordings") };
}

/** Whether a lane's segments consist of Native blocks only. */
export function isNative(lane: LaneName): boolean {
  return lane === "live" || lane === "historical";
}

/** Where a frame's payload lies in its segment's file. */
export interface Frame {
  offset: number;
  length: number;
  rows: number;
  /** Of persons and groups; unknown after a restart. */
  changes?: number;
}

export interface Batch {
  id: bigint;
  partition: number;
  rows: number;
  bytes: number;
  /** The sum of its frames' changes. */
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
  /** True when an earlier process wrote it: its batches may be in ClickHouse already. */
  recovered: boolean;
  /** True when an engine whose INSERT timed out may still read the file: it must not be recycled. */
  borrowed?: boolean;
}

/** A new segment; `bytes` is its head's length. */
export function emptySegment(lane: LaneName, id: bigint, path: string, bytes: number): Segment {
  return { id, lane, path, bytes, rows: 0, oldest: 0, batches: [], recovered: false };
}

export function segmentId(millis: number, journal: number): bigint {
  return (BigInt(millis - epochMs) << journalBits) | BigInt(journal % journalLimits.journalsCountMax);
}

/** The milliseconds in a segment id: ids of one journal must rise, even when the clock goes back. */
export function millisOfSegment(id: bigint): number {
  return Number(id >> journalBits) + epochMs;
}

export function batchId(segment: bigint, place: number): bigint {
  return (segment << placeBits) | BigInt(place);
}

/** The segment that a batch belongs to. */
export function segmentOf(batch: bigint): bigint {
  return batch >> placeBits;
}

/** The end of a file name for rows that come back from quarantine. */
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

/** Which segment a file is. */
export interface KnownSegment {
  id: bigint;
  lane: LaneName;
}

/** What a file's first bytes say; undefined when they are not a sound head. */
export function readSegmentHead(bytes: Uint8Array): KnownSegment | undefined {
  const lane = lanes[bytes[16] ?? 255];
  if (bytes.length < segmentHeadBytes || !lane || !magic.every((byte, i) => bytes[i] === byte))
    return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (crc32(bytes.subarray(0, headSumAt)) !== view.getUint32(headSumAt, true)) return undefined;
  return { id: view.getBigUint64(8, true), lane };
}

/** What a file's name says. */
export function readSegmentName(name: string): KnownSegment | undefined {
  const [, word, id] = /^([a-z]+)-([0-9a-f]{16})\.segment$/.exec(name) ?? [];
  const lane = lanes.find((one) => one === word);
  return lane && id ? { id: BigInt(`0x${id}`), lane } : undefined;
}

/**
 * The batch for a block's rows: the partition's last one, or a new one when that is full. Undefined when the segment is
 * full, or should end here.
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
  // The engine reads the file of a segment with one batch as it is: a second batch goes to the next segment.
  if (open && segment.batches.length === 1) return undefined;
  if (segment.batches.length >= journalLimits.segmentBatchesMax) return undefined;
  const id = batchId(segment.id, segment.batches.length);
  const batch: Batch = { id, partition: block.partition, rows: 0, bytes: 0, frames: [] };
  segment.batches.push(batch);
  return batch;
}

/** A frame that was just written. */
export function frameOf(
  { offset, length }: Pick<Frame, "offset" | "length">,
  rows: number,
  changes: number,
): Frame {
  return changes > 0 ? { offset, length, rows, changes } : { offset, length, rows };
}

/** Adds a frame to its batch and segment. */
export function noteFrame(segment: Segment, batch: Batch, frame: Frame): void {
  batch.frames.push(frame);
  batch.rows += frame.rows;
  batch.bytes += frame.length;
  if (frame.changes) batch.changes = (batch.changes ?? 0) + frame.changes;
  segment.rows += frame.rows;
}
