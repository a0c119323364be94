// Bounds of the flush, with their units and reasons.

export const flushLimits = {
  /** Memory through which a flush copies frames for an embedded engine to read, in bytes. */
  spoolRoomBytes: 4 * 1024 * 1024,
  /** Rows in quarantine: past it, refused batches wait for an operator instead of being taken apart. */
  quarantineRowsMax: 10_000,
  /** How often an idle flush looks for rows handed back from quarantine, in ms. */
  returnedLookMs: 1000,
  /** Merges decided at once, of one transaction's: more ids make the collector of garbage hold the loop up. */
  mergesDecidedMax: 16_384,
};
