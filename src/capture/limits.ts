// Bounds that several stages of capture keep, with their units and reasons.

import { personLimits } from "../persons/limits.ts";
import { uploadLimits } from "../work/bodies/limits.ts";

export const captureLimits = {
  /** distinct_id, in characters: PostHog cuts there too. */
  distinctIdCharsMax: 200,
  /** Bytes after which a live segment is sealed: about 50,000 events, a second at full load. */
  liveSegmentBytesMax: 32 * 1024 * 1024,
  /** Bytes of an import's segment: more, so that each year gets a decent part; a part costs 5 ms, however small. */
  historicalSegmentBytesMax: 256 * 1024 * 1024,
  /** Segments of imports that are flushed at once: an INSERT keeps one core busy. */
  historicalFlushesMax: 2,
  /** Flush intervals for which a historical segment may grow, so that years fill up. */
  historicalGrowIntervalsMax: 10,
  /** Bytes after which a segment of merges is sealed: some 30,000, a second's transaction. */
  mergeSegmentBytesMax: 2 * 1024 * 1024,
  /** Rows of one INSERT, and of one of an import. */
  batchRowsMax: 100_000,
  importBatchRowsMax: 1_000_000,
  /** Native bytes of one INSERT, which takes four times as much memory of the engine: as read, squashed and sorted. */
  batchBytesMax: 48 * 1024 * 1024,
  /** Bytes of an import's INSERT where the engine has memory: larger parts are merged less often. */
  importBatchBytesMax: 112 * 1024 * 1024,
  /** The part of the engine's memory for imports' INSERTs under way. */
  importMemoryFraction: 1 / 14,
  /** Partitions in one INSERT, each of which becomes a part: the engine's default limit. */
  insertPartitionsMax: 100,
  /** The memory of a row besides its properties, in bytes: only to decide when a group is full. */
  rowBytesGuess: 100,
  /** One insert, in ms: a slower engine counts as lost, and its batches are checked. */
  insertMsMax: 120_000,
  /** Years of one slice whose rows are appended before other requests get their turn. */
  yearsAtOnceMax: 64,
  /** Bytes scanned, and rows appended, before other requests get their turn: about 2 ms of work. */
  sliceBytesMax: 1024 * 1024,
  sliceRowsMax: 4096,
  /** Bytes and rows on the slow path before other requests get their turn. */
  slowSliceBytesMax: 256 * 1024,
  slowSliceRowsMax: 500,
  /** Bodies of at least so many bytes have an arena of their own; shorter ones share one, each within one turn. */
  arenaBodyBytesMin: uploadLimits.shortBytesMax,
  /** A smaller difference between a client's clock and ours is transit, not skew, and is not corrected, in µs. */
  skewMicrosMin: 10_000_000,
  /** How often a journal publishes its watermark, in ms. */
  watermarkMs: 1000,
  /** Ignored or altered events listed one by one, per type, project and minute; the rest is one row. */
  warningsPerMinuteMax: 100,
  /** Kinds of warnings times projects counted within one minute; more are in the metrics only. */
  warningTalliesMax: 20_000,
  /** Characters of a client's value that a warning quotes. */
  warningValueCharsMax: 200,
  /** Bytes of one event that are searched for a repair; usual events have fewer. */
  warningSearchBytesMax: 64 * 1024,
  /** Person and group properties one event may change, as one request: far more than anybody sends by hand. */
  changesMax: personLimits.keysChangedMax,
  /** The longest key among them, in bytes without quotes: keys are dictionary entries. */
  changeKeyBytesMax: personLimits.keyBytesMax,
  /** All of them together, in bytes: PostHog trims a person to as much. */
  changesBytesMax: personLimits.changeBytesMax,
  /** Digits of the rank that an importer gives an event: microseconds since 1970 for 300 years. */
  rankDigitsMax: 16,
  /** Events that change a person or group whose ranks are remembered, by uuid: 24 bytes each. A power of two. */
  firstRanksMax: 65_536,
  /** Members of one event's $groups that are read: far more than types can exist. */
  groupMembersMax: 64,
  /** Ignored events listed one by one in a verbose reply; the rest is only counted. */
  ignoredListMax: 100_000,
  /** The memory of one of them, in bytes. */
  listedBytes: 48,
  /** The minutes with which a minute is compared; a spike that lasts longer becomes the usual rate. */
  spikeMinutes: 60,
  /** Projects watched for spikes at once, about 600 bytes each; those idle for an hour are forgotten. */
  spikeProjectsMax: 10_000,
  /** How often minutes that are over are evaluated (warnings counted, spikes ended), in ms. */
  minutePollMs: 1000,
  /** How often the free space of the disk is read, in ms; what is written in between is counted. */
  diskPollMs: 250,
  /** How often an embedded Postgres makes a checkpoint on a full disk, in ms: a retried merge writes 1 MB. */
  diskLowPollMs: 10_000,
  /** A piece of a recording, in bytes: browsers send less than 1 MB unless one page alone is bigger. */
  snapshotBytesMax: 32 * 1024 * 1024,
  /** Changes in one batch of several frames: a quarter to half a second of the engine, some hundred MB of memory. */
  batchChangesMax: 250_000,
};
