// The scan of plain items and the columns of plain events, in AssemblyScript: the same index as scan.ts writes, the
// same bytes as block.ts. Never decides about anything unusual: that item or event is left to them.
//
// Built to fast.wasm by `bun test/support/build_fast.ts`, which puts the constants in front that are spelled in
// capitals and not defined here: places of fields (member.ts), the layout of memory and bounds (fast_layout.ts).

// @ts-ignore: decorator
@inline const quote: u8 = 0x22;
// @ts-ignore: decorator
@inline const backslash: u8 = 0x5c;

/** The last string read has an escape. */
let escaped: bool = false;
/** The open item's own key and the one in its properties, [from, to). */
let ownFrom: u32 = 0;
let ownTo: u32 = 0;
let innerFrom: u32 = 0;
let innerTo: u32 = 0;

// @ts-ignore: decorator
@inline function byte(at: u32): u8 {
  return load<u8>(at);
}

// @ts-ignore: decorator
@inline function blanks(from: u32): u32 {
  let at = from;
  while (byte(at) <= 0x20) {
    const c = byte(at);
    if (c != 0x20 && c != 0x0a && c != 0x0d && c != 0x09) break;
    at++;
  }
  return at;
}

function hex(at: u32): i32 {
  let code = 0;
  for (let i: u32 = 0; i < 4; i++) {
    const c = byte(at + i);
    let digit = <i32>c - 0x30;
    if (digit < 0 || digit > 9) {
      digit = <i32>(c | 0x20) - 0x61 + 10;
      if (digit < 10 || digit > 15) return -1;
    }
    code = (code << 4) | digit;
  }
  return code;
}

/** Letters behind a backslash that stand for one character, as bits: below "@", and from there on. */
// @ts-ignore: decorator
@inline const simpleLow: u64 = (<u64>1 << 0x22) | (<u64>1 << 0x2f);
// @ts-ignore: decorator
@inline const simpleHigh: u64 = (<u64>1 << 0x1c) | (<u64>1 << 0x22) | (<u64>1 << 0x26) | (<u64>1 << 0x2e) |
  (<u64>1 << 0x32) | (<u64>1 << 0x34);

// @ts-ignore: decorator
@inline function isSimple(letter: u8): bool {
  return letter < 0x80 && ((letter < 0x40 ? simpleLow : simpleHigh) >> (<u64>letter & 63) & 1) != 0;
}

/** Behind escapes, one next to the other, that can be stored as they are; 0 where there is any other. */
function pastEscapes(from: u32): u32 {
  let at = from;
  escaped = true;
  do {
    const letter = byte(at + 1);
    if (isSimple(letter)) at += 2;
    else {
      if (letter != 0x75) return 0;
      const code = hex(at + 2);
      if (code <= 0) return 0;
      if (code < 0xd800 || code > 0xdfff) at += 6;
      else {
        if (code >= 0xdc00 || byte(at + 6) != backslash || byte(at + 7) != 0x75) return 0;
        const low = hex(at + 8);
        if (low < 0xdc00 || low > 0xdfff) return 0;
        at += 12;
      }
    }
  } while (byte(at) == backslash);
  return at;
}

/** From a string's first byte to its closing quote; 0 when it has none or holds what it must not. */
// @ts-ignore: decorator
@inline function pastString(from: u32): u32 {
  let at = from;
  for (;;) {
    const v = v128.load(at);
    const special = v128.or(
      v128.or(i8x16.eq(v, i8x16.splat(0x22)), i8x16.eq(v, i8x16.splat(0x5c))),
      i8x16.lt_u(v, i8x16.splat(0x20)),
    );
    const bits = i8x16.bitmask(special);
    if (bits == 0) {
      at += 16;
      continue;
    }
    at += ctz(bits);
    const c = byte(at);
    if (c == quote) return at;
    if (c != backslash) return 0;
    at = pastEscapes(at);
    if (at == 0) return 0;
  }
  return 0;
}

// @ts-ignore: decorator
@inline function isDigit(c: u8): bool {
  return <u8>(c - 0x30) < 10;
}

