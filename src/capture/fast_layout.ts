// Where things lie in the memory that the fast scan works in, and the bounds it keeps. Numbers and nothing else; the
// module is built with them, so a change here wants `bun test/support/build_fast.ts`.

import { limits } from "../core/limits.ts";

/** Keys longer than this are none of ours. */
export const keyLengthMax = 31;
/** A slot, the place of the next name of the same length and second letter, and the name. */
export const nameBytes = 48;

const tableBytes = (keyLengthMax + 1) * 256;
const rows = limits.sliceRowsMax;

/** Sizes in the order in which they lie, each on a multiple of 64. */
const sizes = {
  NOTHING: 64,
  COUNT: 4,
  EXPECTS: 4,
  SLOW: 4,
  LACKING: 4,
  MONTHS: 4,
  NAMES_USED: 4,
  OUT_IDS_LENGTH: 4,
  OUT_PROPERTIES_LENGTH: 4,
  NESTING: limits.jsonDepthMax,
  TRAIT_KINDS: 64,
  ITEM_KEYS: tableBytes,
  PROPERTY_KEYS: tableBytes,
  EVENT_NAMES: tableBytes,
  NAMES: nameBytes * 256,
  NAME_TABLE: 1024,
  NAME_LIST: 256 * 8,
  MONTH_TABLE: 12 * 400,
  MONTH_LIST: 256 * 12,
  NAME_OF: rows,
  LACKS_UUID: rows,
  SLOW_LIST: rows * 2,
  NEXT: rows * 2,
  TIMES: rows * 8,
  IDS: rows * 8,
  UUIDS: rows * 16,
  ENTROPY: rows * 10 + 16,
  OUT_UUID: rows * 16,
  OUT_PROJECT: rows * 4,
  OUT_EVENT: rows,
  OUT_IDS: rows * (limits.distinctIdCharsMax + 2) + 16,
  OUT_PROPERTIES: limits.sliceBytesMax + limits.eventBytesMax + rows * 4 + 1024,
  OUT_TIMESTAMP: rows * 8,
  OUT_CREATED: rows * 8,
  OUT_HISTORICAL: rows,
  ENTRIES: limits.slabIndexBytes,
} as const;

type Name = keyof typeof sizes | "BODY";

/** The address of each. */
export const layout = addresses();

/** Bytes behind a body that may be read, and are no JSON. */
export const paddingBytes = 64;

function addresses(): Readonly<Record<Name, number>> {
  const found: Partial<Record<Name, number>> = {};
  let at = 0;
  for (const [name, size] of Object.entries(sizes)) {
    found[name as Name] = at;
    at = Math.ceil((at + size) / 64) * 64;
  }
  found.BODY = at;
  return found as Record<Name, number>;
}
