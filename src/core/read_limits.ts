// Bounds of what is read of ClickHouse, in memory, places and bytes; part of limits.ts, where everybody reads them.

export const readLimits = {
  /**
   * Memory of one read in ClickHouse, in bytes, and how many such reads run at once. A read begins small; what that is
   * too little for is asked once more in one of the large places, so that small reads never wait behind large ones.
   * Exports and the flush have places of their own. All places together: 1.2 GB.
   */
  readSmallBytesMax: 56_000_000,
  readSmallPlaces: 5,
  readLargeBytesMax: 352_000_000,
  readLargePlaces: 2,
  readExportBytesMax: 80_000_000,
  readExportPlaces: 2,
  readFlushBytesMax: 56_000_000,
  readFlushPlaces: 1,
  /** Reads that may wait for one of these places; a busy server's dashboards ask for hundreds at once. */
  readsWaitingMax: 1000,
  /** Part of its memory from which on a large read sorts and groups on disk. */
  readSpillShare: 0.5,
  /** What one read may answer, in bytes of the engine's columns: it rests in our memory until it is read. */
  readResultBytesMax: 33_554_432,
  /** Rows of a block in the engine, between two of which it looks whether its time is up or its client has left. */
  readBlockRowsMax: 16_384,
  /** How often a statement that was given up is told to stop and looked for, in ms; its place is held meanwhile. */
  readKillAgainMs: 200,
  /** For how long, in ms: whoever may not stop statements, or look for them, has its place back then. */
  readGoneMsMax: 60_000,
  /** How much longer a read is waited for than the engine may take, in ms: to say that its time is up. */
  engineSaysMsMax: 5000,
  /** How long one such look may take, in ms. */
  readKillMsMax: 5000,
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
  /** A page of properties up to this many bytes is read in one statement; a longer one block by block. */
  pageWholeBytesMax: 8_388_608,
  /** Properties in one block of a page, in bytes: in memory once in the engine, and once on its way to the client. */
  pageBlockBytes: 4_194_304,
  /** Properties on one page, in bytes: more is a 400 that names a limit that fits. */
  pageBytesMax: 67_108_864,
  /** Changes of persons folded between other requests' turns: a few ms. */
  changesFoldedMax: 2000,
  /** Events of the days a page lies in: from so many on their keys are read first, and then what the page holds. */
  pageSpanRowsMax: 100_000,
} as const;
