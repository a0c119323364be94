// Frames of segments that have a head: how they are written, and how one is read back. ../FORMAT.md has the offsets,
// and the numbered conditions of a valid frame.

import { crc32 } from "node:zlib";
import { nextTurn } from "../../../core/clock.ts";
import type { Pieces } from "../../../storage/native/native.ts";
import { journalLimits } from "../limits.ts";
import { type FileRange, toSegment } from "./segment.ts";

/** The head of a frame of either kind; native_frame.ts has the other one. */
export interface FrameHead {
  batch: bigint;
  partition: number;
  rows: number;
  /** created_at of the first row, in microseconds. */
  oldest: number;
  /** Bytes of its file that were synced when it was written: damage before that offset is of acknowledged rows. */
  synced: number;
  /** Rows of its segment before its own. */
  before: number;
}

/** A complete frame of a file, whose sum is right. */
export interface FoundFrame extends FrameHead {
  at: number;
  /** Offsets of its payload, and of both ends. */
  offset: number;
  end: number;
}

const magicText = "FRAM";
const magic = 0x4d415246;
const headBytes = 48;

/**
 * Appends one frame to `out`, whose first byte goes to offset `head.synced` of the file; `payload` writes the Native
 * bytes. Resolves to where the payload lies in `out`; the sum of a long one is computed with pauses for other requests,
 * and nothing may be written to `out` until then.
 */
export async function writeFrame(
  out: Pieces,
  head: FrameHead,
  payload: (out: Pieces) => void,
): Promise<FileRange> {
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
  let sum = 0;
  for (const bytes of out.list(start + 12)) {
    for (let at = 0; at < bytes.length; at += journalLimits.sumBytesMax) {
      if (at > 0) await nextTurn();
      sum = crc32(bytes.subarray(at, at + journalLimits.sumBytesMax), sum);
    }
  }
  view.setUint32(start + 8, sum, true);
  return { offset, length };
}

/** The valid frame of this segment that begins at `at`; undefined when there is none. */
export function readFrame(bytes: Uint8Array, at: number, segment: bigint): FoundFrame | undefined {
  const batch = batchAt(bytes, at);
  // Conditions 1 and 2.
  if (batch === undefined || toSegment(batch) !== segment) return undefined;
  const view = toView(bytes);
  const offset = at + headBytes;
  const end = offset + view.getUint32(at + 4, true);
  // Conditions 3 and 4.
  if (end > bytes.length || view.getUint32(at + 12, true) !== at) return undefined;
  // Condition 5.
  if (crc32(bytes.subarray(at + 12, end)) !== view.getUint32(at + 8, true)) return undefined;
  const [partition, rows] = [view.getUint32(at + 24, true), view.getUint32(at + 28, true)];
  const oldest = Number(view.getBigInt64(at + 32, true));
  const [synced, before] = [view.getUint32(at + 40, true), view.getUint32(at + 44, true)];
  return { batch, partition, rows, oldest, synced, before, at, offset, end };
}

/** The batch named by a frame at `at`, whether or not the frame is valid; undefined when there is no frame. */
export function batchAt(bytes: Uint8Array, at: number): bigint | undefined {
  if (at + headBytes > bytes.length) return undefined;
  const view = toView(bytes);
  return view.getUint32(at, true) === magic ? view.getBigUint64(at + 16, true) : undefined;
}

/** Finds where the next frame may begin, from `from` on; undefined when there is none. */
export function nextFrame(bytes: Uint8Array, from: number): number | undefined {
  const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(magicText, from, "latin1");
  return at < 0 ? undefined : at;
}

function toView(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
