// A segment read back after a restart: its sound frames, and what of its file is none of them. Changes nothing, and
// decides nothing about what is bad.

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { type FoundFrame, batchAt, nextFrame, nextOlderFrame, readFrame } from "./frame.ts";
import { nativeBatchAt, nextNativeFrame, readNativeFrame } from "./native_frame.ts";
import {
  type KnownSegment,
  type Segment,
  isNative,
  noteFrame,
  readSegmentHead,
  readSegmentName,
  segmentHeadBytes,
} from "./segment.ts";

/** Bytes of a file that no sound frame is made of. */
export interface BadRange {
  from: number;
  to: number;
  /** Whether they show that they were written for this segment, not for an earlier one of the file. */
  traced: boolean;
}

export interface ReadSegment {
  segment: Segment;
  fileBytes: number;
  /** The sound frames, in their order. */
  frames: FoundFrame[];
  bad: BadRange[];
  /** True when the head that should be there cannot be read. */
  headDamaged: boolean;
}

/** Reads a segment's frames from its file; undefined when neither its name nor its head says what it is. */
export function readSegment(path: string): ReadSegment | undefined {
  const bytes = new Uint8Array(readFileSync(path));
  const head = readSegmentHead(bytes);
  const known = knownOf(path, bytes, head);
  if (!known) return undefined;
  const headed = head !== undefined || !isNative(known.lane);
  const from = headed ? segmentHeadBytes : 0;
  const { id, lane } = known;
  const empty = { path, bytes: from, rows: 0, oldest: 0, batches: [], recovered: true };
  const segment: Segment = { id, lane, ...empty };
  const { frames, bad } = framesOf(bytes, from, id, isNative(lane));
  for (const frame of frames) addFrame(segment, frame);
  return { segment, fileBytes: bytes.length, frames, bad, headDamaged: headed && !isHeadOf(head, known) };
}

/** Cuts what is known of a segment down to its frames before `bytes`. */
export function withoutFramesFrom(read: ReadSegment, bytes: number): ReadSegment {
  const frames = read.frames.filter(({ at }) => at < bytes);
  const segment: Segment = { ...read.segment, bytes: 0, rows: 0, batches: [] };
  for (const frame of frames) addFrame(segment, frame);
  return { ...read, frames, segment };
}

/** A summed head is right whatever the file is called; of one that is not, the frames decide. */
function knownOf(
  path: string,
  bytes: Uint8Array,
  head: ReturnType<typeof readSegmentHead>,
): KnownSegment | undefined {
  const named = readSegmentName(basename(path));
  if (!head) return named;
  if (!named || head.summed || (named.id === head.id && named.lane === head.lane)) return head;
  return framesOf(bytes, segmentHeadBytes, named.id, isNative(named.lane)).frames.length > 0 ? named : head;
}

function isHeadOf(head: KnownSegment | undefined, { id, lane }: KnownSegment): boolean {
  return head?.id === id && head.lane === lane;
}

function framesOf(
  bytes: Uint8Array,
  headBytes: number,
  id: bigint,
  native: boolean,
): Pick<ReadSegment, "frames" | "bad"> {
  const frames: FoundFrame[] = [];
  const bad: BadRange[] = [];
  const frameOf = (segment: bigint, at: number) =>
    readFrame(bytes, at, segment) ?? (native ? readNativeFrame(bytes, at, segment) : undefined);
  const frameAt = (at: number) => frameOf(id, at);
  const kinds = [nextFrame, nextOlderFrame, ...(native ? [nextNativeFrame] : [])];
  const finders = kinds.map((next) => finder(bytes, next));
  const nextOf = (from: number): number => Math.min(...finders.map((next) => next(from)));
  let at = headBytes;
  while (at < bytes.length) {
    const from = at;
    let frame = frameAt(at);
    while (!frame && at < bytes.length) {
      at = Math.min(nextOf(at + 1), bytes.length);
      frame = frameAt(at);
    }
    if (at > from) {
      const batch = batchAt(bytes, from) ?? nativeBatchAt(bytes, from);
      // What looks like a frame here and is nobody's is one of ours whose number was damaged.
      const nobodys = batch !== undefined && !frameOf(batch >> 11n, from);
      bad.push({ from, to: at, traced: nobodys || isTraced(bytes.subarray(from, at), id) });
    }
    if (!frame) break;
    frames.push(frame);
    at = frame.end;
  }
  return { frames, bad };
}

/** Where a frame of one kind may begin, from a rising place on: the file is searched once. */
function finder(bytes: Uint8Array, next: typeof nextFrame): (from: number) => number {
  let found = -1;
  return (from) => {
    if (found < from) found = next(bytes, from) ?? Number.POSITIVE_INFINITY;
    return found;
  };
}

/** Whether the upper 48 bits of this segment's batch numbers are there, in bytes or in digits. */
function isTraced(bytes: Uint8Array, id: bigint): boolean {
  const batches = Buffer.alloc(8);
  batches.writeBigUInt64LE(BigInt.asUintN(64, id << 11n));
  const stretch = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (stretch.includes(batches.subarray(2))) return true;
  return stretch.includes((id >> 5n).toString(16).padStart(12, "0"));
}

function addFrame(segment: Segment, { batch: id, partition, rows, oldest, offset, end }: FoundFrame): void {
  if (segment.rows === 0) segment.oldest = oldest;
  let batch = segment.batches.find((known) => known.id === id);
  if (!batch) {
    batch = { id, partition, rows: 0, bytes: 0, frames: [] };
    segment.batches.push(batch);
  }
  noteFrame(segment, batch, { offset, length: end - offset, rows });
  segment.bytes = end;
}
