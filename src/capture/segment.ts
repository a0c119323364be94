// A journal segment's file format, and reading one back after a restart. Decides nothing about when.
//
//   segment = head frame*
//   head    = "SLUICEJ2"  u64 segment id  u8 lane (its place in `lanes`)  7 × 0
//   frame   = u32 "FRAM"  u32 payload bytes  u64 CRC-32 of all that follows
//             u64 batch  u32 month (yyyymm)  u32 rows  i64 created_at of the first row, µs
//             payload: one block in ClickHouse's Native format
//
// All integers are little-endian. A file may have been another segment's before: what lies behind the last frame is
// none of this one's, which shows by the batch's number. A batch is the frames of one number: one INSERT, one
// month, one part.
//   segment id = 41 bits of ms since 2020, 12 bits of journal number;  batch = segment id, 11 bits of place

import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { limits } from "../core/limits.ts";
import type { Pieces } from "../storage/native_pieces.ts";

/**
 * Two lanes of events, one of warnings about them, one of merges, one of recordings. Their order is part of the file
 * format.
 */
export const lanes = ["live", "historical", "warnings", "merges", "recordings"] as const;
export type LaneName = (typeof lanes)[number];
export type EventLaneName = Exclude<LaneName, "warnings" | "merges">;
/** Lanes whose frames are Native blocks for ClickHouse; merges go to Postgres. */
export const flushedLanes = ["live", "historical", "warnings", "recordings"] as const;

/** The table a lane's batches go to. */
export const laneTable: Readonly<Record<LaneName, string>> = {
  live: "event_rows",
  historical: "event_rows",
  warnings: "ingestion_warnings",
  merges: "merged_ids",
  recordings: "snapshot_chunks",
};

export const segmentHeadBytes = 24;
export const frameHeadBytes = 40;
const segmentMagic = new TextEncoder().encode("SLUICEJ2");
const frameMagic = 0x4d415246;
const epochMs = Date.UTC(2020, 0, 1);

/** Where a frame's Native bytes lie in its segment's file. */
export interface Frame {
  offset: number;
  length: number;
  rows: number;
}

export interface Batch {
  id: bigint;
  month: number;
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
 * Appends one frame to `out`: `payload` writes the Native bytes. Returns where the payload lies within the whole.
 */
export function writeFrame(
  out: Pieces,
  frame: { batch: bigint; month: number; rows: number; oldest: number },
  payload: (out: Pieces) => void,
): { offset: number; length: number } {
  const start = out.length;
  const offset = out.total + frameHeadBytes;
  out.u32(frameMagic);
  out.u32(0);
  out.u64(0n);
  out.u64(frame.batch);
  out.u32(frame.month);
  out.u32(frame.rows);
  out.i64(frame.oldest);
  payload(out);
  const length = out.total - offset;
  const view = new DataView(out.bytes.buffer, out.bytes.byteOffset);
  view.setUint32(start + 4, length, true);
  let sum = 0;
  for (const bytes of out.list(start + 16)) sum = crc32(bytes, sum);
  view.setBigUint64(start + 8, BigInt(sum), true);
  return { offset, length };
}

/**
 * The batch that takes a block's rows, opened when the month's last one has no room; undefined when the
 * segment is full.
 */
export function batchFor(segment: Segment, block: { month: number; rows: number }): Batch | undefined {
  const open = segment.batches.findLast((batch) => batch.month === block.month);
  const room = open && open.rows + block.rows <= limits.batchRowsMax && open.bytes < limits.batchBytesMax;
  if (room) return open;
  if (segment.batches.length >= limits.segmentBatchesMax) return undefined;
  const id = batchId(segment.id, segment.batches.length);
  const batch: Batch = { id, month: block.month, rows: 0, bytes: 0, frames: [] };
  segment.batches.push(batch);
  return batch;
}

export interface ReadSegment {
  segment: Segment;
  fileBytes: number;
  /**
   * [from, to) of every stretch of whole, sound frames, the head in front; one stretch unless something is
   * damaged.
   */
  sound: [number, number][];
}

/** Reads a segment's frames from its file; undefined when not even the head is whole. */
export function readSegment(path: string): ReadSegment | undefined {
  const bytes = new Uint8Array(readFileSync(path));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const lane = lanes[bytes[16] ?? 255];
  if (bytes.length < segmentHeadBytes || !lane || !segmentMagic.every((byte, i) => bytes[i] === byte))
    return undefined;
  const segment: Segment = {
    id: view.getBigUint64(8, true),
    lane,
    path,
    bytes: segmentHeadBytes,
    rows: 0,
    oldest: 0,
    batches: [],
    recovered: true,
  };
  const sound: [number, number][] = [];
  for (let from = segmentHeadBytes; from < bytes.length; from = nextSound(segment, bytes, view, from + 1)) {
    const to = addFrames(segment, bytes, view, from);
    if (sound.length === 0) sound.push([0, to]);
    else if (to > from) sound.push([from, to]);
    from = to;
  }
  segment.bytes = sound.at(-1)?.[1] ?? segmentHeadBytes;
  return { segment, fileBytes: bytes.length, sound: sound.length > 0 ? sound : [[0, segmentHeadBytes]] };
}

/** Adds the frames that follow each other from `from`; returns where they end. */
function addFrames(segment: Segment, bytes: Uint8Array, view: DataView, from: number): number {
  let at = from;
  const next = () => frameEnd(segment, bytes, view, at);
  for (let end = next(); end !== undefined; end = next()) {
    addFrame(segment, view, at, end);
    at = end;
  }
  return at;
}

/** Where the next sound frame begins, or the file's end. */
function nextSound(segment: Segment, bytes: Uint8Array, view: DataView, from: number): number {
  for (let at = bytes.indexOf(0x46, from); at >= 0; at = bytes.indexOf(0x46, at + 1)) {
    if (frameEnd(segment, bytes, view, at) !== undefined) return at;
  }
  return bytes.length;
}

function frameEnd(segment: Segment, bytes: Uint8Array, view: DataView, at: number): number | undefined {
  if (at + frameHeadBytes > bytes.length || view.getUint32(at, true) !== frameMagic) return undefined;
  // A frame the file held in an earlier life, whole and sound as it may be.
  if (view.getBigUint64(at + 16, true) >> 11n !== segment.id) return undefined;
  const end = at + frameHeadBytes + view.getUint32(at + 4, true);
  if (end > bytes.length) return undefined;
  return BigInt(crc32(bytes.subarray(at + 16, end))) === view.getBigUint64(at + 8, true) ? end : undefined;
}

function addFrame(segment: Segment, view: DataView, at: number, end: number): void {
  const id = view.getBigUint64(at + 16, true);
  const rows = view.getUint32(at + 28, true);
  const offset = at + frameHeadBytes;
  if (segment.rows === 0) segment.oldest = Number(view.getBigInt64(at + 32, true));
  let batch = segment.batches.find((known) => known.id === id);
  if (!batch) {
    batch = { id, month: view.getUint32(at + 24, true), rows: 0, bytes: 0, frames: [] };
    segment.batches.push(batch);
  }
  noteFrame(segment, batch, { offset, length: end - offset, rows });
}

/** Counts a frame into its batch and segment. */
export function noteFrame(segment: Segment, batch: Batch, frame: Frame): void {
  batch.frames.push(frame);
  batch.rows += frame.rows;
  batch.bytes += frame.length;
  segment.rows += frame.rows;
}
