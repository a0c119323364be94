// Replaces what no column can hold: NUL and halves of surrogate pairs, which JSON writes as escapes. Not for pieces of
// recordings: their compressed bytes are full of NUL.

import { pastEscape } from "../../core/json/json_walker.ts";

/** Turns such escapes among the sound JSON bytes from `from` to `to` into \\ufffd, which has the same length. */
export function sanitize(bytes: Uint8Array, from: number, to: number): void {
  for (let at = from; at < to;) {
    const end = bytes[at] === 0x5c ? pastEscape(bytes, at) : at + 1;
    // Searched byte by byte: a copy of four bytes costs ten times as much, and an event may have 160,000 of them.
    if (end < 0) {
      bytes[at + 2] = bytes[at + 3] = bytes[at + 4] = 0x66;
      bytes[at + 5] = 0x64;
    }
    at = Math.abs(end);
  }
}
