// A row of folded sessions: its offsets, and how it is written as values of Native columns.

import { copy, varuint } from "./values";

/** Offsets in a row, in bytes. */
export const hashOf: u32 = 0;
export const start: u32 = 8;
export const last: u32 = 16;
export const arrived: u32 = 24;
export const created: u32 = 32;
export const lcpAt: u32 = 40;
export const lcp: u32 = 48;
export const project: u32 = 56;
export const key: u32 = 60;
export const sessionLength: u32 = 64;
export const idLength: u32 = 68;
export const events: u32 = 72;
export const hasLcp: u32 = 76;
/** Texts that a later event may replace: its moment, where it lies, its length, and its capacity. */
export const entry: u32 = 80;
export const exit: u32 = 104;
export const click: u32 = 128;
export const textAt: u32 = 8;
export const textLength: u32 = 12;
export const textCapacity: u32 = 16;
/** The moment of a session's id in microseconds; -1 when it has none. */
export const idMoment: u32 = 152;

/** The eight bytes of a moment that sort as it does. */
@inline
function late(micros: i64): u64 {
  return bswap((<u64>micros) ^ 0x8000000000000000);
}

@inline
function early(micros: i64): u64 {
  return ~late(micros);
}

/** Writes a column's text of a moment and what else it has. */
@inline
function writeText(out: u32, moment: u64, from: u32, size: u32): u32 {
  const at = varuint(out, size + 8);
  store<u64>(at, moment);
  copy(at + 8, from, size);
  return at + 8 + size;
}

/** A text of a row that may have none. */
@inline
function writeOwn(out: u32, text: u32, isEarliest: bool): u32 {
  const size = load<u32>(text, textLength);
  if (size == 0) {
    store<u8>(out, 0);
    return out + 1;
  }
  const micros = load<i64>(text);
  return writeText(out, isEarliest ? early(micros) : late(micros), load<u32>(text, textAt), size);
}

/** One value of a column; returns where the next one belongs. */
@inline
export function writeValue(column: u32, out: u32, at: u32): u32 {
  if (column == 0) {
    store<u32>(out, load<u32>(at, project));
    return out + 4;
  }
  if (column == 1) {
    const size = load<u32>(at, sessionLength);
    const text = varuint(out, size);
    copy(text, load<u32>(at, key), size);
    return text + size;
  }
  if (column <= 5) {
    // Ranks are left in for the first and the last moment.
    const offset = column == 2 ? start : column == 3 ? last : column == 4 ? arrived : created;
    store<i64>(out, load<i64>(at + offset));
    return out + 8;
  }
  if (column == 6) {
    const id = load<u32>(at, key) + load<u32>(at, sessionLength);
    return writeText(out, early(load<i64>(at, start)), id, load<u32>(at, idLength));
  }
  if (column == 7) return writeOwn(out, at + entry, true);
  if (column == 8) return writeOwn(out, at + exit, false);
  if (column == 9) return writeOwn(out, at + click, false);
  if (load<u32>(at, hasLcp) == 0) {
    store<u8>(out, 0);
    return out + 1;
  }
  store<u8>(out, 16);
  store<u64>(out, early(load<i64>(at, lcpAt)), 1);
  store<u64>(out, bswap(load<u64>(at, lcp)), 9);
  return out + 17;
}
