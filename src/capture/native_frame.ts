// A frame that is nothing but a block in ClickHouse's Native format: what must be known of it stands in a comment
// within the type of its first column. So a segment of such frames is a file that the engine reads as it is. Never
// looks further into a block than that.
//
//   varuint columns, varuint rows, name, type = `UUID/*sluice:` … `*/`, …
//   the comment's hexadecimal digits: 2 where it begins in the frame, 8 the frame's bytes, 8 CRC-32 of the frame with
//   zeros here, 16 batch, 8 partition, 8 rows, 16 created_at of the first row in µs

import { crc32 } from "node:zlib";
import type { Pieces } from "../storage/native_pieces.ts";

export interface FrameHead {
  batch: bigint;
  /** Of its table. */
  partition: number;
  rows: number;
  oldest: number;
}

const opening = new TextEncoder().encode("/*sluice:");
const widths = { back: 2, length: 8, sum: 8, batch: 16, partition: 8, rows: 8, oldest: 16 } as const;
type Part = keyof typeof widths;
const parts = Object.keys(widths) as Part[];
/** Where each part begins in the comment. */
const places = Object.fromEntries(
  parts.map((part, i) => [part, parts.slice(0, i).reduce((at, one) => at + widths[one], opening.length)]),
) as Record<Part, number>;
const commentBytes = places.oldest + widths.oldest + 2;
const noSum = new TextEncoder().encode("0".repeat(widths.sum));
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Appends one frame to `out`; `payload` writes the Native block. Returns where it lies within the whole. */
export function writeNativeFrame(
  out: Pieces,
  { batch, partition, rows, oldest }: FrameHead,
  payload: (out: Pieces) => void,
): { offset: number; length: number } {
  const start = out.length;
  const offset = out.total;
  out.reserve(commentBytes);
  out.length += commentBytes;
  payload(out);
  const length = out.total - offset;
  const { bytes } = out;
  // The block's beginning moves to the front, and the comment takes its place.
  const type = typeOf(bytes, start + commentBytes, out.length);
  if (!type || type.bytes + commentBytes > 127) throw new Error("a block without a first column");
  const comment = type.end - commentBytes;
  bytes.copyWithin(start, start + commentBytes, type.end);
  bytes[comment - type.bytes - 1] = type.bytes + commentBytes;
  const hex = (part: Part, value: number | bigint): string =>
    BigInt.asUintN(64, BigInt(value)).toString(16).padStart(widths[part], "0");
  const digits = hex("back", comment - start) + hex("length", length) + hex("sum", 0) + hex("batch", batch);
  const rest = hex("partition", partition) + hex("rows", rows) + hex("oldest", oldest);
  bytes.set(opening, comment);
  bytes.set(encoder.encode(`${digits}${rest}*/`), comment + opening.length);
  let sum = 0;
  for (const piece of out.list(start)) sum = crc32(piece, sum);
  bytes.set(encoder.encode(hex("sum", sum)), comment + places.sum);
  return { offset, length };
}

/** The whole, sound frame of a segment that begins at `at`; undefined when there is none. */
export function readNativeFrame(
  bytes: Uint8Array,
  at: number,
  segment: bigint,
): (FrameHead & { end: number }) | undefined {
  const type = typeOf(bytes, at, bytes.length);
  if (!type || type.bytes <= commentBytes || type.end > bytes.length) return undefined;
  const comment = type.end - commentBytes;
  if (!opening.every((byte, i) => bytes[comment + i] === byte)) return undefined;
  const text = decoder.decode(bytes.subarray(comment, type.end));
  const read = (part: Part): bigint => {
    const digits = text.slice(places[part], places[part] + widths[part]);
    return /^[0-9a-f]+$/.test(digits) ? BigInt(`0x${digits}`) : -1n;
  };
  const batch = read("batch");
  const end = at + Number(read("length"));
  // A frame that the file held in an earlier life may be whole and sound as well.
  if (batch >> 11n !== segment || end > bytes.length || end < type.end) return undefined;
  const sumAt = comment + places.sum;
  let sum = crc32(bytes.subarray(at, sumAt));
  sum = crc32(noSum, sum);
  sum = crc32(bytes.subarray(sumAt + widths.sum, end), sum);
  if (BigInt(sum) !== read("sum")) return undefined;
  const oldest = Number(BigInt.asIntN(64, read("oldest")));
  return { batch, partition: Number(read("partition")), rows: Number(read("rows")), oldest, end };
}

/** Where a comment that may be a frame's lies behind `from`, as its frame's beginning; undefined behind the last. */
export function nextNativeFrame(bytes: Uint8Array, from: number): number | undefined {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = whole.indexOf(opening, from); at >= 0; at = whole.indexOf(opening, at + 1)) {
    const back = Number.parseInt(whole.toString("latin1", at + opening.length, at + opening.length + 2), 16);
    if (at - back >= from) return at - back;
  }
  return undefined;
}

/** The end and length of the type of a block's first column. */
function typeOf(bytes: Uint8Array, from: number, to: number): { end: number; bytes: number } | undefined {
  let at = from + 1;
  for (let size = 0; size < 5 && at < to && bytes[at]! >= 128; size++) at++;
  at++;
  if (at >= to) return undefined;
  at += 1 + bytes[at]!;
  if (at >= to || bytes[at]! > 127) return undefined;
  return { end: at + 1 + bytes[at]!, bytes: bytes[at]! };
}
