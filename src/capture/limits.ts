// Bounds of capture, with their units and reasons. The journal, the flush and definitions have their own.

import { personLimits } from "../persons/limits.ts";
import { uploadLimits } from "../work/bodies/limits.ts";

const snapshotBytesMax = 32 * 1024 * 1024;
const hourMs = 3_600_000;

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
  snapshotBytesMax,
  /** Changes in one batch of several frames: a quarter to half a second of the engine, some hundred MB of memory. */
  batchChangesMax: 250_000,
  /** Bytes of a body decoded in one turn of the event loop: about a millisecond. */
  decodeBytesMax: 256 * 1024,
  /** A chunk of inflated data, in bytes. */
  inflateChunkBytes: 256 * 1024,
  /** The bytes at the beginning of a text by which base64 is recognized. */
  base64CheckBytes: 128,
  /** White space skipped before an encoded body, in bytes; no known client sends any. */
  blanksBytesMax: 4096,
  /** Layers that are removed (form, base64, gzip, …): clients are known to double them, no more. */
  bodyLayersMax: 6,
  /** The longest text that is tried as lz-string without a hint, in bytes: bodies of browsers were short. */
  unhintedLzBytesMax: 65_536,
  /**
   * The ratio that a compressed body may reach beyond its first megabyte. Thousands of events that differ in a counter
   * or a timestamp reach 112 in gzip, 285 in zstd and 309 in brotli; with a uuid each 190; a gzip of one repeated event
   * 294. A bomb has 1,032 in gzip, 16,000 in zstd, 280,000 in brotli.
   */
  inflateRatioMax: 500,
  /** The size that is free of the ratio, in bytes: a blank canvas is one letter for hundreds of kilobytes. */
  inflateFreeBytes: 1_048_576,
  /** Bytes of an incomplete gzip body that are inflated to find its key. */
  gzipStartBytes: 4096,
  /** Long bodies in arenas at once, each 20 to 50 MB; further ones are received elsewhere and scanned the slow way. */
  arenasMax: 5,
  /** How long an arena stays unused before it is freed, in ms. */
  arenaIdleMs: 30_000,
  /** The time between freeing two arenas, in ms: requests have their turns in between. */
  arenaGapMs: 250,
  /**
   * The most that the body of a request for flags or configuration may inflate to, in bytes: it holds one person's
   * properties.
   */
  keyBodyInflatedBytesMax: 1_048_576,
  /**
   * Events of one request: 50,000 make a reply of 6 MB, since each has its own result. Less than ignoredListMax, so
   * that every ignored event is listed. SDKs send 100 to 1,000.
   */
  v1EventsMax: 50_000,
  /** Bytes of a request after inflating; PostHog's number. For a moment the request is in memory twice. */
  v1InflatedBytesMax: 52_428_800,
  /** Memory of an event's uuid until its result is written, in two spellings, in bytes. */
  v1UuidBytes: 200,
  /** Characters of PostHog-Sdk-Info, which is copied to every event of the request; real ones have 20. */
  v1SdkInfoCharsMax: 200,
  /** When a day begins in the first zone (UTC+14), from its beginning in UTC, in ms. */
  cookielessDayBeginsMs: -14 * hourMs,
  /**
   * The end of the time in which a day's events are accepted, from its beginning in UTC, in ms: 36 hours until it is
   * over in the last zone (UTC-12), and 50 more for events that a client kept while offline. The same as PostHog's.
   */
  cookielessDayEndsMs: (36 + 50) * hourMs,
  /** How long before a day begins anywhere its salt is made, in ms, so that every process has it in time. */
  saltMadeAheadMs: 24 * hourMs,
  /** How long a salt is kept after the last event of its day may arrive, in ms: longer than any request takes. */
  saltKeptMs: hourMs,
  /** How often a process checks for missing and expired salts, in ms; it reads Postgres only if there are any. */
  saltPollMs: 2000,
  /** How long one read of salts in Postgres may take, in ms. */
  saltReadMsMax: 2000,
  /** Characters of `$cookieless_extra` that go into the hash; PostHog's number. */
  cookielessExtraCharsMax: 100,
  /** Bytes after which a segment of recordings is sealed, so that each piece fits: some 30 s of 200 recorders. */
  snapshotSegmentBytesMax: snapshotBytesMax,
  /**
   * Bytes of a snapshot that are read, hashed or copied before other requests get their turn: one or two milliseconds
   * where all of them are short events. Many requests may do as much in one turn of the event loop.
   */
  snapshotSliceBytesMax: 128 * 1024,
  /** Seconds of activity counted for one piece of a recording; recorders send every few seconds. */
  snapshotActiveSecondsMax: 3600,
  /** A text that is read from a recording (an address, an id), in bytes. */
  snapshotTextBytesMax: 65_536,
  /** The name of the recorder (web, mobile), in characters. */
  snapshotSourceCharsMax: 32,
  /** Characters of a recording's first address; PostHog's number. */
  startUrlCharsMax: 512,
  /** Bytes after which a segment of warnings is sealed: they are few and small. */
  warningSegmentBytesMax: 8 * 1024 * 1024,
  /** Characters of an SDK's own warning, which names its page. */
  clientMessageCharsMax: 1000,
  /**
   * A spike is a minute with more than this many times the mean of the trailing minutes, and more than so many events.
   */
  spikeFactor: 10,
  spikeEventsMin: 1000,
  /** Workers by default, without WORKERS: their flushes use 12 of the embedded engine's 16 permits. */
  workersByDefaultMax: 4,
  /** Cores for each worker: what it captures keeps two cores of the engine busy, and reads need some too. */
  coresPerWorker: 4,
  /** Merges in one message to worker 1: some 100 kB, which it reads in a millisecond. */
  sentMergesMax: 500,
  /** How often worker 1 reads the metrics of the others, in ms: what a killed worker counted since is lost. */
  workerReadMs: 1000,
  /** How often the others send it their counts of live events, in ms; spikes are counted by minutes. */
  workerTellMs: 200,
};
