// The scan of a body that is one plain event: writes the same index as body_scanner.ts. Any other body is left to it.

import {
  BODY,
  ENTRIES,
  ENTRY_BYTES,
  ENVELOPE_BATCH,
  ENVELOPE_KEYS,
  FIELD_DISTINCT_ID,
  FIELD_EVENT,
  FIELD_PROPERTIES,
  FIELD_PROPERTIES_DISTINCT_ID,
  ITEM_KEYS,
  KEY_SLOT,
  NO_SLOT,
  PROPERTY_KEYS,
  SINGLE_BYTES,
  SINGLE_KEY,
} from "./constants";
import { Last, blanks, byte, pastString, quote, skip } from "./json";
import { KeyPlaces, end, members, note, slotOf } from "./scan";

/** Behind the event's entry: the envelope's members as scan.ts keeps them, and the item's own key. */
function singleNotes(): u32 {
  return ENTRIES + ENTRY_BYTES;
}

/** Notes a member's raw value in the entry, and where it is one of the envelope's too. */
function noteMember(slot: i32, outer: i32, first: u8, from: u32, to: u32): void {
  if (outer != NO_SLOT) {
    store<u32>(singleNotes() + ((<u32>outer) << 2), from - BODY);
    store<u32>(singleNotes() + ((<u32>outer) << 2), to - BODY, 4);
  }
  if (slot == KEY_SLOT) {
    if (first != quote) return;
    KeyPlaces.ownFrom = from;
    KeyPlaces.ownTo = to;
  } else if (slot != NO_SLOT) note(ENTRIES, slot, first, from, to);
}

/**
 * Indexes the body of `length` bytes as the one event it is, with a name, an id and no items.
 * @returns 1, or 0 when it is anything else, or unusual: then what was noted means nothing.
 */
export function single(length: u32): u32 {
  for (let at: u32 = 0; at < ENTRY_BYTES + SINGLE_BYTES; at += 8) store<u64>(ENTRIES + at, 0);
  KeyPlaces.ownTo = 0;
  KeyPlaces.innerTo = 0;
  const start = blanks(BODY);
  if (byte(start) != 0x7b) return 0;
  let at = start;
  do {
    const key = blanks(at + 1) + 1;
    if (byte(key - 1) != quote) return 0;
    Last.escaped = false;
    at = pastString(key);
    if (at == 0 || Last.escaped) return 0;
    const slot = slotOf(ITEM_KEYS, key, at - key);
    const outer = slotOf(ENVELOPE_KEYS, key, at - key);
    if (outer == ENVELOPE_BATCH) return 0;
    at = blanks(at + 1);
    if (byte(at) != 0x3a) return 0;
    const from = blanks(at + 1);
    const first = byte(from);
    if (slot == FIELD_PROPERTIES && end(ENTRIES, FIELD_PROPERTIES) != 0) return 0;
    at = slot == FIELD_PROPERTIES && first == 0x7b ? members(PROPERTY_KEYS, from, 1, ENTRIES) : skip(from, 0);
    if (at == 0) return 0;
    noteMember(slot, outer, first, from, at);
    at = blanks(at);
  } while (byte(at) == 0x2c);
  if (byte(at) != 0x7d || blanks(at + 1) != BODY + length) return 0;
  if (end(ENTRIES, FIELD_EVENT) == 0) return 0;
  if (end(ENTRIES, FIELD_DISTINCT_ID) + end(ENTRIES, FIELD_PROPERTIES_DISTINCT_ID) == 0) return 0;
  store<u32>(ENTRIES, start - BODY);
  store<u32>(ENTRIES, at + 1 - BODY, 4);
  const own = KeyPlaces.ownTo != 0;
  if (own || KeyPlaces.innerTo != 0) {
    store<u32>(singleNotes() + (SINGLE_KEY << 2), (own ? KeyPlaces.ownFrom : KeyPlaces.innerFrom) - BODY);
    store<u32>(singleNotes() + (SINGLE_KEY << 2), (own ? KeyPlaces.ownTo : KeyPlaces.innerTo) - BODY, 4);
  }
  return 1;
}
