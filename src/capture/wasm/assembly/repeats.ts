// Objects that name a key twice: the last one counts, so that such an event is written anew, the slow way.

import { Last, blanks, byte, pastString, skip } from "./json";
import { end } from "./scan";
import { mixText, sameText } from "./values";

let objects: u32 = 0;
let keys: u32 = 0;

/** Lists a key of an object; false when it is listed already, or when there are too many. */
function add(object: u32, key: u32, length: u32): bool {
  let slot = <u32>(mixText(<u64>object, key, length) >>> 40) & (REPEAT_SLOTS - 1);
  for (;;) {
    const number = <u32>load<u16>(REPEAT_TABLE + (slot << 1));
    if (number == 0) break;
    const known = REPEAT_LIST + (number - 1) * 12;
    const isAlike = load<u32>(known, 4) == length && load<u32>(known, 8) == object;
    if (isAlike && sameText(load<u32>(known), key, length)) return false;
    slot = (slot + 1) & (REPEAT_SLOTS - 1);
  }
  if (keys == REPEAT_KEYS_MAX) return false;
  store<u32>(REPEAT_LIST + keys * 12, key);
  store<u32>(REPEAT_LIST + keys * 12, length, 4);
  store<u32>(REPEAT_LIST + keys * 12, object, 8);
  store<u16>(REPEAT_TABLE + (slot << 1), <u16>++keys);
  return true;
}

/** The address after a valid value; 0 when one of its objects may name a key twice, as a key with an escape may. */
function pastUnrepeated(from: u32): u32 {
  const first = byte(from);
  if (first != 0x7b && first != 0x5b) return skip(from, 0);
  const object = ++objects;
  let at = blanks(from + 1);
  while (byte(at) != first + 2) {
    if (first == 0x7b) {
      const key = at + 1;
      Last.escaped = false;
      at = pastString(key);
      if (Last.escaped || !add(object, key, at - key)) return 0;
      at = blanks(blanks(at + 1) + 1);
    }
    at = pastUnrepeated(at);
    if (at == 0) return 0;
    at = blanks(at);
    if (byte(at) == 0x2c) at = blanks(at + 1);
  }
  return at + 1;
}

function isUnrepeated(entry: u32, slot: u32): bool {
  return end(entry, slot) == 0 || pastUnrepeated(load<u32>(entry + (slot << 2)) + BODY) != 0;
}

/**
 * Whether an object of an event may name a key twice. Most events have the same names in the same order: those of which
 * that is known, by a hash of all their names and where objects begin, are not read again.
 */
export function repeatsKey(entry: u32): bool {
  const names = load<u64>(entry + (FIELD_SHAPE << 2)) ^ rotl<u64>(Last.names, 17);
  const known = UNREPEATED + ((<u32>(names >>> 32) & (UNREPEATED_MAX - 1)) << 3);
  if (load<u64>(known) == names) return false;
  if (mayRepeat(entry)) return true;
  store<u64>(known, names);
  return false;
}

function mayRepeat(entry: u32): bool {
  memory.fill(REPEAT_TABLE, 0, REPEAT_SLOTS * 2);
  objects = 0;
  keys = 0;
  if (!isUnrepeated(entry, FIELD_PROPERTIES) || !isUnrepeated(entry, FIELD_OWN_UNSET)) return true;
  return !isUnrepeated(entry, FIELD_OWN_SET) || !isUnrepeated(entry, FIELD_OWN_SET_ONCE);
}

/** Whether entry `number`, which was scanned elsewhere, may name a key of an object twice. */
export function repeats(number: u32): u32 {
  return mayRepeat(ENTRIES + number * ENTRY_BYTES) ? 1 : 0;
}
