// What one project may have of what all share, each with its unit and its reason; part of limits.ts, where everybody
// reads them. Never read from here.

export const shareLimits = {
  /** Owners remembered for whose turn it is next, some 100 bytes each: more than wait for anything at once. */
  shareOwnersMax: 10_000,
  /**
   * As FairShare has it, where places wait for others' servers, which may never answer: of six a project alone has
   * three, beside it another one two, and a third still finds one.
   */
  waitingShare: 1,
  /** The same where places do work that ends by itself: of four queries, three are one project's. */
  workingShare: 2,
  /** A backfill's run counts for two of its project's: scheduled runs always find a place beside them. */
  backfillWeight: 2,
  /** Runs and deliveries looked at before some are claimed: the first of each project come first. */
  claimCandidatesMax: 1000,
  /** Looks for what may be claimed, when other processes were faster each time. */
  claimLooksMax: 3,
  /** Destinations tried out at once, each for up to 30 s; how many wait for that, and how long, in ms. */
  probesAtOnceMax: 6,
  probesWaitingMax: 24,
  probeWaitMsMax: 15_000,
  /** Questions to the language model at once; how many wait for that, and how long, in ms. */
  completionsAtOnceMax: 8,
  completionsWaitingMax: 64,
  completionWaitMsMax: 15_000,
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
  /** Changes in one batch: half a second to a second of the engine, and some hundred MB of its memory. */
  batchChangesMax: 500_000,
  /** Changes that are derived in a second before any were measured: one core's. */
  changesPerSecondGuess: 500_000,
  /** The longest Retry-After of a project past its share, in seconds. */
  shareRetrySecondsMax: 60,
} as const;
