// Limits of reading snapshots.

import { assertRising, limits, memoryShares } from "../../core/limits.ts";

const snapshotPageBytesMax = 4 * 1024 * 1024;
const snapshotBlobPiecesMax = 1000;

export const snapshotLimits = {
  /** Pieces shown of one recording: a day at one piece in two seconds. */
  snapshotPiecesShownMax: 50_000,
  /** Bytes of one blob, which a player loads at once. A single larger piece is a blob of its own. */
  snapshotBlobBytesMax: snapshotPageBytesMax / 4,
  /** Bytes of one page of a recording; `next` has the address of the following page. */
  snapshotPageBytesMax,
  snapshotShownBytesMax: limits.snapshotShownBytesMax,
  /** Pieces of one blob, and of one page. */
  snapshotBlobPiecesMax,
  snapshotPagePiecesMax: 4 * snapshotBlobPiecesMax,
  /** Events of one page and of one piece; further ones are left out. Recorders send some hundreds in a piece. */
  snapshotPageEventsMax: 32_768,
  /** Bytes that all compressed parts of a page may inflate to. Further parts are sent compressed, as they came. */
  snapshotPageInflatedBytesMax: limits.snapshotInflatedBytesMax,
  /** Least cost of one part in that budget, in bytes: inflating takes a few microseconds. */
  snapshotInflateCostMin: 256,
  /** Nesting of inflated JSON: a browser's document is at most 512 deep, and rrweb needs two levels for each. */
  snapshotDepthMax: 2048,
  /** Bytes walked or checked before the event loop gets a turn: one or two milliseconds. */
  snapshotWalkBytesMax: 64 * 1024,
  /** Parts of a reply joined before the event loop gets a turn: one or two milliseconds. */
  snapshotPartsMax: 8192,
  /** Pages read and expanded at once: the engine uses one core for each, and several times the page in memory. */
  snapshotReadsMax: 1,
  /** Readers that wait for such a permit or for memory. */
  snapshotReadsWaitingMax: 200,
  /** How long they wait before the request is refused, in ms. */
  snapshotReadWaitMsMax: 10_000,
  /** Time for a client to receive a blob of several, in ms. */
  snapshotSendMsMax: 60_000,
};

// An event takes 400 bytes besides its text, for its parts and ranges.
assertRising(
  "the pages that are read at once fit their share of memory",
  snapshotLimits.snapshotReadsMax *
    (limits.snapshotShownBytesMax +
      snapshotLimits.snapshotPageInflatedBytesMax +
      snapshotLimits.snapshotPageEventsMax * 400),
  memoryShares.recordings,
);
