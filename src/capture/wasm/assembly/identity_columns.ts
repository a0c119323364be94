// Reads what plain events say of their persons and groups, as the columns of columns/identity_columns.ts.

import { byte } from "./json";
import { end } from "./scan";
import { copy, varuint, wholeNumber } from "./values";

/** The rank of an entry that changes something: the one it was sent with, or else `own`. */
@inline
function rankAt(entry: u32, own: u64): u64 {
  if (end(entry, FIELD_RANK) == 0) return own;
  const sent = wholeNumber(
    load<u32>(entry + (FIELD_RANK << 2)) + BODY,
    end(entry, FIELD_RANK) + BODY,
    RANK_DIGITS_MAX,
  );
  return sent < 0 ? own : <u64>sent;
}

/**
 * Writes what the plain events of one year say, in their order, as the columns at OUT_…, after writeColumns().
 * OUT_CHANGES and OUT_GROUPS count the items, OUT_VALUES_LENGTH and OUT_GROUP_KEYS_LENGTH the bytes of
 * their texts. `rank` is that of the slice's first entry, number `first`.
 * @returns 0 when none of them says anything.
 */
export function writeIdentity(first: u32, year: u32, rank: f64): u32 {
  let row: u32 = 0;
  let modes: u32 = 0;
  let changes: u32 = 0;
  let groups: u32 = 0;
  let values: u32 = OUT_VALUES;
  let keys: u32 = OUT_GROUP_KEYS;
  let next = load<u32>(YEAR_LIST + year * 12, 4);
  while (next != 0) {
    const nth = next - 1;
    const who = WHO + (nth << 4);
    const mode = byte(who + 11);
    store<u8>(OUT_MODE + row, mode);
    modes |= <u32>mode;
    const changed = load<u16>(who, 8) != 0;
    const sent = ENTRIES + (first + nth) * ENTRY_BYTES;
    store<u64>(OUT_RANKS + (row << 3), changed ? rankAt(sent, <u64>rank + <u64>nth) : 0);
    let entry = CHANGES + load<u32>(who) * 12;
    for (let left = <u32>load<u16>(who, 8); left > 0; left--, entry += 12) {
      store<u16>(OUT_KEYS + (changes << 1), load<u16>(entry, 8));
      store<u8>(OUT_OPS + changes, <u8>load<u16>(entry, 10));
      const size = load<u32>(entry, 4);
      values = varuint(values, size);
      copy(values, load<u32>(entry), size);
      values += size;
      changes++;
    }
    store<u32>(OUT_CHANGE_ENDS + (row << 2), changes);
    entry = GROUPS + load<u32>(who, 4) * 12;
    for (let left = <u32>byte(who + 10); left > 0; left--, entry += 12) {
      store<u8>(OUT_GROUP_TYPES + groups, <u8>load<u16>(entry, 8));
      const size = load<u32>(entry, 4);
      keys = varuint(keys, size);
      copy(keys, load<u32>(entry), size);
      keys += size;
      groups++;
    }
    store<u32>(OUT_GROUP_ENDS + (row << 2), groups);
    next = <u32>load<u16>(NEXT + (nth << 1));
    row++;
  }
  store<u32>(OUT_CHANGES, changes);
  store<u32>(OUT_GROUPS, groups);
  store<u32>(OUT_VALUES_LENGTH, values - OUT_VALUES);
  store<u32>(OUT_GROUP_KEYS_LENGTH, keys - OUT_GROUP_KEYS);
  return modes | changes | groups;
}
