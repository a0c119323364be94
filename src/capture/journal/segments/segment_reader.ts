// Reads a segment after a restart: its sound frames, the ranges of the file that are not sound, and whose rows it
// holds. Changes nothing; recovery/verdict.ts judges the bad ranges.

import { basename } from "node:path";
import { findFixedColumn } from "../../../storage/native/native_cut.ts";
import type { JournalSetup, PendingSize } from "../lane_kind.ts";
import { batchAt, type FoundFrame, nextFrame, readFrame } from "./frame.ts";
import { nativeBatchAt, nextNativeFrame, readNativeFrame } from "./native_frame.ts";
import {
  batchId,
  type Frame,
  readSegmentHead,
  readSegmentName,
  type Segment,
  segmentHeadBytes,
  toSegment,
} from "./segment.ts";
import { countFrame } from "./segment_writer.ts";

/** A range of a file that belongs to no sound frame. */
export interface BadRange {
  from: number;
  to: number;
  /** Whether it was written for this segment, not for an earlier one whose file was recycled. */
  isOwnBytes: boolean;
}

export interface ReadSegment {
  segment: Segment;
  fileBytes: number;
  frames: FoundFrame[];
  bad: BadRange[];
  /** True when the segment should have a head and it cannot be read. */
  isHeadDamaged: boolean;
}

/**
 * Reads a segment's file; undefined when neither its head nor its name identifies the segment.
 * @param end where a sealed segment ends: valid frames from there on were refused, and their sender sends them again.
 */
export function readSegment(
  setup: JournalSetup,
  path: string,
  end = Number.POSITIVE_INFINITY,
): ReadSegment | undefined {
  const bytes = setup.io.read(path);
  const head = readSegmentHead(setup, bytes);
  const known = head ?? readSegmentName(setup, basename(path));
  if (!known) return undefined;
  // Rows of events that come back from quarantine have a head as well.
  const headed = head !== undefined || !known.lane.isNative;
  const from = headed ? segmentHeadBytes : 0;
  const { id, lane } = known;
  const empty = { bytes: from, rows: 0, oldest: 0, batches: [] };
  const segment: Segment = { id, lane, path, ...empty, isRecovered: true };
  const { frames: all, bad } = readFrames(bytes, from, id, headed ? headedFrames : nativeFrames);
  const frames = all.filter(({ at }) => at < end);
  for (const frame of frames) addFrame(segment, frame);
  return { segment, fileBytes: bytes.length, frames, bad, isHeadDamaged: headed && head === undefined };
}

interface FrameKind {
  read: typeof readFrame;
  next: typeof nextFrame;
  batchAt: typeof batchAt;
}

const headedFrames: FrameKind = { read: readFrame, next: nextFrame, batchAt };
const nativeFrames: FrameKind = { read: readNativeFrame, next: nextNativeFrame, batchAt: nativeBatchAt };

function readFrames(
  bytes: Uint8Array,
  headBytes: number,
  id: bigint,
  kind: FrameKind,
): Pick<ReadSegment, "frames" | "bad"> {
  const frames: FoundFrame[] = [];
  const bad: BadRange[] = [];
  let at = headBytes;
  while (at < bytes.length) {
    const from = at;
    let frame = kind.read(bytes, at, id);
    while (!frame && at < bytes.length) {
      at = kind.next(bytes, at + 1) ?? bytes.length;
      frame = kind.read(bytes, at, id);
    }
    if (at > from) {
      const batch = kind.batchAt(bytes, from);
      // A frame here that is sound for no segment is one of this segment whose number was damaged.
      const isNobodys = batch !== undefined && !kind.read(bytes, from, toSegment(batch));
      bad.push({ from, to: at, isOwnBytes: isNobodys || hasOwnNumber(bytes.subarray(from, at), id) });
    }
    if (!frame) break;
    frames.push(frame);
    at = frame.end;
  }
  return { frames, bad };
}

/** Whether the upper 48 bits of this segment's batch numbers are there, as bytes or as hexadecimal digits. */
function hasOwnNumber(bytes: Uint8Array, id: bigint): boolean {
  const upper = batchId(id, 0) >> 16n;
  const number = Buffer.alloc(8);
  number.writeBigUInt64LE(upper);
  const stretch = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return stretch.includes(number.subarray(0, 6)) || stretch.includes(upper.toString(16).padStart(12, "0"));
}

function addFrame(segment: Segment, { batch: id, partition, rows, oldest, offset, end }: FoundFrame): void {
  if (segment.rows === 0) segment.oldest = oldest;
  let batch = segment.batches.find((known) => known.id === id);
  if (!batch) {
    batch = { id, partition, rows: 0, bytes: 0, frames: [] };
    segment.batches.push(batch);
  }
  countFrame(segment, batch, { offset, length: end - offset, rows });
  segment.bytes = end;
}

/** Bytes of a block before the column of projects, besides 16 for each row's uuid. */
const headBytes = 512;

/**
 * Finds which projects' rows a segment holds, read from the beginnings of its frames: the bytes of a frame are divided
 * by its rows. Changes are not counted: they are at a block's end, and a start flushes these segments first. A frame
 * that cannot be read counts for no project.
 */
export function foundUsage({ io }: JournalSetup, { path, lane, batches }: Segment): Map<number, PendingSize> {
  const uses = new Map<number, PendingSize>();
  if (!lane.isCounted) return uses;
  const frames = batches.flatMap((batch) => batch.frames);
  const parts = frames.map(({ offset, length, rows }) => ({
    offset,
    length: Math.min(length, headBytes + rows * 20),
  }));
  for (const [i, head] of io.readParts(path, parts).entries()) addUse(uses, head, frames[i]!);
  return uses;
}

function addUse(uses: Map<number, PendingSize>, head: Uint8Array, { length, rows }: Frame): void {
  const projects = readProjects(head);
  if (!projects) return;
  const counts = new Map<number, number>();
  for (let at = 0; at + 4 <= projects.length; at += 4) {
    const project_id = projects.readUInt32LE(at);
    counts.set(project_id, (counts.get(project_id) ?? 0) + 1);
  }
  for (const [project_id, count] of counts) {
    const use = uses.getOrInsertComputed(project_id, () => ({ bytes: 0, changes: 0 }));
    use.bytes += Math.round((length * count) / rows);
  }
}

function readProjects(head: Uint8Array): Buffer | undefined {
  try {
    const column = findFixedColumn(head, "project_id");
    return column && Buffer.from(column.buffer, column.byteOffset, column.length);
  } catch {
    return undefined;
  }
}
