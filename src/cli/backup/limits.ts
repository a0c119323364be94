// Limits of backups and restores, with their units and reasons.

export const backupLimits = {
  /** Bytes of a file read and written at once: memory does not grow with what is copied. */
  chunkBytes: 1024 * 1024,
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
  /** Bytes of an object, which is in memory: with several MB, the latency of a request matters little. */
  objectBytes: 16 * 1024 * 1024,
  /** Bytes of the list of files in a bucket, which is one object: some 500,000 files. */
  listBytesMax: 64 * 1024 * 1024,
  /** Bytes of a manifest: it has a line for each migration and sequence. */
  manifestBytesMax: 1024 * 1024,
  /** Pages of a bucket's listing, with 1,000 objects each. */
  listPagesMax: 10_000,
  /** How long a request to a bucket may take, in ms: an object at a megabit a second. */
  requestMsMax: 150_000,
  /** Attempts at one request to a bucket. */
  requestsMax: 5,
  /** The pause before the second request, in ms; each further one is twice as long. */
  requestPauseMs: 250,
  /** Between two bundles of the archive, in ms: what a lost disk costs at worst, beside the flush. */
  archiveMs: 60_000,
  /** Bytes of a bundle: pieces of objectBytes, and a head with ids of deleted persons. */
  bundleBytesMax: 64 * 1024 * 1024,
  /** Bytes of a segment that an archive may name: the longest, of an import, has 256 MiB and a body. */
  segmentBytesMax: 2 ** 31 - 1,
  /** Damaged shared files of which `verify` tells which backups need them. */
  harmfulMax: 1000,
  /** The largest number of backups that can be kept. */
  keptMax: 10_000,
  /** How far before a backup's beginning its batches are derived again, in ms: clocks may be set back. */
  derivedAgainMs: 60_000,
};
