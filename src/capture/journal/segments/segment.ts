// A journal segment: its file's name and head, and what is known of it in memory; ../FORMAT.md has the offsets. A batch
// is the frames of one number, all of one partition of the table, so that it is stored whole or not at all; an INSERT
// may hold several batches.

import { crc32 } from "node:zlib";
import { toBytes } from "../../../core/bytes.ts";
import type { JournalSetup, LaneKind } from "../lane_kind.ts";
import { journalLimits } from "../limits.ts";

export const segmentHeadBytes = 24;
const headSumAt = 20;
const magic = toBytes("SLUICEJ1");
const epochMs = Date.UTC(2020, 0, 1);
const journalBits = BigInt(Math.log2(journalLimits.journalsCountMax));
const indexBits = BigInt(Math.log2(journalLimits.segmentBatchesMax));

export interface FileRange {
  offset: number;
  length: number;
}

/** Range of a frame's payload in its segment's file. */
export interface Frame extends FileRange {
  rows: number;
}

export interface Batch {
  id: bigint;
  partition: number;
  rows: number;
  bytes: number;
  /** Changes of persons and groups; unknown after a restart. */
  changes?: number;
  frames: Frame[];
}

export interface Segment {
  id: bigint;
  lane: LaneKind;
  path: string;
  /** File size so far. */
  bytes: number;
  rows: number;
  /** created_at of its first row, in microseconds. */
  oldest: number;
  batches: Batch[];
  /** True when an earlier process wrote it: its batches may be in ClickHouse already. */
  isRecovered: boolean;
  /** True when an engine whose INSERT timed out may still read the file: it must not be recycled. */
  isBorrowed?: boolean;
  /** Resolves when its file is cut to its bytes and closed; undefined while it grows, and for a recovered one. */
  closed?: Promise<void>;
}

/** @param millis ms since 1970. */
export function segmentId(millis: number, journal: number): bigint {
  return (BigInt(millis - epochMs) << journalBits) | BigInt(journal % journalLimits.journalsCountMax);
}

/** The milliseconds in a segment id: ids of one journal must rise, even when the clock goes back. */
export function readSegmentMillis(id: bigint): number {
  return Number(id >> journalBits) + epochMs;
}

/** @param index from 0 to journalLimits.segmentBatchesMax - 1. */
export function batchId(segment: bigint, index: number): bigint {
  return (segment << indexBits) | BigInt(index);
}

export function toSegment(batch: bigint): bigint {
  return batch >> indexBits;
}

/** The end of a file name for rows that come back from quarantine. */
export const returnedSuffix = ".returned.segment";

export function segmentName({ name }: Pick<LaneKind, "name">, id: bigint): string {
  return `${name}-${id.toString(16).padStart(16, "0")}.segment`;
}

/** How the names of this journal's segments end: with its three hexadecimal digits of their ids. */
export function segmentEnding(journal: number): string {
  return `${(journal % journalLimits.journalsCountMax).toString(16).padStart(3, "0")}.segment`;
}

/** The head of a segment that is not of events. */
export function segmentHead({ lanes }: JournalSetup, lane: LaneKind, id: bigint): Uint8Array {
  const head = new Uint8Array(segmentHeadBytes);
  const view = new DataView(head.buffer);
  head.set(magic);
  view.setBigUint64(8, id, true);
  head[16] = lanes.indexOf(lane);
  view.setUint32(headSumAt, crc32(head.subarray(0, headSumAt)), true);
  return head;
}

type KnownSegment = Pick<Segment, "id" | "lane">;

/** The segment that a file's first bytes name; undefined when they are no valid head. */
export function readSegmentHead({ lanes }: JournalSetup, bytes: Uint8Array): KnownSegment | undefined {
  const lane = lanes[bytes[16] ?? 255];
  if (bytes.length < segmentHeadBytes || !lane || !magic.every((byte, i) => bytes[i] === byte))
    return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (crc32(bytes.subarray(0, headSumAt)) !== view.getUint32(headSumAt, true)) return undefined;
  return { id: view.getBigUint64(8, true), lane };
}

/** The segment that a file name names; undefined for any other file. */
export function readSegmentName({ lanes }: JournalSetup, name: string): KnownSegment | undefined {
  const [, word, id] = /^([a-z]+)-([0-9a-f]{16})\.segment$/.exec(name) ?? [];
  const lane = lanes.find((laneKind) => laneKind.name === word);
  return lane && id ? { id: BigInt(`0x${id}`), lane } : undefined;
}
