// Limits of backups and restores, with their units and reasons.

export const backupLimits = {
  /** Bytes of a file read and written at once: memory does not grow with what is copied. */
  pieceBytes: 1024 * 1024,
  /** Rows of Postgres read or written in one statement; none is longer than some hundred kB. */
  rowsAtOnce: 1000,
  /** Lines of the list of files kept in memory: some 100 kB. */
  linesAtOnce: 1000,
  /** How often a journal's segment is copied anew when its copy ended in the middle of a write. */
  segmentCopiesMax: 5,
  /** Batches whose derived rows are written again in one statement. */
  batchesAtOnce: 32,
  /** Bytes of rows, uncompressed, that a move holds at once. */
  copiedBytes: 16 * 1024 * 1024,
  /** How long one of its statements may take, in ms. */
  copyMsMax: 600_000,
  /** How far before its first moment a backup's batches are derived again, in ms: clocks are set at times. */
  derivedAgainMs: 60_000,
};
