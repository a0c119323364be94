// Bounds of capture that several of its stages keep, with their units and reasons.

export const captureLimits = {
  /** distinct_id, in characters: PostHog cuts there too. */
  distinctIdCharsMax: 200,
  /** Rows of one INSERT: the engine makes one part a partition of it with certainty, at a memory cost it can bear. */
  batchRowsMax: 200_000,
  /** Native bytes of one INSERT, well under the engine's 256 MiB block squashing bound. */
  batchBytesMax: 96 * 1024 * 1024,
  /** Partitions in one INSERT, each of which becomes a part: what the engine takes by default. */
  insertPartitionsMax: 100,
  /** What a row weighs in memory beside its properties, in bytes: only to decide when a group is full. */
  rowBytesGuess: 100,
  /** One insert, in ms: an engine that takes longer is treated as lost and asked again. */
  insertMsMax: 120_000,
  /** Years of one slice whose rows are appended before other requests get their turn. */
  yearsAtOnceMax: 64,
  /** Bytes scanned, and rows appended, before other requests get their turn: about 2 ms of work. */
  sliceBytesMax: 1024 * 1024,
  sliceRowsMax: 4096,
  /** The same where they go the slow way. */
  slowSliceBytesMax: 256 * 1024,
  slowSliceRowsMax: 500,
  /** Bodies from this many bytes on have an arena of their own; shorter ones share one, each within one turn. */
  arenaBodyBytesMin: 16 * 1024,
  /** Less difference than this between a client's clock and ours is transit, not skew, in µs: left alone. */
  skewMicrosMin: 10_000_000,
  /** How often a journal says how far it has come, in ms. */
  watermarkMs: 1000,
  /** Ignored or altered events listed one by one, per type, project and minute; the rest is one row. */
  warningsPerMinuteMax: 100,
  /** Kinds of warnings times projects counted within one minute; more are in the metrics only. */
  warningTalliesMax: 20_000,
  /** Characters of a client's value that a warning quotes. */
  warningValueCharsMax: 200,
  /** Bytes of one event that are looked at to say more of it in a warning; usual ones have fewer. */
  warningLookBytesMax: 64 * 1024,
  /** Person and group properties one event may change: far more than anybody sends by hand. */
  changesMax: 1000,
  /** The longest key among them, in bytes, quotes aside: keys live in dictionaries. */
  changeKeyBytesMax: 400,
  /** All of them together, in bytes: PostHog trims a person to as much. */
  changesBytesMax: 524_288,
  /** The trailing minutes; also how long a spike may last before it is what is usual. */
  spikeMinutes: 60,
  /** Projects watched for spikes at once, about 600 bytes each; those idle for an hour are forgotten. */
  spikeProjectsMax: 10_000,
  /** How often minutes that have passed are looked at (warnings counted, spikes ended), in ms. */
  minuteLookMs: 1000,
  /** How often somebody looks how much is free, in ms; what is written in between is counted. */
  diskLookMs: 250,
  /** A piece of a recording, in bytes: browsers send less than 1 MB unless one page alone is bigger. */
  snapshotBytesMax: 32 * 1024 * 1024,
  /** Changes in one batch: half a second to a second of the engine, and some hundred MB of its memory. */
  batchChangesMax: 500_000,
};
