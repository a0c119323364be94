// Bounds of the embedded stores and their processes, with their units and reasons.

export const embeddedLimits = {
  /** How long the embedded engine keeps memory it has no use for, in ms: from one insert to the next. */
  freeMemoryMs: 10_000,
  /**
   * By how many steps of priority the embedded engine stands behind the server and Postgres: whoever waits for an
   * answer goes first, and an import into the engine takes what is left. A tenth of the weight, never nothing.
   */
  engineNice: 10,
  /** The engine's share of the machine's or the container's memory, in percent: the server and Postgres need theirs. */
  engineMemoryShare: 0.5,
  /** Less than this, in bytes, it cannot work with: inserts take some 300 MB each, and reads what stands above. */
  engineMemoryBytesMin: 1_610_612_736,
  /** The share of the machine that even the least must leave. */
  engineMemoryShareMax: 0.8,
  /** What of its memory it keeps of marks and of primary keys, each, and the most of it, in bytes. */
  engineCacheShare: 0.02,
  engineCacheBytesMax: 268_435_456,
  /** What of its memory merges may take before no further one begins. */
  engineMergesShare: 0.4,
  /** How long a child store may take to come up, in ms. */
  childStartMsMax: 60_000,
  /**
   * How long a later start waits for an embedded store before it captures without, in ms: a store that is well is up
   * in a tenth of it, and one that is not must keep nobody's events out.
   */
  childAwaitedMsMax: 1000,
  /** Lines of a child store's standard error kept, to be shown when it dies. */
  childLinesMax: 20,
  /** Characters of one of those lines; a stack of the engine can be longer than anybody reads. */
  childLineCharsMax: 1000,
};
