// A frame that is nothing but a block in ClickHouse's Native format: what must be known of it stands in a comment
// within the type of its first column. So a segment of such frames is a file that the engine reads as it is. Never
// looks further into a block than that.
//
//   varuint columns, varuint rows, name `uuid`, type = `UUID/*sluice2:` … `*/`, …
//   the comment's hexadecimal digits: 2 where it begins in the frame, 8 the frame's bytes, 8 CRC-32 of the frame with
//   zeros here, 16 batch, 8 partition, 8 rows, 16 created_at of the first row in µs, 8 where in the file the frame
//   begins, 8 bytes of the file that were synced before, 8 rows of the segment before these
//
// Earlier versions wrote `/*sluice:` and not the last three.

import { crc32 } from "node:zlib";
import type { Pieces } from "../../../storage/native/native_pieces.ts";
import type { FoundFrame, FrameHead, FramePlace } from "./frame.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
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
const parts = Object.keys(widths) as Part[];
const olderParts = parts.slice(0, parts.indexOf("at"));
const hexDigits = encoder.encode("0123456789abcdef");
const closing = encoder.encode("*/");
const noSum = encoder.encode("0".repeat(widths.sum));
/** How both comments begin. */
const beginning = encoder.encode("/*sluice");

/** Where the parts of a comment lie in it. */
function layoutOf(mark: string, held: readonly Part[]) {
  const opening = encoder.encode(`/*sluice${mark}`);
  const places = new Map<Part, number>();
  let bytes = opening.length;
  for (const part of held) {
    places.set(part, bytes);
    bytes += widths[part];
  }
  return { opening, places, bytes: bytes + 2 };
}

const layout = layoutOf("2:", parts);
const olderLayout = layoutOf(":", olderParts);
const sumAt = layout.places.get("sum")!;

/**
 * Appends one frame to `out`, whose first byte goes to place `head.synced` of the file; `payload` writes the Native
 * block. Returns where it lies within the whole.
 */
export function writeNativeFrame(out: Pieces, head: FrameHead, payload: (out: Pieces) => void): FramePlace {
  const { opening, bytes: commentBytes } = layout;
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
  for (const piece of out.list(start)) sum = crc32(piece, sum);
  putHex(bytes, comment + sumAt, sum, widths.sum);
  return { offset, length };
}

/** Writes the lower 32 bits of a number; returns where it ends. */
function putHex(bytes: Uint8Array, from: number, value: number, digits: number): number {
  for (let rest = value >>> 0, at = from + digits - 1; at >= from; at--, rest >>>= 4) {
    bytes[at] = hexDigits[rest & 15]!;
  }
  return from + digits;
}

/** The whole, sound frame of a segment that begins at `at`; undefined when there is none. */
export function readNativeFrame(bytes: Uint8Array, at: number, segment: bigint): FoundFrame | undefined {
  const read = readComment(bytes, at);
  if (!read) return undefined;
  const { comment, number } = read;
  const batch = number("batch");
  const end = at + Number(number("length"));
  // A frame that the file held in an earlier life may be whole and sound as well.
  if (batch >> 11n !== segment || end > bytes.length || end < read.end) return undefined;
  // A frame counts only where it was written: one that was copied over another is none.
  const [place, synced, before] = read.isNew ? newParts.map((part) => Number(number(part))) : [];
  if (place !== undefined && place !== at) return undefined;
  let sum = crc32(bytes.subarray(at, comment + sumPlace(read.isNew)));
  sum = crc32(noSum, sum);
  sum = crc32(bytes.subarray(comment + sumPlace(read.isNew) + widths.sum, end), sum);
  if (BigInt(sum) !== number("sum")) return undefined;
  const oldest = Number(BigInt.asIntN(64, number("oldest")));
  const [partition, rows] = [Number(number("partition")), Number(number("rows"))];
  return { batch, partition, rows, oldest, synced, before, at, offset: at, end };
}

const newParts = ["at", "synced", "before"] as const;

function sumPlace(isNew: boolean): number {
  return isNew ? sumAt : olderLayout.places.get("sum")!;
}

/** The batch that a frame at `at` names, sound or not; undefined when there is nothing like one. */
export function nativeBatchAt(bytes: Uint8Array, at: number): bigint | undefined {
  const batch = readComment(bytes, at)?.number("batch");
  return batch === -1n ? undefined : batch;
}

/** The comment of a block that begins at `at`, and where it and the type end; a part without digits is -1. */
function readComment(bytes: Uint8Array, at: number) {
  const type = typeOf(bytes, at, bytes.length);
  if (!type || type.end > bytes.length) return undefined;
  const fits = ({ opening, bytes: length }: typeof layout) =>
    type.bytes > length && opening.every((byte, i) => bytes[type.end - length + i] === byte);
  const isNew = fits(layout);
  if (!isNew && !fits(olderLayout)) return undefined;
  const { places, bytes: length } = isNew ? layout : olderLayout;
  const comment = type.end - length;
  const text = decoder.decode(bytes.subarray(comment, type.end));
  const number = (part: Part): bigint => {
    const from = places.get(part) ?? 0;
    const digits = text.slice(from, from + widths[part]);
    return /^[0-9a-f]+$/.test(digits) ? BigInt(`0x${digits}`) : -1n;
  };
  return { comment, end: type.end, isNew, number };
}

/** Where a comment that may be a frame's lies behind `from`, as its frame's beginning; undefined behind the last. */
export function nextNativeFrame(bytes: Uint8Array, from: number): number | undefined {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = whole.indexOf(beginning, from); at >= 0; at = whole.indexOf(beginning, at + 1)) {
    const behind = at + beginning.length;
    const digits = behind + (whole[behind] === 0x3a ? 1 : 2);
    const back = Number.parseInt(whole.toString("latin1", digits, digits + 2), 16);
    if (at - back >= from) return at - back;
  }
  return undefined;
}

/** The name of the first column behind its length, as every block of events begins. */
const firstName = encoder.encode("\u0004uuid");

/** The end and length of the type of a block's first column. */
function typeOf(bytes: Uint8Array, from: number, to: number): { end: number; bytes: number } | undefined {
  let at = from + 1;
  for (let size = 0; size < 5 && at < to && bytes[at]! >= 128; size++) at++;
  at++;
  // No text of a client's can hold the byte of the name's length: what it sends is never taken for a frame.
  if (at >= to || !firstName.every((byte, i) => bytes[at + i] === byte)) return undefined;
  at += firstName.length;
  if (at >= to || bytes[at]! > 127) return undefined;
  return { end: at + 1 + bytes[at]!, bytes: bytes[at]! };
}
