// Bounds of the flush, with their units and reasons.

import { captureLimits } from "../limits.ts";

/** Bytes of segments that wait for their sessions: past this, sessions are derived whatever else waits. */
const sessionsWaitingBytesMax = 4 * captureLimits.historicalSegmentBytesMax;

export const flushLimits = {
  /** The buffer through which frames are copied into a file for an embedded engine, in bytes. */
  spoolBufferBytes: 4 * 1024 * 1024,
  /**
   * Rows of a block, in the mean of an INSERT, below which blocks are joined: with 15 of them the engine spends 26 µs
   * an event, with 60 it spends 11, and with 1,000 it spends 7; joining takes 2 of the server, which is busier the more
   * rows its blocks have.
   */
  shortBlockRows: 32,
  /** Bytes of a segment that are read at once for the first columns of short blocks. */
  firstColumnsBytes: 64 * 1024,
  /** Bytes of first columns in one INSERT: those of half a million events, unless their names are long. */
  firstColumnsSentBytes: 16 * 1024 * 1024,
  /** Bytes of folded sessions, and of events that are unread, in one INSERT: past it what there is is sent. */
  foldedSentBytes: 16 * 1024 * 1024,
  /** Milliseconds without use after which the memory of the fold is freed: up to 35 MB. */
  foldIdleMs: 30_000,
  /** Segments whose days are derived at once: an INSERT costs the engine 15 ms, however small it is. */
  daysSegmentsMax: 16,
  /** Rows in quarantine: past this, a refused batch waits for an operator instead of being bisected. */
  quarantineRowsMax: 10_000,
  /**
   * Milliseconds for which a flush of a server that stops may have no answer, and how often that is checked: a stop
   * beside a hung engine leaves the events in the journal, and ends in time.
   */
  drainSilentMsMax: 8000,
  drainPollMs: 100,
  /** How often an idle flush polls for rows returned from quarantine, in ms. */
  returnedPollMs: 1000,
  /** How often sessions are derived while events arrive and nothing waits, in ms: a step costs 20 ms, however small. */
  sessionsEveryMs: 2000,
  /** How long stored events wait at most for their sessions while others wait to be stored, in ms. */
  sessionsLateMs: 30_000,
  sessionsWaitingBytesMax,
  /**
   * Bytes of such segments past which no more of a lane are stored, so that events that are slow to derive wait where
   * they count for their project's share, and not on the disk of all.
   */
  sessionsBehindBytesMax: { historical: 1.5 * sessionsWaitingBytesMax, live: 2 * sessionsWaitingBytesMax },
  /** Events whose sessions ClickHouse refuses to derive: past this, the next one waits for an operator. */
  sessionsLeftOutMax: 1000,
  /**
   * Failed tries after which a segment's sessions wait in the backlog, some three seconds: what an engine refuses holds
   * up nothing else. An engine that cannot be reached is waited for, since it stores no events either.
   */
  sessionTriesMax: 5,
  /** Batches of the backlog derived in one step, and the time between two steps that fail, in ms. */
  backlogStepBatchesMax: 64,
  backlogAgainMs: 60_000,
  /** Batches in one step: their numbers are a parameter of the statement. */
  sessionsStepBatchesMax: 4096,
  /** Merges of one transaction that are decided at once: with more ids, garbage collection pauses the event loop. */
  mergesDecidedMax: 16_384,
};
