// Raw values of a snapshot: numbers, texts, and the length that a compressed text inflates to.

import { decodeText } from "../../core/bytes.ts";
import { limits } from "../../core/limits.ts";
import { captureLimits } from "../limits.ts";

/** A raw value as [from, to) of the body; to = 0 when it is absent. */
export interface ValueRange {
  from: number;
  to: number;
}

/** A raw value as a number; NaN when it is none, or too long. */
export function numberAt(bytes: Uint8Array, from: number, to: number): number {
  let value = 0;
  if (to - from > limits.snapshotNumberBytesMax) return Number.NaN;
  // So many digits are added up exactly.
  if (to - from > 15) return parsedNumber(bytes, from, to);
  for (let at = from; at < to; at++) {
    const digit = bytes[at]! - 0x30;
    if (digit < 0 || digit > 9) return parsedNumber(bytes, from, to);
    value = value * 10 + digit;
  }
  return value;
}

function parsedNumber(bytes: Uint8Array, from: number, to: number): number {
  const first = bytes[from]!;
  if (first !== 0x2d && (first < 0x30 || first > 0x39)) return Number.NaN;
  return Number(decodeText(bytes, from, to));
}

/**
 * Reads the length that gzip declares at the end of a text in which each character is a byte; 0 when the value is no
 * text. What such a text holds is not checked.
 */
export function readInflatedBytes(bytes: Uint8Array, from: number, to: number): number {
  if (bytes[from] !== 0x22) return 0;
  // Four characters, escaped, and the end of one that is cut. No run of backslashes is cut.
  let start = Math.max(from + 1, to - 1 - 5 * "\\u0000".length);
  while (bytes[start - 1] === 0x5c) start--;
  const tail = JSON.parse(`"${decodeText(bytes, start, to - 1)}"`) as string;
  return Buffer.from(tail.slice(-4).padStart(4, "\0"), "latin1").readUInt32LE();
}

/** A raw value as a text; empty when it is not one, or longer than `snapshotTextBytesMax`. */
export function textAt(bytes: Uint8Array, { from, to }: ValueRange): string {
  if (bytes[from] !== 0x22 || to - from > captureLimits.snapshotTextBytesMax) return "";
  return JSON.parse(decodeText(bytes, from, to)) as string;
}
