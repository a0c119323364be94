// Bounds of the journal: its lanes, segments, room and recovery, with their units and reasons.

export const journalLimits = {
  /** Batches (partitions, or pieces of them) in one segment: the low bits of a batch number. */
  segmentBatchesMax: 2048,
  /** Bytes after which a live segment is sealed: about 50,000 events, a second at full load. */
  liveSegmentBytesMax: 32 * 1024 * 1024,
  /** The same for imports: bigger, so that each year gets a decent part; a part costs 5 ms, however small. */
  historicalSegmentBytesMax: 256 * 1024 * 1024,
  /** Segments of imports on their way into ClickHouse at once: an INSERT keeps one core busy, and some 300 MB. */
  historicalFlushesMax: 2,
  /**
   * Bytes and rows that may wait in open blocks of one lane before its writers wait for the disk: a commit's
   * worth.
   */
  groupBytesMax: 4 * 1024 * 1024,
  groupRowsMax: 50_000,
  /** Emptied blocks a lane keeps for reuse: as many as there are years since 1900, about. */
  recycledBlocksMax: 120,
  /** Blocks of one group made into frames before other requests get their turn: about 2 ms, if they are small. */
  framesAtOnceMax: 64,
  /** Files of finished segments that a lane keeps to write over; with those of an import, 864 MiB of disk. */
  recycledEachMax: 3,
  /** They take no more than this part of JOURNAL_BYTES_MAX, and smaller ones (in bytes) are not worth it. */
  recycledFilesShare: 4,
  recycledBytesMin: 1024 * 1024,
  /** How many flush intervals a growing historical segment may take, so that years fill up. */
  historicalPatience: 10,
  /**
   * How long a start watches whether the journal it has a copy of is told by another process, in ms: a living one tells
   * every watermarkMs.
   */
  journalAliveMs: 3000,
  /** Tries to claim a journal while others claim it as well. */
  journalClaimsMax: 5,
  /** Journal numbers handed out before they repeat: the middle bits of a batch number. */
  journalsCountMax: 4096,
  /** Bytes after which a segment of warnings is sealed: they are few and small. */
  warningSegmentBytesMax: 8 * 1024 * 1024,
  /** Bytes after which a segment of merges is sealed: some 30,000, a second's transaction. */
  mergeSegmentBytesMax: 2 * 1024 * 1024,
  /**
   * What the journal leaves free of its volume for the stores beside it: an eighth, at least so many bytes, for what a
   * small segment takes there and Postgres's log, and at most four of the largest segments; never more than a quarter.
   */
  diskReserveShare: 1 / 8,
  diskReserveBytesMin: 16 * 1024 * 1024,
  diskReserveBytesMax: 1024 * 1024 * 1024,
  diskReserveShareMax: 1 / 4,
  /** How much more has to be free before captures go on, as a part of the reserve. */
  diskBackShare: 1 / 8,
  /** What is written to see whether the journal can be, in bytes: a page, so that it takes room. */
  journalProbeBytes: 4096,
  /** How long a group that could not be written makes the journal unready, in ms: so long clients are told to wait. */
  journalFailingMs: 5000,
  /** Files kept to be written over that nobody wanted for so long are given back, in ms. */
  recycledIdleMs: 600_000,
  /** Groups of the journal up to so many bytes are written where they stand: sooner than another thread is woken. */
  writeNowBytesMax: 64 * 1024,
  /**
   * Behind a group of the journal that so many requests waited for, the next one begins this much later, in ms: their
   * answers bring more requests, and one sync serves them all.
   */
  gatherRequestsMin: 8,
  gatherMs: 1,
  /** Bytes of a long frame, which only they make, summed up between other requests' turns: about a millisecond. */
  sumBytesMax: 2 * 1024 * 1024,
  /** Bytes after which a segment of recordings is sealed: some 30 s of 200 recorders. */
  snapshotSegmentBytesMax: 32 * 1024 * 1024,
  /** The part of the journal's room that recordings may fill, so that events always find some. */
  recordingsJournalShare: 0.5,
  /**
   * Of the journal's free bytes one project may hold so many times as much: alone nine tenths of JOURNAL_BYTES_MAX,
   * while a tenth stays free for the others.
   */
  journalShare: 9,
  /** A project that holds no more than this part of JOURNAL_BYTES_MAX is let in while there is any room at all. */
  journalFloorShare: 1024,
  /**
   * What one change of a person or group weighs beside its bytes, in bytes: as a row of its own, or two, it costs the
   * engine one or two microseconds, as 128 bytes of events do.
   */
  changeWeightBytes: 128,
  /**
   * Live events of all projects, in such bytes, that wait to be stored: about two seconds of the engine. Half of it is
   * one project's; what it sends beyond goes behind imports, so that others' events stay fresh.
   */
  liveBacklogBytesMax: 134_217_728,
  /** A project with no more than this part of it waiting always goes the live way. */
  liveFloorShare: 128,
  /**
   * Changes of persons and groups that wait behind imports: about a minute of the engine. Half of it is one project's;
   * past it that project is told to come back.
   */
  changesBacklogMax: 20_000_000,
  /** A project with no more than this many of them waiting is not told so. */
  changesFloor: 100_000,
  /** Changes that are derived in a second before any were measured: one core's. */
  changesPerSecondGuess: 500_000,
  /** The longest Retry-After of a project past its share, in seconds. */
  shareRetrySecondsMax: 60,
  /** How long a start waits for workers of an earlier life to be gone, in ms: they end when their server does. */
  workersGoneMsMax: 10_000,
};
