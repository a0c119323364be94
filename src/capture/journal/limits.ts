// Bounds of the journal: its lanes, segments, space and recovery, with their units and reasons.

import { captureLimits } from "../limits.ts";

export const journalLimits = {
  /** Bytes of the ledger past which it is rewritten. */
  ledgerBytesMax: 1024 * 1024,
  /** Batches in one segment; a power of two, as its exponent is the bits of a batch's index in its number. */
  segmentBatchesMax: 2 ** 11,
  /** Bytes and rows in open blocks of one lane after which its writers wait for the disk: one commit. */
  groupBytesMax: 4 * 1024 * 1024,
  groupRowsMax: 50_000,
  /**
   * Empty blocks that a lane keeps for reuse, about one for each year since 1900, and the bytes of their memory: two
   * whole groups in columns that have doubled. Blocks of every year could keep what their longest columns once had.
   */
  recycledBlocksMax: 120,
  recycledBlocksBytesMax: 32 * 1024 * 1024,
  /** Blocks of one group that are encoded before other requests get their turn: about 2 ms for small ones. */
  framesAtOnceMax: 64,
  /** How much larger than the last segment the file made for the next one is. */
  preparedFactor: 1.25,
  /** Files of finished segments that a lane keeps for reuse; of both lanes of events at most 864 MiB of disk. */
  recycledEachMax: 3,
  /** These files may take JOURNAL_BYTES_MAX divided by this; the smallest one worth keeping, in bytes. */
  recycledFilesDivisor: 4,
  recycledBytesMin: 64 * 1024,
  /**
   * Bytes of a segment's file that is made ahead, at most and at least. One that grows past them waits for the file
   * system's journal again, which a lane with so much to write does not notice.
   */
  preparedBytesMax: 4 * 1024 * 1024,
  preparedBytesMin: 64 * 1024,
  /**
   * How long a start watches whether another process publishes the watermark of the same journal, in ms; a running one
   * does every watermarkMs.
   */
  journalAliveMs: 3000,
  /** Journals with different numbers in batch numbers; a power of two likewise. */
  journalsCountMax: 2 ** 12,
  /**
   * The part of its volume that the journal leaves free for the stores: an eighth; at least two files of Postgres's log
   * (16 MiB: the next is made before one is full) and a small segment, so that Postgres goes on when captures have
   * stopped; at most four of the largest segments, and not more than a quarter.
   */
  diskReserveFraction: 1 / 8,
  diskReserveBytesMin: 48 * 1024 * 1024,
  diskReserveBytesMax: 4 * captureLimits.historicalSegmentBytesMax,
  diskReserveFractionMax: 1 / 4,
  /** Space that must be free above the reserve before captures resume, as a part of the reserve. */
  diskBackFraction: 1 / 8,
  /** Bytes that a health check writes to the journal's disk: a page, so that it needs a free block. */
  journalProbeBytes: 4096,
  /** How long the server is unready after a failed write, in ms: the Retry-After of these requests. */
  journalFailingMs: 5000,
  /** Milliseconds without use after which kept files are deleted. */
  recycledIdleMs: 600_000,
  /** Groups up to so many bytes are written synchronously, which takes less than waking another thread. */
  writeNowBytesMax: 64 * 1024,
  /**
   * After a group with so many waiting requests, the next group starts this much later, in ms: the answers bring more
   * requests, and one sync serves them all.
   */
  gatherRequestsMin: 8,
  gatherMs: 1,
  /** Bytes of a long frame that are summed before other requests get their turn: about a millisecond. */
  sumBytesMax: 2 * 1024 * 1024,
  /** The part of the journal's space that recordings may fill, so that events always find some. */
  recordingsJournalFraction: 0.5,
  /**
   * A project may hold nine times the journal's free bytes: alone at most nine tenths of JOURNAL_BYTES_MAX, so that a
   * newcomer always finds space.
   */
  journalFreeMultiple: 9,
  /** A project that holds at most JOURNAL_BYTES_MAX divided by this may continue while there is any space. */
  journalFloorDivisor: 1024,
  /**
   * The weight of a change of a person or group besides its bytes, in bytes: it becomes one or two rows, which cost the
   * engine one or two microseconds, as 128 bytes of events do.
   */
  changeWeightBytes: 128,
  /**
   * Pending live events of all projects, in such bytes: about two seconds of the engine. One project may have half; its
   * further events go to the historical lane, so that others' events stay fresh.
   */
  liveBacklogBytesMax: 134_217_728,
  /** A project with at most liveBacklogBytesMax divided by this pending always uses the live lane. */
  liveFloorDivisor: 128,
  /**
   * Pending changes in the historical lane: about a minute of the engine. One project may have half; then it gets 503.
   */
  changesBacklogMax: 20_000_000,
  /** A project with at most this many of them pending is not refused. */
  changesFloor: 100_000,
  /** Changes derived in a second, until measured: one core's. */
  changesPerSecondGuess: 500_000,
  /** The longest Retry-After of a project that has used up its share, in seconds. */
  shareRetrySecondsMax: 60,
  /** How long a start waits for workers of an earlier server to end, in ms: they end with it. */
  workersGoneMsMax: 10_000,
  /** Files that may wait for the archive: listing them takes some ms. */
  waitingFilesMax: 10_000,
  /** The share of JOURNAL_BYTES_MAX that they may take: its divisor. */
  waitingBytesDivisor: 4,
};
