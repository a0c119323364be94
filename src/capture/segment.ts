// A journal segment's file format, and reading one back after a restart. Decides nothing about when.
//
//   segment of events = frame*, as native_frame.ts writes them: the engine can read the whole file
//   any other segment = head frame*
//   head    = "SLUICEJ2"  u64 segment id  u8 lane (its place in `lanes`)  7 × 0
//   frame   = u32 "FRAM"  u32 payload bytes  u64 CRC-32 of all that follows
//             u64 batch  u32 partition  u32 rows  i64 created_at of the first row, µs
//             payload
//
// All integers are little-endian. A file may have been another segment's before: what lies behind the last frame is
// none of this one's, which shows by the batch's number. A batch is the frames of one number, all of one
// partition of its table, and so stored whole or not at all; several share an INSERT. Segments of earlier versions have
// events by month (yyyymm), and are as good: months of one year become one part, with all or none of them.
//   segment id = 41 bits of ms since 2020, 12 bits of journal number;  batch = segment id, 11 bits of place

import { crc32 } from "node:zlib";
import { othersTurn } from "../core/clock.ts";
import { limits } from "../core/limits.ts";
import type { Pieces } from "../storage/native_pieces.ts";
import { monthOf, yearOf } from "./partition.ts";

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
  historical: limits.historicalFlushesMax,
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
export const frameHeadBytes = 40;
export const segmentMagic = new TextEncoder().encode("SLUICEJ2");
export const frameMagic = 0x4d415246;
const epochMs = Date.UTC(2020, 0, 1);

/** Whether a lane's segments are nothing but Native blocks. */
export function isNative(lane: LaneName): boolean {
  return lane === "live" || lane === "historical";
}

/** Where a frame's payload lies in its segment's file. */
export interface Frame {
  offset: number;
  length: number;
  rows: number;
}

export interface Batch {
  id: bigint;
  partition: number;
  rows: number;
  bytes: number;
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
  lent?: boolean;
}

/** A segment that begins: `bytes` are its head's. */
export function emptySegment(lane: LaneName, id: bigint, path: string, bytes: number): Segment {
  return { id, lane, path, bytes, rows: 0, oldest: 0, batches: [], recovered: false };
}

export function segmentId(millis: number, journal: number): bigint {
  return (BigInt(millis - epochMs) << 12n) | BigInt(journal % limits.journalsCountMax);
}

/** The milliseconds inside a segment id: ids of one journal must rise, even when the clock goes back. */
export function millisOfSegment(id: bigint): number {
  return Number(id >> 12n) + epochMs;
}

export function batchId(segment: bigint, place: number): bigint {
  return (segment << 11n) | BigInt(place);
}

export function segmentName(lane: LaneName, id: bigint): string {
  return `${lane}-${id.toString(16).padStart(16, "0")}.segment`;
}

export function segmentHead(lane: LaneName, id: bigint): Uint8Array {
  const head = new Uint8Array(segmentHeadBytes);
  head.set(segmentMagic);
  new DataView(head.buffer).setBigUint64(8, id, true);
  head[16] = lanes.indexOf(lane);
  return head;
}

/**
 * Appends one frame to `out`: `payload` writes the Native bytes. Returns where the payload lies within the whole; of a
 * long one later, and until then nothing may be written to `out`: others get their turn while it is summed up.
 */
export function writeFrame(
  out: Pieces,
  frame: { batch: bigint; partition: number; rows: number; oldest: number },
  payload: (out: Pieces) => void,
): Place | Promise<Place> {
  const start = out.length;
  const offset = out.total + frameHeadBytes;
  out.u32(frameMagic);
  out.u32(0);
  out.u64(0n);
  out.u64(frame.batch);
  out.u32(frame.partition);
  out.u32(frame.rows);
  out.i64(frame.oldest);
  payload(out);
  const length = out.total - offset;
  const view = new DataView(out.bytes.buffer, out.bytes.byteOffset);
  view.setUint32(start + 4, length, true);
  const pieces = out.list(start + 16);
  const place = { offset, length };
  if (length > limits.copyBytesMax) {
    return sumInTurns(pieces).then((sum) => {
      view.setBigUint64(start + 8, BigInt(sum), true);
      return place;
    });
  }
  let sum = 0;
  for (const bytes of pieces) sum = crc32(bytes, sum);
  view.setBigUint64(start + 8, BigInt(sum), true);
  return place;
}

/** Where a frame's payload lies in what is written at once. */
export interface Place {
  offset: number;
  length: number;
}

async function sumInTurns(pieces: readonly Uint8Array[]): Promise<number> {
  let sum = 0;
  for (const bytes of pieces) {
    for (let at = 0; at < bytes.length; at += limits.sumBytesMax) {
      if (at > 0) await othersTurn();
      sum = crc32(bytes.subarray(at, at + limits.sumBytesMax), sum);
    }
  }
  return sum;
}

/**
 * The batch that takes a block's rows, opened when the partition's last one has no room; undefined when the
 * segment is full, or better ends here.
 */
export function batchFor(segment: Segment, block: { partition: number; rows: number }): Batch | undefined {
  const open = segment.batches.findLast((batch) => batch.partition === block.partition);
  const room = open && open.rows + block.rows <= limits.batchRowsMax && open.bytes < limits.batchBytesMax;
  if (room) return open;
  // A segment of one batch can be read by the engine as it is: it ends with that.
  if (open && segment.batches.length === 1) return undefined;
  if (segment.batches.length >= limits.segmentBatchesMax) return undefined;
  const id = batchId(segment.id, segment.batches.length);
  const batch: Batch = { id, partition: block.partition, rows: 0, bytes: 0, frames: [] };
  segment.batches.push(batch);
  return batch;
}

/** Counts a frame into its batch and segment. */
export function noteFrame(segment: Segment, batch: Batch, frame: Frame): void {
  batch.frames.push(frame);
  batch.rows += frame.rows;
  batch.bytes += frame.length;
  segment.rows += frame.rows;
}
