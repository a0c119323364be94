// Writes the properties of plain events that have columns of their own: Nullable(String) in Native, column by column.

import { Last, byte, hex, isDigit, pastString, quote } from "./json";
import { copy, varuint } from "./values";

/** The most digits of a whole number that the engine writes as it was sent. */
const digitsMax: u32 = 18;
/** Room for the length of a text, in bytes. */
const lengthBytes: u32 = 5;

/** Results for null, and for values that only the engine reads as it does (lists, fractions). */
const isNull: u32 = 0;
const isUnread: u32 = 1;

/** Writes a character as UTF-8; returns the end. */
function putCode(code: u32, to: u32): u32 {
  if (code < 0x80) {
    store<u8>(to, <u8>code);
    return to + 1;
  }
  const more: u32 = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  store<u8>(to, <u8>((<u32>0xf0 << (3 - more)) | (code >> (6 * more))));
  for (let i: u32 = 1; i <= more; i++) store<u8>(to + i, <u8>(0x80 | ((code >> (6 * (more - i))) & 0x3f)));
  return to + more + 1;
}

/** The character of the letter after a backslash that is no `u`. */
function simpleCharacter(letter: u8): u8 {
  if (letter == 0x62) return 8;
  if (letter == 0x66) return 12;
  if (letter == 0x6e) return 10;
  if (letter == 0x72) return 13;
  return letter == 0x74 ? 9 : letter;
}

/** Writes the content of a text with escapes, whose grammar was checked; returns the end. */
function unescape(from: u32, end: u32, out: u32): u32 {
  let to = out;
  for (let at = from; at < end; at++) {
    const c = byte(at);
    if (c != 0x5c) {
      store<u8>(to++, c);
      continue;
    }
    const letter = byte(++at);
    if (letter != 0x75) {
      store<u8>(to++, simpleCharacter(letter));
      continue;
    }
    let code = <u32>hex(at + 1);
    at += 4;
    // The scan lets no half of a pair pass.
    if (code >= 0xd800 && code <= 0xdfff) {
      code = ((code - 0xd800) << 10) + <u32>hex(at + 3) - 0xdc00 + 0x10000;
      at += 6;
    }
    to = putCode(code, to);
  }
  return to;
}

/** Writes the raw value at `from` as a String; returns the end, isNull or isUnread. */
function writeValue(from: u32, out: u32): u32 {
  const first = byte(from);
  let end = from;
  if (first == quote) {
    Last.escaped = false;
    end = pastString(from + 1);
    const length = end - from - 1;
    if (!Last.escaped) {
      const at = varuint(out, length);
      copy(at, from + 1, length);
      return at + length;
    }
    const text = out + lengthBytes;
    const written = unescape(from + 1, end, text) - text;
    const at = varuint(out, written);
    memory.copy(at, text, written);
    return at + written;
  }
  if (first == 0x6e) return isNull;
  if (first == 0x74) end += 4;
  else if (first == 0x66) end += 5;
  else {
    const digits = first == 0x2d ? from + 1 : from;
    for (end = digits; isDigit(byte(end)); end++);
    const after = byte(end);
    const isWhole = end > digits && end - digits <= digitsMax && after != 0x2e && (after | 0x20) != 0x65;
    if (!isWhole || (first == 0x2d && byte(digits) == 0x30)) return isUnread;
  }
  const length = end - from;
  const at = varuint(out, length);
  copy(at, from, length);
  return at + length;
}

/**
 * Writes the columns of the plain events of one year, in their order, after writeColumns(): which values are null at
 * OUT_NULLS, ROWS_MAX bytes a column, and the texts at OUT_COLUMN_TEXTS, each column's up to its end among
 * OUT_COLUMN_ENDS. A column of which all values are null has no bytes, and one with a value that is unread none either.
 * UNREAD_COLUMNS has the bits of the latter. @returns the bits of columns that have bytes.
 */
export function writePropertyColumns(first: u32, year: u32): u32 {
  let out: u32 = OUT_COLUMN_TEXTS;
  let present: u32 = 0;
  let unread: u32 = 0;
  for (let column: u32 = 0; column < PROPERTY_COLUMNS; column++) {
    const begin = out;
    let nullAt: u32 = OUT_NULLS + column * ROWS_MAX;
    let next = load<u32>(YEAR_LIST + year * 12, 4);
    while (next != 0) {
      const nth = next - 1;
      const from = load<u32>(ENTRIES + (first + nth) * ENTRY_BYTES + ((COLUMNS_AT + column) << 2));
      const end = from == 0 ? isNull : writeValue(from + BODY, out);
      if (end == isUnread) {
        unread |= 1 << column;
        break;
      }
      store<u8>(nullAt++, end == isNull ? 1 : 0);
      if (end == isNull) store<u8>(out++, 0);
      else {
        out = end;
        present |= 1 << column;
      }
      next = <u32>load<u16>(NEXT + (nth << 1));
    }
    if ((unread & (1 << column)) != 0) present &= ~(1 << column);
    if ((present & (1 << column)) == 0) out = begin;
    store<u32>(OUT_COLUMN_ENDS + (column << 2), out);
  }
  store<u32>(UNREAD_COLUMNS, unread);
  return present;
}
