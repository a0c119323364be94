// Limits of statements and reads in ClickHouse, with their units and reasons.

export const clickhouseLimits = {
  /** Connections to ClickHouse: flushes, reads and exports run in parallel. */
  clickhouseConnectionsMax: 24,
  /** The longest URL query, in characters: longer parameters are sent in the body, since proxies cut them. */
  clickhouseUrlCharsMax: 4096,
  /** A parameter of a statement, in bytes: ClickHouse refuses more than 131,072 (see short_params.ts). */
  clickhouseParamBytesMax: 120_000,
  /** How long a statement may take by default, in ms. */
  statementMsMax: 30_000,
  /**
   * Memory of one read, in bytes, and how many such reads run at once. A read starts in a small place and is repeated
   * in a large one if its memory does not suffice, so that small reads do not wait behind large ones. Exports and the
   * flush have places of their own. All these places together: 1.2 GB.
   */
  readSmallPlaces: 5,
  readLargeBytesMax: 352_000_000,
  readLargePlaces: 2,
  /**
   * A question that needs more than that: so many bytes at most, and this part of the memory that there is. One place:
   * together with the others it stays below what the embedded engine may take.
   */
  readHugeBytesMax: 1_500_000_000,
  readHugeMemoryFraction: 0.15,
  readHugePlaces: 1,
  /** Bytes that one question may write to the disk while it sorts and groups. */
  readTemporaryBytesMax: 4_000_000_000,
  readExportBytesMax: 80_000_000,
  readExportPlaces: 2,
  readFlushBytesMax: 56_000_000,
  readFlushPlaces: 1,
  /** Questions of which it is remembered that they need a larger place, and for how long, in ms: their data change. */
  readNeedsMax: 1000,
  readNeedKeptMs: 600_000,
  /** Reads that may wait for one of these places: dashboards of a busy server send hundreds at once. */
  readsWaitingMax: 1000,
  /**
   * Long pages that are read at once: 16 of one project where no other reads, which come to their end within the time
   * of their statements; of a second project five more. Each holds a block of httpLimits.pageBlockBytes.
   */
  longReadPlaces: 24,
  /** The part of its memory from which a large read sorts and groups on disk. */
  readSpillFraction: 0.5,
  /** The answer of one read, in bytes of the engine's columns: it is held in our memory. */
  readResultBytesMax: 33_554_432,
  /** Rows of a block in the engine; between two blocks it checks its time limit and its client. */
  readBlockRowsMax: 16_384,
  /** How often an abandoned statement is killed and looked for, in ms; its place is held meanwhile. */
  readKillAgainMs: 200,
  /** For how long, in ms: a user who may not kill or list statements gets the place back after it. */
  readGoneMsMax: 60_000,
  /** How long one such check may take, in ms. */
  readKillMsMax: 5000,
};
