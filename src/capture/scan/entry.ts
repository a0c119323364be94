// An entry of the index as the scan writes it. Numbers in, numbers out.

import { entryLength, field, firstIdentity, firstTrait, gradeOfTrait } from "./event_fields.ts";

/** Begins the entry at `start` for an item that begins at byte `from`; returns the index, grown if need be. */
export function openEntry(entries: Int32Array, start: number, from: number): Int32Array {
  let roomy = entries;
  if (start + entryLength > entries.length) {
    roomy = new Int32Array(entries.length * 2);
    roomy.set(entries);
  }
  roomy.fill(0, start, start + entryLength);
  roomy[start + field.item] = from;
  return roomy;
}

/** Notes where a field's raw value lies. */
export function noteField(entries: Int32Array, entry: number, slot: number, from: number, to: number): void {
  entries[entry + slot] = from;
  entries[entry + slot + 1] = to;
  if (slot >= firstIdentity) entries[entry + field.identity] = 1;
}

/** Notes the grade of a trait's raw value that begins with the byte `first` and is `size` bytes long. */
export function noteTrait(
  entries: Int32Array,
  entry: number,
  slot: number,
  first: number,
  size: number,
): void {
  const which = slot - firstTrait;
  const others = entries[entry + field.traits]! & ~(3 << (which * 2));
  entries[entry + field.traits] = others | (gradeOfTrait(which, first, size) << (which * 2));
}
