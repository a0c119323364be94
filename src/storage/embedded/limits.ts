// Limits of the embedded stores and their processes, with their units and reasons.

export const embeddedLimits = {
  /**
   * How long the embedded engine keeps free memory, in ms: from one insert to the next. With 2 s an import held up to
   * 140 MB more, and with 10 s 200 to 300; with half a second it was stored more slowly.
   */
  freeMemoryMs: 1000,
  /** For how long on a machine with at least so many bytes: the allocator's own default, for fewer page faults. */
  freeMemoryLargeMs: 5000,
  largeMachineBytesMin: 12 * 1024 * 1024 * 1024,
  /** The engine's part of the machine's or container's memory, in percent; the rest is for the server and Postgres. */
  engineMemoryFraction: 0.5,
  /** The least memory that it works with, in bytes: inserts use some 150 MB each, reads their permits. */
  engineMemoryBytesMin: 1_610_612_736,
  /** The part of the machine's memory that even this least may take. */
  engineMemoryFractionMax: 0.8,
  /** The part of its memory for the mark cache and the primary key cache each, and their limit in bytes. */
  engineCacheFraction: 0.02,
  engineCacheBytesMax: 268_435_456,
  /** The part of its memory that merges may take before no further one starts. */
  engineMergesFraction: 0.4,
  /**
   * Postgres's log: megabytes of each file (only a new Postgres has files of this size), and bytes of those that exist
   * from its first start. Where others have filled the disk and captures are refused, it writes about 100 KB of them a
   * minute, and each checkpoint, at the latest after five minutes, renames the used ones.
   */
  logFileMegabytes: 4,
  logBytesMin: 16 * 1024 * 1024,
  /** How long a child store may take to start, in ms. */
  childStartMsMax: 60_000,
  /**
   * How long a restart waits for an embedded store before it captures without it, in ms: a sound store is ready in a
   * tenth of it, and a broken one must not stop capture.
   */
  childAwaitedMsMax: 1000,
  /** Lines of a child store's standard error that are kept for error messages. */
  childLinesMax: 20,
  /** Characters of one of those lines; stacks of the engine are longer. */
  childLineCharsMax: 1000,
};
