// Layout and bounds of the memory of the fast scan. The module is built with these numbers: after a change run `bun run
// build:wasm`.

import { limits } from "../../core/limits.ts";
import { wordsIn } from "../../core/words.ts";
import { propertyColumns } from "../../storage/events/event_columns.ts";
import { captureLimits } from "../limits.ts";

/** The longest name that is indexed, in bytes. */
export const keyLengthMax = 31;
/** A slot, the number of the next name of the same length and second letter, and the name. */
export const nameBytes = 48;

/**
 * Names of members that the scan has met are kept, at most so many and so long: far more than the events of a body have
 * in turn. Each has the name, followed by a quote and a colon, its length, its slot, the next name and a hash.
 */
export const learnedMax = 256;
export const learnedLengthMax = 30;
export const learnedBytes = 64;

/** Hashes of the names of events that are known to name no key of an object twice. A power of two. */
export const unrepeatedMax = 4096;
/** Keys of an event that are compared in the module; one with more goes the slow way. A power of two. */
export const repeatKeysMax = 2048;
/** The longest group type that the fast path knows, in bytes, and the space for each. */
export const groupTypeLengthMax = 64;
export const groupTypeBytes = 96;
/** Different property keys that the events of a slice may change; the slice ends before there are more. */
export const keysMax = 4096;
/** Changes that a slice may list, far more than sites send; the slice ends before there are more. */
export const sliceChangesMax = 64 * 1024;

/** The shape of an event whose names the fast scan has not read. */
export const shapeUnknown = 2 ** 32;

/** The years ClickHouse's DateTime64 has, from this one on. */
export const firstYear = 1900;
export const yearsKnown = 400;

/** Numbers after the entry of a body that is one event: the envelope's members, then its key from here on. */
export const singleKey = 8;
export const singleNumbers = singleKey + 2;

const tableBytes = (keyLengthMax + 1) * 256;
const rows = captureLimits.sliceRowsMax;
/** Bytes of one column of texts: what a slice's events hold, and the lengths of `texts` of them. */
const textBytes = (texts: number): number =>
  captureLimits.sliceBytesMax + limits.eventBytesMax + texts * 4 + 1024;

/** Single numbers: results of the last scan, judgement and columns. */
const cells = wordsIn(`
  COUNT EXPECTS SLOW LACKING WARNED YEARS NAMES_USED OUT_IDS_LENGTH OUT_PROPERTIES_LENGTH KEYS_USED IDENTITY_ANY
  OUT_CHANGES OUT_GROUPS OUT_VALUES_LENGTH OUT_GROUP_KEYS_LENGTH UNREAD_COLUMNS
`);
const cellSizes = Object.fromEntries(cells.map((name) => [name, 4])) as Record<
  (typeof cells)[number],
  number
>;

/** Sizes in the order in which they lie, each on a multiple of 64. */
const sizes = {
  NOTHING: 64,
  ...cellSizes,
  NESTING: limits.jsonDepthMax,
  TRAIT_KINDS: 64,
  ITEM_KEYS: tableBytes,
  PROPERTY_KEYS: tableBytes,
  EVENT_NAMES: tableBytes,
  ENVELOPE_KEYS: tableBytes,
  NAMES: nameBytes * 256,
  LEARNED: 2 * learnedMax * learnedBytes,
  LEARNED_FIRST: 8,
  UNREPEATED: unrepeatedMax * 8,
  REPEAT_TABLE: repeatKeysMax * 2 * 2,
  REPEAT_LIST: repeatKeysMax * 12,
  NAME_TABLE: 1024,
  NAME_LIST: 256 * 8,
  YEAR_TABLE: yearsKnown,
  YEAR_LIST: 256 * 12,
  NAME_OF: rows,
  LACKS_UUID: rows,
  LACKS_NEED: rows,
  WARN_LIST: rows * 4,
  SLOW_LIST: rows * 2,
  NEXT: rows * 2,
  TIMES: rows * 8,
  IDS: rows * 8,
  SHAPES: rows * 8,
  UUIDS: rows * 16,
  ENTROPY: rows * 6 + 16,
  KEY_TABLE: keysMax * 4,
  KEY_LIST: keysMax * 8,
  KEY_SEEN: keysMax * 16,
  GROUP_TYPES: 16 + limits.groupTypesMax * groupTypeBytes,
  WHO: rows * 16,
  CHANGES: sliceChangesMax * 12,
  GROUPS: rows * limits.groupTypesMax * 12,
  OUT_UUID: rows * 16,
  OUT_PROJECT: rows * 4,
  OUT_EVENT: rows,
  OUT_IDS: rows * (captureLimits.distinctIdCharsMax + 2) + 16,
  OUT_PROPERTIES: textBytes(rows),
  OUT_TIMESTAMP: rows * 8,
  OUT_CREATED: rows * 8,
  OUT_HISTORICAL: rows,
  OUT_MODE: rows,
  OUT_CHANGE_ENDS: rows * 4,
  OUT_RANKS: rows * 8,
  OUT_KEYS: sliceChangesMax * 2,
  OUT_OPS: sliceChangesMax,
  OUT_VALUES: textBytes(sliceChangesMax),
  OUT_GROUP_ENDS: rows * 4,
  OUT_GROUP_TYPES: rows * limits.groupTypesMax,
  OUT_GROUP_KEYS: textBytes(rows * limits.groupTypesMax),
  OUT_NULLS: rows * propertyColumns.length,
  OUT_COLUMN_ENDS: propertyColumns.length * 4,
  OUT_COLUMN_TEXTS: textBytes(rows * propertyColumns.length),
} as const;

/** The address of each. */
export const layout = assignAddresses(sizes, "BODY");

/** Bytes after a body that may be read, and are no JSON. */
export const paddingBytes = 64;

/** Space for the index of a body's events: so many times the body's bytes, which is what the shortest ones need. */
export const indexMultiple = 9;

/** Offset of the index of events in a memory for bodies of up to so many bytes: after the body. */
export function entriesAt(bodyBytesMax: number): number {
  return Math.ceil((layout.BODY + bodyBytesMax + paddingBytes) / 64) * 64;
}

/** The addresses of areas, one after the other from `first` on, by their bytes; the name `end` is the address after. */
export function assignAddresses<Name extends string, End extends string>(
  areas: Readonly<Record<Name, number>>,
  end: End,
  first = 0,
): Readonly<Record<Name | End, number>> {
  let at = first;
  const found: [string, number][] = [];
  for (const [name, size] of Object.entries<number>(areas)) {
    found.push([name, at]);
    at = Math.ceil((at + size) / 64) * 64;
  }
  return Object.fromEntries([...found, [end, at]]) as Record<Name | End, number>;
}
