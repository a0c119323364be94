// What no column can hold, made into what it can: NUL and halves of surrogate pairs, written as escapes. Never for a
// piece of a recording: its compressed bytes are full of NUL, and mean it.

import { hexValue } from "../../core/bytes.ts";

/** Turns such escapes among the JSON bytes from `from` to `to` into \\ufffd, which has the same length. */
export function sanitize(bytes: Uint8Array, from: number, to: number): void {
  let at = from;
  while (at < to) {
    if (bytes[at] !== 0x5c) at++;
    else if (bytes[at + 1] !== 0x75) at += 2;
    else at = pastUnicode(bytes, at);
  }
}

function pastUnicode(bytes: Uint8Array, at: number): number {
  const code = hexAt(bytes, at + 2);
  if (code === 0) replace(bytes, at + 2);
  if (code < 0xd800 || code > 0xdfff) return at + 6;
  if (code < 0xdc00 && bytes[at + 6] === 0x5c && bytes[at + 7] === 0x75) {
    const low = hexAt(bytes, at + 8);
    if (low >= 0xdc00 && low <= 0xdfff) return at + 12;
  }
  replace(bytes, at + 2);
  return at + 6;
}

/** Byte by byte: a copy of four costs ten times as much, and an event may have 160,000 of them. */
function replace(bytes: Uint8Array, at: number): void {
  bytes[at] = bytes[at + 1] = bytes[at + 2] = 0x66;
  bytes[at + 3] = 0x64;
}

/** Of digits that the scan has checked. */
function hexAt(bytes: Uint8Array, at: number): number {
  const [a, b] = [hexValue[bytes[at]!]!, hexValue[bytes[at + 1]!]!];
  return (a << 12) | (b << 8) | (hexValue[bytes[at + 2]!]! << 4) | hexValue[bytes[at + 3]!]!;
}
