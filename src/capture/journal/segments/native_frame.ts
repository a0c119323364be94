// Frames of events: each is a block in ClickHouse's Native format, with its head in an SQL comment within the type of
// the first column. So the engine can read a segment's file as it is. Only the block's beginning is read. ../FORMAT.md
// has the comment's digits, and the numbered conditions of a valid frame.

import { crc32 } from "node:zlib";
import { decodeText, toBytes } from "../../../core/bytes.ts";
import type { Pieces } from "../../../storage/native/native.ts";
import type { FoundFrame, FrameHead } from "./frame.ts";
import { type FileRange, toSegment } from "./segment.ts";

const widths = {
  back: 2,
  length: 8,
  sum: 8,
  batch: 16,
  partition: 8,
  rows: 8,
  oldest: 16,
  at: 8,
  synced: 8,
  before: 8,
} as const;
type Part = keyof typeof widths;
const hexDigits = toBytes("0123456789abcdef");
const opening = toBytes("/*sluice:");
const closing = toBytes("*/");
const noSum = toBytes("0".repeat(widths.sum));

const parts = Object.keys(widths) as Part[];
const countDigits = (some: readonly Part[]) => some.reduce((sum, part) => sum + widths[part], 0);
const offsets = new Map(parts.map((part, i) => [part, opening.length + countDigits(parts.slice(0, i))]));
const commentBytes = opening.length + countDigits(parts) + closing.length;
const sumAt = offsets.get("sum")!;

/**
 * Appends one frame to `out`, whose first byte goes to offset `head.synced` of the file; `payload` writes the Native
 * block. Returns where the frame lies in `out`.
 */
export function writeNativeFrame(out: Pieces, head: FrameHead, payload: (out: Pieces) => void): FileRange {
  const start = out.length;
  const offset = out.total;
  out.reserve(commentBytes);
  out.length += commentBytes;
  payload(out);
  const length = out.total - offset;
  const { bytes } = out;
  // Inserts the comment after the first column's type: what precedes it moves to the front.
  const type = readType(bytes, start + commentBytes, out.length);
  if (!type || type.bytes + commentBytes > 127) throw new Error("a block without a first column");
  const comment = type.end - commentBytes;
  bytes.copyWithin(start, start + commentBytes, type.end);
  bytes[comment - type.bytes - 1] = type.bytes + commentBytes;
  const { batch, partition, rows, oldest, synced, before } = head;
  bytes.set(opening, comment);
  let at = comment + opening.length;
  at = putHex(bytes, at, comment - start, widths.back);
  at = putHex(bytes, at, length, widths.length);
  at = putHex(bytes, at, 0, widths.sum);
  at = putHex(bytes, putHex(bytes, at, Number(batch >> 32n), 8), Number(batch & 0xffffffffn), 8);
  at = putHex(bytes, at, partition, widths.partition);
  at = putHex(bytes, at, rows, widths.rows);
  at = putHex(bytes, putHex(bytes, at, Math.floor(oldest / 2 ** 32), 8), oldest % 2 ** 32, 8);
  at = putHex(bytes, at, synced + offset, widths.at);
  at = putHex(bytes, at, synced, widths.synced);
  at = putHex(bytes, at, before, widths.before);
  bytes.set(closing, at);
  let sum = 0;
  for (const chunk of out.list(start)) sum = crc32(chunk, sum);
  putHex(bytes, comment + sumAt, sum, widths.sum);
  return { offset, length };
}

/** Writes the lower 32 bits of a number; returns where it ends. */
function putHex(bytes: Uint8Array, from: number, value: number, digits: number): number {
  for (let left = value >>> 0, at = from + digits - 1; at >= from; at--, left >>>= 4) {
    bytes[at] = hexDigits[left & 15]!;
  }
  return from + digits;
}

/** The valid frame of this segment that begins at `at`; undefined when there is none. */
export function readNativeFrame(bytes: Uint8Array, at: number, segment: bigint): FoundFrame | undefined {
  const read = readComment(bytes, at);
  // Condition 1.
  if (!read) return undefined;
  const { comment, number } = read;
  const batch = number("batch");
  const end = at + Number(number("length"));
  // Conditions 2 and 3.
  if (toSegment(batch) !== segment || end > bytes.length || end < comment + commentBytes) return undefined;
  // Condition 4.
  if (Number(number("at")) !== at) return undefined;
  // Condition 5.
  let sum = crc32(bytes.subarray(at, comment + sumAt));
  sum = crc32(noSum, sum);
  sum = crc32(bytes.subarray(comment + sumAt + widths.sum, end), sum);
  if (BigInt(sum) !== number("sum")) return undefined;
  const oldest = Number(BigInt.asIntN(64, number("oldest")));
  const [partition, rows] = [Number(number("partition")), Number(number("rows"))];
  const [synced, before] = [Number(number("synced")), Number(number("before"))];
  return { batch, partition, rows, oldest, synced, before, at, offset: at, end };
}

/** The batch named by a frame at `at`, whether or not the frame is valid; undefined when there is no frame. */
export function nativeBatchAt(bytes: Uint8Array, at: number): bigint | undefined {
  const batch = readComment(bytes, at)?.number("batch");
  return batch === -1n ? undefined : batch;
}

/** Finds the comment of a block at `at`, and a reader of its numbers: -1 for one that is damaged. */
function readComment(bytes: Uint8Array, at: number) {
  const type = readType(bytes, at, bytes.length);
  if (!type || type.end > bytes.length || type.bytes <= commentBytes) return undefined;
  const comment = type.end - commentBytes;
  if (!opening.every((byte, i) => bytes[comment + i] === byte)) return undefined;
  const text = decodeText(bytes, comment, type.end);
  const number = (part: Part): bigint => {
    const from = offsets.get(part)!;
    const digits = text.slice(from, from + widths[part]);
    return /^[0-9a-f]+$/.test(digits) ? BigInt(`0x${digits}`) : -1n;
  };
  return { comment, number };
}

/** Finds where the next frame may begin, from `from` on, judging by a comment; undefined when there is none. */
export function nextNativeFrame(bytes: Uint8Array, from: number): number | undefined {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = whole.indexOf(opening, from); at >= 0; at = whole.indexOf(opening, at + 1)) {
    const digits = at + opening.length;
    const back = Number.parseInt(whole.toString("latin1", digits, digits + widths.back), 16);
    if (at - back >= from) return at - back;
  }
  return undefined;
}

/** The name of the first column of every block of events, after the byte of its length. */
const firstName = toBytes("\u0004uuid");

/** The end and length of the type of a block's first column. */
function readType(bytes: Uint8Array, from: number, to: number): { end: number; bytes: number } | undefined {
  let at = from + 1;
  for (let size = 0; size < 5 && at < to && bytes[at]! >= 128; size++) at++;
  at++;
  // JSON texts contain no byte 4, the name's length: what a client sends is never read as a frame.
  if (at >= to || !firstName.every((byte, i) => bytes[at + i] === byte)) return undefined;
  at += firstName.length;
  if (at >= to || bytes[at]! > 127) return undefined;
  return { end: at + 1 + bytes[at]!, bytes: bytes[at]! };
}
