// Bounds of the flush, with their units and reasons.

export const flushLimits = {
  /** The buffer through which frames are copied into a file for an embedded engine, in bytes. */
  spoolRoomBytes: 4 * 1024 * 1024,
  /** Rows in quarantine: past this, a refused batch waits for an operator instead of being bisected. */
  quarantineRowsMax: 10_000,
  /** How often an idle flush looks for rows returned from quarantine, in ms. */
  returnedLookMs: 1000,
  /** Merges of one transaction that are decided at once: with more ids, garbage collection pauses the event loop. */
  mergesDecidedMax: 16_384,
};
