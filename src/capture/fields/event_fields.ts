// Members of a body that are indexed, and the numbers under which the scan records them.
import { toBytes } from "../../core/bytes.ts";
import type { JsonWalker } from "../../core/json/json_walker.ts";
import { propertyColumns } from "../../storage/events/event_columns.ts";
import { ByteColumn } from "../../storage/native/native.ts";
import { appendText } from "./raw_value.ts";

/**
 * Offsets in an event's entry of the index; each holds [from, to) of the raw value, quotes included, or 0, 0. The last
 * of two members with one name counts; a second `properties` replaces all that was recorded of the first. Later stages
 * know an event by these numbers only.
 */
export const field = {
  item: 0,
  event: 2,
  distinct_id: 4,
  properties: 6,
  timestamp: 8,
  uuid: 10,
  offset: 12,
  properties_distinct_id: 14,
  /** One number: the item's index in its batch. */
  ordinal: 16,
  /** One number: bits of `alteration`. */
  altered: 17,
  /** One number: what was seen of each trait, two bits each. */
  traits: 18,
  /** One number: 1 when any of the fields after it was found; most events have none. */
  identity: 19,
  /** Two numbers: a hash of the names of its properties, where the fast scan has read them. */
  shape: 20,
  /** The event's own `$set`, `$set_once` and `$unset`, besides its properties. */
  own_set: 22,
  own_set_once: 24,
  own_unset: 26,
  /** Its rank among the events of an import: of two changes of one moment the later line counts. */
  rank: 28,
  /** From here on members of `properties`. */
  $set: 30,
  $set_once: 32,
  $unset: 34,
  $groups: 36,
  $group_type: 38,
  $group_key: 40,
  $group_set: 42,
  alias: 44,
  $anon_distinct_id: 46,
} as const;
/** Bits of `altered`: it holds what cannot be stored; one of its objects may name a key twice. */
export const alteration = { characters: 1, repeatedKey: 2 } as const;
/** From here on: where the values of propertyColumns begin, a number each; 0 for none. */
export const columnsAt = 48;
/** A multiple of four, as the fast scan clears sixteen bytes at a time. */
export const entryLength = columnsAt + propertyColumns.length;

/** Start of an entry in the index's numbers. The brand distinguishes it from an entry's number, counted from 0. */
export type EntryOffset = number & { readonly entryOffset: true };

export function toOffset(which: number): EntryOffset {
  return (which * entryLength) as EntryOffset;
}

/** Bytes and the index of their events. */
export interface Indexed {
  readonly bytes: Uint8Array;
  readonly entries: Int32Array;
}

/** The fields of persons and groups: [firstIdentity, columnsAt) of an entry; those in `properties` come last. */
export const firstIdentity = field.own_set;
export const firstPropertyIdentity = field.$set;

/** Members of `properties` of which only presence and type matter; each has two bits of an entry's `traits`. */
export const trait = {
  $current_url: 0,
  $screen_name: 1,
  $survey_id: 2,
  $process_person_profile: 3,
  $ignore_sent_at: 4,
  $cookieless_mode: 5,
} as const;

/**
 * The meaning of a trait's two bits. absent: not there, or null; sound: a text that is not empty (for a group's key
 * also a number), an object, or true; empty: an empty text, or false.
 */
export const grade = { absent: 0, sound: 1, empty: 2, wrong: 3 } as const;

/** Slots from here on are traits; so many of them are propertyColumns as well, under the same number. */
export const [firstTrait, traitColumns] = [64, 1];
/** Slots from here on are the other propertyColumns. */
export const firstColumn = 96;

/** Kinds of values that a member may require. */
export const valueKind = { text: 0, object: 1, flag: 2, text_or_number: 3 } as const;

export const valueKindOf = new Uint8Array(Object.keys(trait).length).fill(valueKind.text);
for (const which of [trait.$process_person_profile, trait.$ignore_sent_at, trait.$cookieless_mode]) {
  valueKindOf[which] = valueKind.flag;
}

