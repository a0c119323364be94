// Frames of segments that have a head: how they are written, and how one is read back. Knows what earlier versions
// wrote.
//
//   frame = u32 "FRM3"  u32 payload bytes  u32 CRC-32 of all that follows
//           u32 where in the file the frame begins  u64 batch  u32 partition  u32 rows
//           i64 created_at of the first row, µs  u32 bytes of the file that were synced before this was written
//           u32 rows of the segment before these
//           payload
//
// All integers are little-endian. Earlier versions: u32 "FRAM", u32 payload bytes, u64 sum of all that follows (CRC-32,
// or xxHash64 in the first one), u64 batch, u32 partition, u32 rows, i64 created_at.

import { crc32 } from "node:zlib";
import { yieldToEventLoop } from "../../../core/clock.ts";
import { journalLimits } from "../limits.ts";
import { limits } from "../../../core/limits.ts";
import type { Pieces } from "../../../storage/native/native_pieces.ts";

/** What a frame says of itself, whatever its kind. */
export interface FrameHead {
  batch: bigint;
  /** Of its table. */
  partition: number;
  rows: number;
  /** created_at of the first row, in microseconds. */
  oldest: number;
  /** How many bytes of its file were synced when it was written: whatever is bad before that was acknowledged. */
  synced: number;
  /** Rows of its segment before it. */
  before: number;
}

/** A whole, sound frame of a file. Earlier versions did not say what was before it. */
export type FoundFrame = Omit<FrameHead, "synced" | "before"> & {
  synced: number | undefined;
  before: number | undefined;
  /** Where it begins. */
  at: number;
  /** Where its payload begins, and where both end. */
  offset: number;
  end: number;
};

/** Where a frame's payload lies in what is written at once. */
export interface FramePlace {
  offset: number;
  length: number;
}

const magic = 0x334d5246;
const headBytes = 48;
const olderMagic = 0x4d415246;
const olderHeadBytes = 40;

/**
 * Appends one frame to `out`, whose first byte goes to place `head.synced` of the file: `payload` writes the Native
 * bytes. Returns where the payload lies within the whole; of a long one later, and until then nothing may be written to
 * `out`: others get their turn while it is summed up.
 */
export function writeFrame(
  out: Pieces,
  head: FrameHead,
  payload: (out: Pieces) => void,
): FramePlace | Promise<FramePlace> {
  const start = out.length;
  const at = out.total;
  const offset = at + headBytes;
  out.u32(magic);
  out.u32(0);
  out.u32(0);
  out.u32(head.synced + at);
  out.u64(head.batch);
  out.u32(head.partition);
  out.u32(head.rows);
  out.i64(head.oldest);
  out.u32(head.synced);
  out.u32(head.before);
  payload(out);
  const length = out.total - offset;
  const view = new DataView(out.bytes.buffer, out.bytes.byteOffset);
  view.setUint32(start + 4, length, true);
  const pieces = out.list(start + 12);
  const place = { offset, length };
  if (length > limits.copyBytesMax) {
    return sumInTurns(pieces).then((sum) => {
      view.setUint32(start + 8, sum, true);
      return place;
    });
  }
  let sum = 0;
  for (const bytes of pieces) sum = crc32(bytes, sum);
  view.setUint32(start + 8, sum, true);
  return place;
}

async function sumInTurns(pieces: readonly Uint8Array[]): Promise<number> {
  let sum = 0;
  for (const bytes of pieces) {
    for (let at = 0; at < bytes.length; at += journalLimits.sumBytesMax) {
      if (at > 0) await yieldToEventLoop();
      sum = crc32(bytes.subarray(at, at + journalLimits.sumBytesMax), sum);
    }
  }
  return sum;
}

/** The whole, sound frame of this segment that begins at `at`; undefined when there is none. */
export function readFrame(bytes: Uint8Array, at: number, segment: bigint): FoundFrame | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (at + olderHeadBytes > bytes.length) return undefined;
  const found = view.getUint32(at, true);
  if (found !== olderMagic && (found !== magic || at + headBytes > bytes.length)) return undefined;
  // A frame that the file held in an earlier life, whole and sound as it may be, has another batch.
  const batch = view.getBigUint64(at + 16, true);
  if (batch >> 11n !== segment) return undefined;
  const isNew = found === magic;
  const offset = at + (isNew ? headBytes : olderHeadBytes);
  const end = offset + view.getUint32(at + 4, true);
  if (end > bytes.length) return undefined;
  const sound = isNew ? isSound(bytes, view, at, end) : isOlderSound(bytes, view, at, end);
  if (!sound) return undefined;
  const [partition, rows] = [view.getUint32(at + 24, true), view.getUint32(at + 28, true)];
  const oldest = Number(view.getBigInt64(at + 32, true));
  const [synced, before] = isNew ? [view.getUint32(at + 40, true), view.getUint32(at + 44, true)] : [];
  return { batch, partition, rows, oldest, synced, before, at, offset, end };
}

/** The batch that a frame at `at` names, sound or not; undefined when there is nothing like one. */
export function batchAt(bytes: Uint8Array, at: number): bigint | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (at + olderHeadBytes > bytes.length) return undefined;
  const found = view.getUint32(at, true);
  return found === magic || found === olderMagic ? view.getBigUint64(at + 16, true) : undefined;
}

/** Where such a frame may begin, from `from` on; undefined behind the last. */
export const nextFrame = (bytes: Uint8Array, from: number) => placeOf("FRM3", bytes, from);

/** The same for frames of earlier versions. */
export const nextOlderFrame = (bytes: Uint8Array, from: number) => placeOf("FRAM", bytes, from);

function placeOf(text: string, bytes: Uint8Array, from: number): number | undefined {
  const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(text, from, "latin1");
  return at < 0 ? undefined : at;
}

/** A frame counts only where it was written: one that was copied over another is none. */
function isSound(bytes: Uint8Array, view: DataView, at: number, end: number): boolean {
  return (
    view.getUint32(at + 12, true) === at &&
    crc32(bytes.subarray(at + 12, end)) === view.getUint32(at + 8, true)
  );
}

function isOlderSound(bytes: Uint8Array, view: DataView, at: number, end: number): boolean {
  const [summed, sum] = [bytes.subarray(at + 16, end), view.getBigUint64(at + 8, true)];
  return BigInt(crc32(summed)) === sum || Bun.hash.xxHash64(summed) === sum;
}
