// A text as a range of bytes: set, compared and cut without a copy.

import { decodeText, toBytes } from "../../core/bytes.ts";

export interface ByteRange {
  source: Uint8Array;
  from: number;
  to: number;
}

const nothing = new Uint8Array(0);

export function emptyRange(): ByteRange {
  return { source: nothing, from: 0, to: 0 };
}

export function setBytes(out: ByteRange, source: Uint8Array, from: number, to: number): void {
  out.source = source;
  out.from = from;
  out.to = to;
}

export function setText(out: ByteRange, text: string): void {
  const source = toBytes(text);
  setBytes(out, source, 0, source.length);
}

/** Cuts the text to `charsMax` characters; true when it was longer. Reads no more bytes than so many can have. */
export function cutText(out: ByteRange, charsMax: number): boolean {
  if (out.to - out.from <= charsMax) return false;
  const end = Math.min(out.to, out.from + 4 * (charsMax + 1));
  const characters = [...decodeText(out.source, out.from, end)];
  if (characters.length <= charsMax) return false;
  setText(out, characters.slice(0, charsMax).join(""));
  return true;
}

export function sameBytes(left: ByteRange, right: ByteRange): boolean {
  if (left.to - left.from !== right.to - right.from) return false;
  for (let i = left.to - left.from - 1; i >= 0; i--) {
    if (left.source[left.from + i] !== right.source[right.from + i]) return false;
  }
  return true;
}

export function rangeText({ source, from, to }: ByteRange): string {
  return decodeText(source, from, to);
}