/** The grade of a raw value that should be of a kind: it begins with the byte `first` and is `size` bytes long. */
export function gradeValue(kind: number, first: number, size: number): number {
  const mayBeText = kind === valueKind.text || kind === valueKind.text_or_number;
  if (first === 0x22 && mayBeText) return size > 2 ? grade.sound : grade.empty;
  if (first === 0x6e) return grade.absent;
  if (kind === valueKind.object) return first === 0x7b ? grade.sound : grade.wrong;
  if (kind === valueKind.flag)
    return first === 0x74 ? grade.sound : first === 0x66 ? grade.empty : grade.wrong;
  const number = first === 0x2d || (first >= 0x30 && first <= 0x39);
  return number && kind === valueKind.text_or_number ? grade.sound : grade.wrong;
}

/** The grade of a trait in an entry's `traits`. */
export function gradeIn(traits: number, which: number): number {
  return (traits >> (which * 2)) & 3;
}

/** Top-level members of a batch object. */
export const envelope = { api_key: 0, sent_at: 2, historical_migration: 4, batch: 6 } as const;

export const noSlot = -1;
export const keySlot = -2;

interface KnownKey {
  name: Uint8Array;
  slot: number;
}

/** Key names by their length in bytes. */
export interface KnownKeys {
  byLength: readonly (readonly KnownKey[])[];
  /** 1 where a key of this length (times 256) has this second byte: that alone distinguishes nearly all other keys. */
  second: Uint8Array;
}

/** The table of these keys, each of two bytes at the least. */
export function knownKeys(slots: Record<string, number>): KnownKeys {
  const lengthMax = Math.max(...Object.keys(slots).map((name) => name.length));
  const byLength: KnownKey[][] = Array.from({ length: lengthMax + 1 }, () => []);
  const second = new Uint8Array((lengthMax + 1) * 256);
  for (const [text, slot] of Object.entries(slots)) {
    const name = toBytes(text);
    byLength[name.length]!.push({ name, slot });
    second[name.length * 256 + name[1]!] = 1;
  }
  return { byLength, second };
}

export const itemKeys = knownKeys({
  event: field.event,
  distinct_id: field.distinct_id,
  $distinct_id: field.distinct_id,
  properties: field.properties,
  timestamp: field.timestamp,
  uuid: field.uuid,
  offset: field.offset,
  api_key: keySlot,
  token: keySlot,
  $token: keySlot,
  $set: field.own_set,
  $set_once: field.own_set_once,
  $unset: field.own_unset,
  $import_rank: field.rank,
});
export const propertyKeys = knownKeys({
  ...Object.fromEntries(propertyColumns.map((name, column) => [name, firstColumn + column])),
  distinct_id: field.properties_distinct_id,
  token: keySlot,
  ...Object.fromEntries(Object.entries(field).filter(([, slot]) => slot >= firstPropertyIdentity)),
  ...Object.fromEntries(Object.entries(trait).map(([name, which]) => [name, firstTrait + which])),
});
export const envelopeKeys = knownKeys({
  api_key: envelope.api_key,
  token: envelope.api_key,
  sent_at: envelope.sent_at,
  historical_migration: envelope.historical_migration,
  batch: envelope.batch,
});

/** The slot of the key whose bytes lie from `from` to `to`; noSlot for one that does not matter. */
export function toSlot({ byLength, second }: KnownKeys, bytes: Uint8Array, from: number, to: number): number {
  const length = to - from;
  // Past the longest key the table has nothing at all.
  if (second[length * 256 + bytes[from + 1]!] !== 1) return noSlot;
  const candidates = byLength[length]!;
  next: for (let which = 0; which < candidates.length; which++) {
    const { name, slot } = candidates[which]!;
    for (let i = 0; i < length; i++) if (bytes[from + i] !== name[i]) continue next;
    return slot;
  }
  return noSlot;
}

/** The slot of the key that the walker has just read. */
export function readSlot(keys: KnownKeys, { bytes, keyFrom, keyTo, escapes }: JsonWalker): number {
  return (escapes > 0 ? toEscapedSlot : toSlot)(keys, bytes, keyFrom, keyTo);
}

/** A key written with escapes ("\u0065vent") is the same key: it is decoded first. */
export function toEscapedSlot(keys: KnownKeys, bytes: Uint8Array, from: number, to: number): number {
  // The longest spelling of a byte is an escape of six characters: a longer key matches no name.
  if (to - from >= keys.byLength.length * 6) return noSlot;
  plainKey.length = 0;
  appendText(bytes, from, to, plainKey);
  return toSlot(keys, plainKey.bytes, 0, plainKey.length);
}

/** Overwritten by every key with escapes. */
const plainKey = new ByteColumn();
