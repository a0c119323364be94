// Tables of names in the memory of a fast scan, as it looks them up: by length and second byte to the first of a chain.
// Never reads them back.

import { nameBytes } from "./layout.ts";
import type { KnownKeys } from "../scan/event_fields.ts";

/** Writes the names of each table, side by side from `names` on; at most 255 in all. */
export function writeNames(
  bytes: Uint8Array,
  names: number,
  tables: readonly (readonly [table: number, keys: KnownKeys])[],
): void {
  const view = new DataView(bytes.buffer);
  let next = 1;
  for (const [table, { byLength }] of tables) {
    for (const { name, slot } of byLength.flat()) {
      const bucket = table + name.length * 256 + name[1]!;
      const at = names + next * nameBytes;
      view.setInt32(at, slot, true);
      view.setUint32(at + 4, bytes[bucket]!, true);
      bytes.set(name, at + 16);
      bytes[bucket] = next++;
    }
  }
}
