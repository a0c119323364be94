// Bounds that several rooms keep, with their units and reasons. Those of one room are in its own limits.ts; what an
// operator may change is in config.ts.

export const limits = {
  /** A project key, in bytes: longer ones were never issued by anybody. */
  projectKeyBytesMax: 64,
  /** One event's raw JSON, in bytes (PostHog's message limit); bigger ones are ignored one by one. */
  eventBytesMax: 1_000_000,
  /** JSON nesting: deep enough for any real event, shallow enough for any parser downstream. */
  jsonDepthMax: 128,
  /** A body after inflating, in bytes: five times the default wire limit, as PostHog's. */
  inflatedBytesMax: 104_857_600,
  /** Bytes copied between other requests' turns: about a millisecond, into memory that nothing has touched. */
  copyBytesMax: 1024 * 1024,
  /**
   * The index of a body's events, in bytes, memory only as far as used: for 190,000 of them, or 100 MB of 550 bytes
   * each. A body with more is looked at twice: laid in parts, when all of it is known to be sound.
   */
  indexBytesMax: 32 * 1024 * 1024,
  /** How many body limits' worth of a refused upload is read and dropped, so that its connection can go on. */
  drainFactor: 4,
  /** A management page unless asked; PostHog's default. */
  pageDefault: 100,
  /** Rows of a page that are shown before other requests get their turn: about a millisecond. */
  rowsShownAtOnceMax: 250,
  /** Bytes of a reply that are read, written or sent before other requests get their turn: a millisecond or two. */
  replySliceBytes: 256 * 1024,
  /** How long one part may take to say that it is well, in ms: balancers ask every few seconds. */
  healthMsMax: 2000,
  /** How long one management query may run in ClickHouse, in seconds. */
  querySecondsMax: 10,
  /** How long connecting to a store may take, in ms. */
  connectMsMax: 5000,
  /** How long any statement may stay silent, in ms: a day, the longest export. */
  statementMsLongest: 86_400_000,
  /** How long a graceful stop waits for requests in flight, in ms. */
  stopMsMax: 30_000,
  /** Announced bodies up to this many bytes are received in one piece, longer ones chunk by chunk. */
  wholeBodyBytesMax: 1_048_576,
  /** A group's key, in characters: PostHog refuses longer ones too. */
  groupKeyCharsMax: 400,
  /** Types of groups in one project; PostHog's number. */
  groupTypesMax: 5,
  /** Merges read, decided or written in one turn of the loop and one statement: one to three ms. */
  mergesAtOnceMax: 1000,
  /** How deep its JSON may be nested: twice what any field takes, whose own refusal says more. */
  managementDepthMax: 256,
  /**
   * Members, objects and arrays in it, elements in its arrays, and fields of a form: a megabyte of them takes 50 ms to
   * parse and ten times that to check, so many less than 10 and 50.
   */
  managementPartsMax: 20_000,
  /** How long such a body may take, in ms: a megabyte over a bad line, not a byte now and then for ever. */
  managementBodyMsMax: 20_000,
  /** Characters of a wrong value that a refusal repeats. */
  valueShownCharsMax: 200,
  /** A body searched for a personal key, in bytes: a management request is small. */
  keyBodyBytesMax: 1_048_576,
  /** A text longer than this is parsed in a turn of its own, in characters or bytes: a megabyte takes some 5 ms. */
  parseAtOnceCharsMax: 65_536,
  /** Chunks of a body shorter than this are copied together, in bytes: single bytes would weigh 100 times as much. */
  chunkBytesMin: 64 * 1024,
  /** Insights on one dashboard: reading it with results runs them all. */
  insightsPerDashboardMax: 100,
  /** Tags of an insight or a dashboard. */
  tagsMax: 50,
  /**
   * Memory of one read in ClickHouse, in bytes, and how many such reads run at once. A read begins small; what that is
   * too little for is asked once more in one of the large places, so that small reads never wait behind large ones.
   * Exports and the flush have places of their own. All places together: 1.2 GB.
   */
  readSmallBytesMax: 56_000_000,
  /** How much longer a read is waited for than the engine may take, in ms: to say that its time is up. */
  engineSaysMsMax: 5000,
  /** A page of properties up to this many bytes is read in one statement; a longer one block by block. */
  pageWholeBytesMax: 8_388_608,
  /** A number in a recording that is looked at (a moment, a kind), in bytes. */
  snapshotNumberBytesMax: 64,
  /** A session's id, in characters: usually a UUID. */
  sessionIdCharsMax: 200,
  /** A day, in ms. */
  dayMs: 86_400_000,
  /** The longest retention, in days: a hundred years. */
  retentionDaysMax: 36_500,
  /**
   * As FairShare has it, where places wait for others' servers, which may never answer: of six a project alone has
   * three, beside it another one two, and a third still finds one.
   */
  waitingShare: 1,
  /** The same where places do work that ends by itself: of four queries, three are one project's. */
  workingShare: 2,
  /** Runs and deliveries looked at before some are claimed: the first of each project come first. */
  claimCandidatesMax: 1000,
  /** Looks for what may be claimed, when other processes were faster each time. */
  claimLooksMax: 3,
  /**
   * How long one may take to stop before it is killed, in ms: time to finish an insert and to write a
   * checkpoint.
   */
  childStopMsMax: 20_000,
  /** The longest pause before a child store that keeps dying is started again, in ms. */
  childRestartMsMax: 5000,
};
