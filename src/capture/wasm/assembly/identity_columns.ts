// What plain events say of their persons and groups, as the columns of columns/identity_columns.ts.

import { byte } from "./json";
import { copy, varuint } from "./values";

/**
 * Writes what the plain events of one year say, in their order, as the columns at OUT_…, after writeColumns().
 * OUT_CHANGES and OUT_GROUPS count the items, OUT_VALUES_LENGTH and OUT_GROUP_KEYS_LENGTH the bytes of
 * their texts.
 * @returns 0 when none of them says anything.
 */
export function writeIdentity(year: u32): u32 {
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
