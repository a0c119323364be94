// Bounds of statements and reads in ClickHouse, with their units and reasons.

export const clickhouseLimits = {
  /** Connections to ClickHouse at once: flushes, reads and exports side by side. */
  clickhouseConnectionsMax: 24,
  /** The longest query of a URL, in characters: parameters beyond it travel in the body, as proxies cut longer ones. */
  clickhouseUrlCharsMax: 4096,
  /** A parameter of a statement, in bytes: ClickHouse refuses more than 131,072 (see storage/short_params.ts). */
  clickhouseParamBytesMax: 120_000,
  /** How long a ClickHouse statement may take unless its caller says otherwise, in ms. */
  statementMsMax: 30_000,
  /**
   * Memory of one read in ClickHouse, in bytes, and how many such reads run at once. A read begins small; what that is
   * too little for is asked once more in one of the large places, so that small reads never wait behind large ones.
   * Exports and the flush have places of their own. All places together: 1.2 GB.
   */
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
  /** How long one such look may take, in ms. */
  readKillMsMax: 5000,
};
