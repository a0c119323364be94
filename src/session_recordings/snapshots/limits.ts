// Bounds of reading snapshots, with their units and reasons.

export const snapshotLimits = {
  /** Pieces of one recording that are shown: a day at one in two seconds. */
  snapshotChunksShownMax: 50_000,
  /** Bytes of one blob of a recording, before a single larger piece: what a player loads at once. */
  snapshotBlobBytesMax: 1_048_576,
  /** Bytes of one page of a recording; the rest is behind its `next`. */
  snapshotPageBytesMax: 4_194_304,
  /**
   * A piece that is shown, in bytes: browsers send less than 1 MB, or one full snapshot compressed; of a larger one its
   * reader is told the size.
   */
  snapshotShownBytesMax: 8 * 1024 * 1024,
  /** Pieces of one blob, and of one page. */
  snapshotBlobChunksMax: 1000,
  snapshotPageChunksMax: 4000,
  /** Events of a page, and of one piece: what it has beyond them is left out. Recorders send some hundreds a piece. */
  snapshotPageEventsMax: 32_768,
  /**
   * What all compressed parts of a page may become together, in bytes: several times the largest page that a browser
   * shows. Parts beyond it are handed on as they came.
   */
  snapshotPageInflatedBytesMax: 16 * 1024 * 1024,
  /** What the smallest of these parts counts as, in bytes: to inflate one takes a few microseconds. */
  snapshotInflateCostMin: 256,
  /** Nesting of what is inflated: a browser's document is at most 512 deep, and rrweb needs two levels for one. */
  snapshotDepthMax: 2048,
  /** Bytes of it that are walked through or checked before other requests get their turn: a millisecond or two. */
  snapshotWalkBytesMax: 64 * 1024,
  /** Parts of a reply that are joined before other requests get their turn, likewise. */
  snapshotPartsMax: 8192,
  /** Pages that are read and expanded at once: the engine reads each on one core, and holds it several times over. */
  snapshotReadsMax: 1,
  /** Readers who may wait for one of these places, or for bytes. */
  snapshotReadsWaitingMax: 200,
  /** How long they wait before they are sent away, in ms. */
  snapshotReadWaitMsMax: 10_000,
  /** Bytes of all pages that are expanded or being sent: three of the largest. */
  snapshotReadsBytesMax: 192 * 1024 * 1024,
  /** How long a reader may take to receive a page, in ms: it holds some of these bytes meanwhile. */
  snapshotSendMsMax: 60_000,
};