/** Behind a number or word; 0 when it is none. */
function pastScalar(from: u32): u32 {
  const first = byte(from);
  const four = load<u32>(from);
  if (four == 0x65757274 || four == 0x6c6c756e) return from + 4;
  if (four == 0x736c6166) return byte(from + 4) == 0x65 ? from + 5 : 0;
  let at = first == 0x2d ? from + 1 : from;
  if (byte(at) == 0x30) at++;
  else {
    if (!isDigit(byte(at))) return 0;
    while (isDigit(byte(at))) at++;
  }
  if (byte(at) == 0x2e) {
    at++;
    if (!isDigit(byte(at))) return 0;
    while (isDigit(byte(at))) at++;
  }
  if ((byte(at) | 0x20) == 0x65) {
    at++;
    if (byte(at) == 0x2b || byte(at) == 0x2d) at++;
    if (!isDigit(byte(at))) return 0;
    while (isDigit(byte(at))) at++;
  }
  return at;
}

/** From a key's opening quote to its value; 0 when there is no key. */
// @ts-ignore: decorator
@inline function pastKey(from: u32): u32 {
  if (byte(from) != quote) return 0;
  const end = pastString(from + 1);
  if (end == 0) return 0;
  const colon = blanks(end + 1);
  return byte(colon) == 0x3a ? blanks(colon + 1) : 0;
}

/** Behind a value of any kind, `outer` containers deep; 0 when it is none, or too deep. */
function skip(from: u32, outer: u32): u32 {
  let depth = outer;
  let at = from;
  do {
    const first = byte(at);
    if (first == quote) {
      at = pastString(at + 1);
      if (at == 0) return 0;
      at++;
    } else if (first == 0x7b || first == 0x5b) {
      if (depth >= DEPTH_MAX) return 0;
      const next = blanks(at + 1);
      if (byte(next) != first + 2) {
        store<u8>(NESTING + depth, first);
        depth++;
        at = first == 0x7b ? pastKey(next) : next;
        if (at == 0) return 0;
        continue;
      }
      at = next + 1;
    } else {
      at = pastScalar(at);
      if (at == 0) return 0;
    }
    while (depth > outer) {
      at = blanks(at);
      const open = byte(NESTING + depth - 1);
      const c = byte(at);
      if (c == 0x2c) {
        at = blanks(at + 1);
        if (open == 0x7b) at = pastKey(at);
        if (at == 0) return 0;
        break;
      }
      if (c != open + 2) return 0;
      depth--;
      at++;
    }
  } while (depth > outer);
  return at;
}

/** The slot of a key: by its length and second byte to the names there are, then by their bytes. */
// @ts-ignore: decorator
@inline function slotOf(table: u32, from: u32, length: u32): i32 {
  if (length > KEY_LENGTH_MAX) return NO_SLOT;
  let place = <u32>load<u8>(table + (length << 8) + <u32>byte(from + 1));
  while (place != 0) {
    const name = NAMES + place * NAME_BYTES;
    const low = i8x16.bitmask(i8x16.eq(v128.load(from), v128.load(name, 16)));
    const high = i8x16.bitmask(i8x16.eq(v128.load(from, 16), v128.load(name, 32)));
    const wanted: u32 = length >= 32 ? 0xffffffff : (1 << length) - 1;
    if (((<u32>low | (<u32>high << 16)) & wanted) == wanted) return load<i32>(name);
    place = load<u32>(name, 4);
  }
  return NO_SLOT;
}

// @ts-ignore: decorator
@inline function grade(kind: u8, first: u8, size: u32): u32 {
  const isText = kind == KIND_TEXT || kind == KIND_TEXT_OR_NUMBER;
  if (first == quote && isText) return size > 2 ? GRADE_SOUND : GRADE_EMPTY;
  if (first == 0x6e) return GRADE_ABSENT;
  if (kind == KIND_OBJECT) return first == 0x7b ? GRADE_SOUND : GRADE_WRONG;
  if (kind == KIND_FLAG) return first == 0x74 ? GRADE_SOUND : first == 0x66 ? GRADE_EMPTY : GRADE_WRONG;
  return kind == KIND_TEXT_OR_NUMBER && (first == 0x2d || isDigit(first)) ? GRADE_SOUND : GRADE_WRONG;
}

// @ts-ignore: decorator
@inline function note(entry: u32, slot: i32, first: u8, from: u32, to: u32): void {
  if (slot >= FIRST_TRAIT) {
    const which = <u32>(slot - FIRST_TRAIT);
    const place = entry + (FIELD_TRAITS << 2);
    const others = load<u32>(place) & ~(<u32>3 << (which << 1));
    store<u32>(place, others | (grade(byte(TRAIT_KINDS + which), first, to - from) << (which << 1)));
    return;
  }
  store<u32>(entry + (<u32>slot << 2), from - BODY);
  store<u32>(entry + (<u32>slot << 2), to - BODY, 4);
  if (slot >= FIRST_IDENTITY) store<u32>(entry + (FIELD_IDENTITY << 2), 1);
}

