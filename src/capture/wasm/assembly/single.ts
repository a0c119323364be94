// The scan of a body's own object: of one that is a plain event, and of the members around a batch's events. Writes the
// same index as body_scanner.ts, and leaves any other body to it.

import { Last, blanks, byte, pastString, quote, skip } from "./json";
import { repeatsKey } from "./repeats";
import { KeyRanges, end, members, noNames, recordMember, slotOf } from "./scan";

/** Records a member's raw value in the entry, and after the entry if it is also one of the envelope's. */
function recordSingleMember(entry: u32, slot: i32, outer: i32, first: u8, from: u32, to: u32): void {
  if (outer != NO_SLOT) {
    store<u32>(entry + ENTRY_BYTES + ((<u32>outer) << 2), from - BODY);
    store<u32>(entry + ENTRY_BYTES + ((<u32>outer) << 2), to - BODY, 4);
  }
  if (slot == KEY_SLOT) {
    if (first != quote) return;
    KeyRanges.ownFrom = from;
    KeyRanges.ownTo = to;
  } else if (slot != NO_SLOT) recordMember(entry, slot, first, from, to);
}

/** The address after the bracket that opens the events of a batch, once envelope() has met it; else 0. */
let itemsAt: u32 = 0;

/**
 * Records the members of the body's own object after the byte at `start`, in `entry` and after it. @returns where it
 * ends: at its closing bracket, or after the one at itemsAt; 0 when anything is unusual.
 */
function envelope(start: u32, entry: u32): u32 {
  for (let at: u32 = 0; at < ENTRY_BYTES + SINGLE_BYTES; at += 8) store<u64>(entry + at, 0);
  store<u64>(entry + (FIELD_SHAPE << 2), noNames);
  KeyRanges.ownTo = 0;
  KeyRanges.innerTo = 0;
  itemsAt = 0;
  Last.names = 0;
  let at = start;
  do {
    const key = blanks(at + 1) + 1;
    if (byte(key - 1) != quote) return 0;
    Last.escaped = false;
    at = pastString(key);
    if (at == 0 || Last.escaped) return 0;
    const slot = slotOf(ITEM_KEYS, key, at - key);
    const outer = slotOf(ENVELOPE_KEYS, key, at - key);
    at = blanks(at + 1);
    if (byte(at) != 0x3a) return 0;
    const from = blanks(at + 1);
    const first = byte(from);
    if (outer == ENVELOPE_BATCH) {
      itemsAt = first == 0x5b ? from + 1 : 0;
      return itemsAt;
    }
    if (slot == FIELD_PROPERTIES && end(entry, FIELD_PROPERTIES) != 0) return 0;
    at = slot == FIELD_PROPERTIES && first == 0x7b ? members(PROPERTY_KEYS, from, 1, entry) : skip(from, 0);
    if (at == 0) return 0;
    recordSingleMember(entry, slot, outer, first, from, at);
    at = blanks(at);
  } while (byte(at) == 0x2c);
  return byte(at) == 0x7d ? at : 0;
}

/**
 * Looks at the body of `length` bytes from its beginning.
 * @returns 1 when it is one event, with a name, an id and no items, which is indexed then; where the events of a batch
 *   begin, from the body's beginning; 0 when it is anything else, or unusual: then what was noted means nothing.
 */
export function open(length: u32): u32 {
  const start = blanks(BODY);
  if (byte(start) != 0x7b) return 0;
  const at = envelope(start, ENTRIES);
  if (itemsAt != 0) return itemsAt - BODY;
  if (at == 0 || blanks(at + 1) != BODY + length) return 0;
  if (end(ENTRIES, FIELD_EVENT) == 0 || repeatsKey(ENTRIES)) return 0;
  if (end(ENTRIES, FIELD_DISTINCT_ID) + end(ENTRIES, FIELD_PROPERTIES_DISTINCT_ID) == 0) return 0;
  store<u32>(ENTRIES, start - BODY);
  store<u32>(ENTRIES, at + 1 - BODY, 4);
  const own = KeyRanges.ownTo != 0;
  if (own || KeyRanges.innerTo != 0) {
    const key = ENTRIES + ENTRY_BYTES + (SINGLE_KEY << 2);
    store<u32>(key, (own ? KeyRanges.ownFrom : KeyRanges.innerFrom) - BODY);
    store<u32>(key, (own ? KeyRanges.ownTo : KeyRanges.innerTo) - BODY, 4);
  }
  return 1;
}

/**
 * Whether the body of `length` bytes ends as it may after the events whose closing bracket is at `from`. Members of a
 * batch are recorded after entry number `count`.
 */
export function ends(from: u32, length: u32, count: u32, isBatch: u32): u32 {
  const entry = ENTRIES + count * ENTRY_BYTES;
  let at = from;
  if (byte(at) != 0x5d) return 0;
  itemsAt = 0;
  if (isBatch != 0) {
    at = blanks(at + 1);
    if (byte(at) == 0x2c) at = envelope(at, entry);
    else for (let note: u32 = 0; note < SINGLE_BYTES; note += 8) store<u64>(entry + ENTRY_BYTES + note, 0);
    if (at == 0 || itemsAt != 0 || byte(at) != 0x7d) return 0;
  }
  return blanks(at + 1) == BODY + length ? 1 : 0;
}
