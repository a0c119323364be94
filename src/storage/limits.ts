// Limits of opening and using the stores, with their units and reasons.

import { limits } from "../core/limits.ts";

export const storageLimits = {
  /** How long a remote ClickHouse counts as the one whose id was seen, in ms: less than another one takes to start. */
  idSeenMsMax: 100,
  /** Postgres connections of one process: management is light, capture uses none. */
  postgresConnectionsMax: 8,
  /** How long a command waits for a starting server to publish the addresses of its stores, in ms. */
  attachMsMax: 15_000,
  /**
   * How long one statement of a migration may take, and how long one waits for another process to migrate, in
   * ms: one may copy all events, about 10 million a minute.
   */
  migrateMsMax: 14_400_000,
  /**
   * How long a start waits for servers that are incompatible with its migrations, in ms: the longest drain of a
   * stopping server several times over.
   */
  olderServersMsMax: 600_000,
  /**
   * A process whose journal was not seen for so long, in ms, is not waited for: it publishes once a second, and clocks
   * may differ by journalClockMsMax.
   */
  olderSeenMsMax: 1000 * limits.serverSilentSecondsMax,
  /** Older servers named in one line: enough to see which kind they are. */
  serversShownMax: 10,
  /** Idle seconds after which a Postgres connection is closed: long enough to stay open between requests. */
  postgresIdleSecondsMax: 120,
  /**
   * Attempts to store the end of an attempt while Postgres fails, and the first pause in ms: together less than any
   * lease.
   */
  leaseEndTriesMax: 4,
  leaseEndRetryMs: 500,
  /** A lease that ends later than this from now, in ms, counts as free: the clock that wrote it was fast. */
  leaseAheadMsMax: 3_600_000,
  /** Milliseconds after which a pass whose process is gone is made by another one, and how often a claim is renewed. */
  passLeaseMs: 30_000,
  passBeatMs: 5000,
  /** Statements the embedded engine runs at once; exports may hold several for minutes. */
  engineStatementsMax: 16,
  /** How often ClickHouse is watched, in ms. */
  engineWatchMs: 1000,
  /** How long a flush may have no answer, in ms: at rest the largest INSERT takes half a second. */
  flushSilentMsMax: 60_000,
  /** How long flushes may be refused for all of the engine's memory, in ms: statements free theirs within that time. */
  flushMemoryMsMax: 30_000,
  /** Milliseconds for which a statement may outlive its limit: the engine checks it between two blocks. */
  statementOverdueMsMax: 10_000,
  /**
   * An engine that gets less than so many cores while its threads wait for as many may take so many times as long. At
   * a load of 60 on two cores an INSERT takes up to a minute.
   */
  engineStarvedCores: 0.25,
  /** Cores below which a killed statement's block, which may need ten CPU-seconds, gets as many times as long. */
  engineBlockCores: 0.9,
  engineStarvedFactor: 5,
  /** Milliseconds for which at least it is watched before it counts as stuck. */
  engineWatchedMsMin: 4000,
  /** The pause after a restart before the next one, in ms: doubled each time, up to the second. */
  engineRestartPauseMsMin: 60_000,
  engineRestartPauseMsMax: 1_800_000,
  /** Filters on properties in one query; each one reads every event's properties again. */
  propertyFiltersMax: 50,
  /** Values of one filter: enough for a pasted list of ids. */
  propertyValuesMax: 1000,
  /** Nesting of filter groups: the deepest of known editors, and one more. */
  propertyGroupsDeepMax: 4,
  /** A property's name in a filter, in UTF-16 units; no real one is longer. */
  propertyKeyCharsMax: 400,
  /** Characters of an expression of SQL in a filter: as of one in a list of events. */
  filterExpressionCharsMax: 4000,
  /** A value in a filter, in UTF-16 units. */
  propertyValueCharsMax: 10_000,
  /** Values listed for one property, the most frequent ones; PostHog's number. */
  listedValuesMax: 20,
  /** Characters shown of one value: a list of values should not contain documents. */
  listedValueCharsMax: 1000,
  /** A journal unseen for so long, in ms, no longer delays exports: its process is gone. */
  journalUnseenMsMax: 300_000,
  /** How far the clocks of processes and of Postgres may differ, in ms, where they are compared. */
  journalClockMsMax: 10_000,
  /** How long one statement in a destination's Postgres may take, in ms: a big table without an index. */
  exportCopyMsMax: 3_600_000,
  /** Bytes with which a destination's Postgres may answer one statement: a refusal repeats a value, rows are few. */
  foreignAnswerBytesMax: 4_194_304,
  /** Bytes of such a message that is checked whole: names of columns, a step of a login. */
  foreignMessageBytesMax: 65_536,
  /** Postgres connections of a worker that only captures: it reads keys and reports the watermark of its journal. */
  workerConnectionsMax: 3,
  /** Bytes of sessions that are grouped in memory, and become one part: more than an INSERT's events have. */
  sessionBytesMax: 134_217_728,
  /** Time between two reads of the watermarks while a caller waits for them, in ms: journals report once a second. */
  watermarkAgainMs: 200,
};