/** Behind an object's closing bracket, its members noted in `entry`; 0 when anything is unusual. */
function members(table: u32, from: u32, depth: u32, entry: u32): u32 {
  let at = blanks(from + 1);
  if (byte(at) == 0x7d) return at + 1;
  for (;;) {
    if (byte(at) != quote) return 0;
    const key = at + 1;
    escaped = false;
    at = pastString(key);
    if (at == 0 || escaped) return 0;
    const slot = slotOf(table, key, at - key);
    at = blanks(at + 1);
    if (byte(at) != 0x3a) return 0;
    at = blanks(at + 1);
    const first = byte(at);
    const start = at;
    if (slot == FIELD_PROPERTIES) {
      if (load<u32>(entry + (FIELD_PROPERTIES << 2), 4) != 0) return 0;
      at = first == 0x7b ? members(PROPERTY_KEYS, at, depth + 1, entry) : skip(at, depth);
    } else if (first == quote) {
      at = pastString(at + 1);
      if (at != 0) at++;
    } else at = skip(at, depth);
    if (at == 0) return 0;
    if (slot == KEY_SLOT) {
      if (first == quote) {
        if (table == PROPERTY_KEYS) {
          innerFrom = start;
          innerTo = at;
        } else {
          ownFrom = start;
          ownTo = at;
        }
      }
    } else if (slot != NO_SLOT) note(entry, slot, first, start, at);
    at = blanks(at);
    const c = byte(at);
    if (c == 0x7d) return at + 1;
    if (c != 0x2c) return 0;
    at = blanks(at + 1);
  }
  return 0;
}

// @ts-ignore: decorator
@inline function same(a: u32, b: u32, length: u32): bool {
  for (let i: u32 = 0; i < length; i++) if (byte(a + i) != byte(b + i)) return false;
  return true;
}

// @ts-ignore: decorator
@inline function end(entry: u32, slot: u32): u32 {
  return load<u32>(entry + (slot << 2), 4);
}

/**
 * Indexes plain items from `from` on, about up to `goal`: each an object with a name and an id, and no other key
 * than the one known, [keyFrom, keyTo). Stops before the first that is none, or before the closing bracket.
 * @returns where it stopped; COUNT tells how many entries it wrote from entry `count` on, EXPECTS whether the last
 *   had a comma behind it.
 */
export function scan(
  from: u32, goal: u32, count: u32, countMax: u32, ordinal: u32, keyFrom: u32, keyTo: u32,
): u32 {
  let at = from;
  let done: u32 = 0;
  let expects: u32 = 0;
  while (at < goal && count + done < countMax && byte(at) == 0x7b) {
    const entry = ENTRIES + (count + done) * ENTRY_BYTES;
    for (let at: u32 = 0; at < ENTRY_BYTES; at += 16) v128.store(entry + at, i64x2.splat(0));
    ownTo = 0;
    innerTo = 0;
    const to = members(ITEM_KEYS, at, 2, entry);
    if (to == 0) break;
    if (ownTo == 0) {
      ownFrom = innerFrom;
      ownTo = innerTo;
    }
    if (ownTo != 0) {
      const length = ownTo - ownFrom;
      if (length != keyTo - keyFrom || !same(ownFrom, keyFrom, length)) break;
    }
    if (end(entry, FIELD_EVENT) == 0) break;
    if (end(entry, FIELD_DISTINCT_ID) + end(entry, FIELD_PROPERTIES_DISTINCT_ID) == 0) break;
    let next = blanks(to);
    const c = byte(next);
    if (c == 0x2c) next = blanks(next + 1);
    else if (c != 0x5d) break;
    store<u32>(entry, at - BODY);
    store<u32>(entry, to - BODY, 4);
    store<u32>(entry + (FIELD_ORDINAL << 2), ordinal + done);
    at = next;
    done++;
    expects = c == 0x2c ? 1 : 0;
    if (expects == 0) break;
  }
  store<u32>(COUNT, done);
  store<u32>(EXPECTS, expects);
  return at;
}
