// Layout and bounds of the memory in which sessions are folded: after the tables of names of layout.ts, which are used
// here as well. The module is built with these numbers: after a change run `bun run build:wasm`.

import { limits } from "../../core/limits.ts";
import { adNames } from "../../storage/events/session_property.ts";
import { sessionNames } from "../../storage/events/sessions.ts";
import { assignAddresses, layout, paddingBytes } from "./layout.ts";

/** Names that are read of an event's properties; the index of a name is its slot. */
export const foldedNames: readonly string[] = [...sessionNames, ...adNames];
export const lcpSlot = sessionNames.length - 1;

/** The bytes of blocks that are folded at once; a longer one is cut. */
export const foldBlockBytesMax = 8 * 1024 * 1024;
/** Names of events that a block may have, each with a byte for its kind. */
export const foldNamesMax = 64 * 1024;
/** Rows of a fold, each of one session and distinct id. Past any of these bounds it is written and begun anew. */
export const foldRowsMax = 16 * 1024;
export const foldRowBytes = 160;
export const foldEventsMax = 256 * 1024;
export const foldTextsBytes = 8 * 1024 * 1024;
/** Events of a block that are listed as unread at once, and the numbers of each. */
export const foldUnreadMax = 4096;
export const foldUnreadNumbers = 5;
/** Slots, of which at most half are used. Where so many next to each other are used, an event stays unread. */
export const foldSlotsMax = foldRowsMax * 2;
export const foldProbesMax = 64;
/** Columns that are written of a fold. */
export const foldColumns = 12;
/** Strays that are listed for each call of fold(): examples, of which a project's warnings list few. */
export const foldStraysMax = 16;

const sizes = {
  VALUES: foldedNames.length * 8,
  COLUMN_ENDS: foldColumns * 4,
  KINDS: foldNamesMax,
  BLOCK: foldBlockBytesMax + paddingBytes,
  SLOTS: foldSlotsMax * 4,
  ROWS: foldRowsMax * foldRowBytes,
  // After the last text an entry is written that may not be needed.
  TEXTS: foldTextsBytes + limits.eventBytesMax + 1024,
  EVENTS: foldEventsMax * 8,
  UNREAD: foldUnreadMax * foldUnreadNumbers * 4,
  STRAYS: foldStraysMax * foldUnreadNumbers * 4,
  /** Numbers, moments and lengths of a row take less than 128 bytes, an event's number 4. */
  OUT: foldRowsMax * 128 + foldTextsBytes + foldEventsMax * 4 + paddingBytes,
} as const;

/** The address of each. */
export const foldLayout = assignAddresses(sizes, "END", layout.NAME_TABLE);
