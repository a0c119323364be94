// A segment read back after a restart: its sound frames, whatever else the file holds. Changes nothing.

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { crc32 } from "node:zlib";
import { type FrameHead, nextNativeFrame, readNativeFrame } from "./native_frame.ts";
import {
  type LaneName,
  type Segment,
  frameHeadBytes,
  frameMagic,
  lanes,
  noteFrame,
  segmentHeadBytes,
  segmentMagic,
} from "./segment.ts";

export interface ReadSegment {
  segment: Segment;
  fileBytes: number;
  /**
   * [from, to) of every stretch of whole, sound frames, the head in front; one stretch unless something is
   * damaged.
   */
  sound: [number, number][];
}

/** A frame, and where its payload and it end. */
type FoundFrame = FrameHead & { offset: number; end: number };

/** How frames of a file are told. */
interface Format {
  headBytes: number;
  frameAt(at: number): FoundFrame | undefined;
  /** Where the next one may begin, from `from` on. */
  next(from: number): number | undefined;
}

/** Reads a segment's frames from its file; undefined when neither its name nor its head says what it is. */
export function readSegment(path: string): ReadSegment | undefined {
  const bytes = new Uint8Array(readFileSync(path));
  const headed = readHead(bytes);
  const known = headed ?? readName(path);
  if (!known) return undefined;
  const empty = { path, rows: 0, oldest: 0, batches: [], recovered: true };
  const format = headed ? headedFormat(bytes, known.id, headed.checksum) : nativeFormat(bytes, known.id);
  const segment: Segment = { id: known.id, lane: known.lane, ...empty, bytes: format.headBytes };
  const sound: [number, number][] = [];
  let from: number | undefined = format.headBytes;
  while (from !== undefined && from < bytes.length) {
    const to = addFrames(segment, format, from);
    if (sound.length === 0) sound.push([0, to]);
    else if (to > from) sound.push([from, to]);
    from = nextSound(format, to + 1);
  }
  segment.bytes = sound.at(-1)?.[1] ?? format.headBytes;
  return { segment, fileBytes: bytes.length, sound: sound.length > 0 ? sound : [[0, format.headBytes]] };
}

type Known = Pick<Segment, "id" | "lane">;

type Checksum = (bytes: Uint8Array) => bigint;

/** By the first bytes of a head. What an earlier version left behind is read as well: all its lanes had heads. */
const checksums: [magic: Uint8Array, Checksum][] = [
  [segmentMagic, (bytes) => BigInt(crc32(bytes))],
  [new TextEncoder().encode("SLUICEJ1"), (bytes) => Bun.hash.xxHash64(bytes)],
];

function readHead(bytes: Uint8Array): (Known & { checksum: Checksum }) | undefined {
  const lane = lanes[bytes[16] ?? 255];
  const checksum = checksums.find(([magic]) => magic.every((byte, i) => bytes[i] === byte))?.[1];
  if (bytes.length < segmentHeadBytes || !lane || !checksum) return undefined;
  return { id: new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(8, true), lane, checksum };
}

function readName(path: string): Known | undefined {
  const [, lane, id] = /^(live|historical)-([0-9a-f]{16})\.segment$/.exec(basename(path)) ?? [];
  return lane && id ? { id: BigInt(`0x${id}`), lane: lane as LaneName } : undefined;
}

/** Adds the frames that follow each other from `from`; returns where they end. */
function addFrames(segment: Segment, format: Format, from: number): number {
  let at = from;
  for (let frame = format.frameAt(at); frame; frame = format.frameAt(at)) {
    addFrame(segment, frame);
    at = frame.end;
  }
  return at;
}

/** Where the next sound frame begins, if there is one. */
function nextSound(format: Format, from: number): number | undefined {
  let at = format.next(from);
  while (at !== undefined && !format.frameAt(at)) at = format.next(at + 1);
  return at;
}

function nativeFormat(bytes: Uint8Array, id: bigint): Format {
  return {
    headBytes: 0,
    frameAt: (at) => {
      const frame = readNativeFrame(bytes, at, id);
      return frame && { ...frame, offset: at };
    },
    next: (from) => nextNativeFrame(bytes, from),
  };
}

function headedFormat(bytes: Uint8Array, id: bigint, checksum: Checksum): Format {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    headBytes: segmentHeadBytes,
    frameAt: (at) => readFrame(bytes, view, at, id, checksum),
    next: (from) => {
      const at = bytes.indexOf(0x46, from);
      return at < 0 ? undefined : at;
    },
  };
}

function readFrame(
  bytes: Uint8Array,
  view: DataView,
  at: number,
  id: bigint,
  checksum: Checksum,
): FoundFrame | undefined {
  if (at + frameHeadBytes > bytes.length || view.getUint32(at, true) !== frameMagic) return undefined;
  const batch = view.getBigUint64(at + 16, true);
  // A frame the file held in an earlier life, whole and sound as it may be.
  if (batch >> 11n !== id) return undefined;
  const offset = at + frameHeadBytes;
  const end = offset + view.getUint32(at + 4, true);
  if (end > bytes.length) return undefined;
  if (checksum(bytes.subarray(at + 16, end)) !== view.getBigUint64(at + 8, true)) return undefined;
  const [partition, rows] = [view.getUint32(at + 24, true), view.getUint32(at + 28, true)];
  return { batch, partition, rows, oldest: Number(view.getBigInt64(at + 32, true)), offset, end };
}

function addFrame(segment: Segment, { batch: id, partition, rows, oldest, offset, end }: FoundFrame): void {
  if (segment.rows === 0) segment.oldest = oldest;
  let batch = segment.batches.find((known) => known.id === id);
  if (!batch) {
    batch = { id, partition, rows: 0, bytes: 0, frames: [] };
    segment.batches.push(batch);
  }
  noteFrame(segment, batch, { offset, length: end - offset, rows });
}
