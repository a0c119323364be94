// Limits that several rooms share, with their units and reasons. The limits of one room are in its own limits.ts, where
// a number that follows from another is computed from it; settings of operators are in config.ts.

/**
 * The memory of one server, in bytes, that what clients send, ask for and repeat may fill. Beside it are the runtime,
 * arenas, and pages that are read block by block.
 */
const memoryBytes = 640 * 1024 * 1024;

/** Its parts, by what fills them. */
export const memoryShares = {
  /** Request bodies, of all workers together. */
  bodies: (memoryBytes * 8) / 20,
  /** The page of a recording that is expanded. */
  recordings: (memoryBytes * 2) / 20,
  /** Long replies that their clients have not read. */
  replies: (memoryBytes * 4) / 20,
  /** Results of queries that are returned again. */
  results: (memoryBytes * 2) / 20,
  /** Queries that wait or run. */
  queries: (memoryBytes * 2) / 20,
  /** Results that sharing links show. */
  sharedResults: memoryBytes / 20,
  /** Shapes of events; further workers have as much each. */
  shapes: memoryBytes / 20,
};

/** @throws Error at the start, with the relation that must hold, unless each value is larger than the one before it. */
export function assertRising(relation: string, ...values: readonly number[]): void {
  if (values.some((value, i) => i > 0 && value <= values[i - 1]!)) throw new Error(`limits: ${relation}`);
}

const shared = Object.values(memoryShares).reduce((sum, bytes) => sum + bytes, 0);
if (shared !== memoryBytes) throw new Error("limits: the shares of memory are the whole");

const dayMs = 86_400_000;
const jsonDepthMax = 128;
const childStopMsMax = 7000;
const bodyBytesUsual = 20 * 1024 * 1024;

export const limits = {
  /** A project key, in bytes: none was ever longer. */
  projectKeyBytesMax: 64,
  /**
   * One event's raw JSON, in bytes (PostHog's message limit); a larger event is ignored, the rest of its batch is not.
   */
  eventBytesMax: 1_000_000,
  /**
   * Bytes of an rrweb event that players get: browsers send less than 1 MB, or one full snapshot compressed. Of a
   * larger one they get the size only.
   */
  snapshotShownBytesMax: 8 * 1024 * 1024,
  /** Bytes that the compressed parts of one page of a recording may inflate to: four times the page. */
  snapshotInflatedBytesMax: 16 * 1024 * 1024,
  /** JSON nesting: enough for any real event, and any parser downstream accepts it. */
  jsonDepthMax,
  /** BODY_BYTES_MAX by default, as in PostHog. */
  bodyBytesUsual,
  /** A body after inflating, in bytes: five times the default wire limit, as in PostHog. */
  inflatedBytesMax: 5 * bodyBytesUsual,
  /** Bytes copied in one turn of the event loop: about a millisecond into untouched memory. */
  copyBytesMax: 1024 * 1024,
  /**
   * The index of a body's events, in bytes; memory is used as it fills. Enough for 149,000 events, or 82 MB of 550
   * bytes each. A body with more is scanned twice, and appended in parts once all of it is known to be valid.
   */
  indexBytesMax: 32 * 1024 * 1024,
  /**
   * How much of a refused upload is read and dropped, in multiples of the body limit, so that its connection survives.
   */
  drainFactor: 4,
  /** A management page by default, as in PostHog. */
  pageDefault: 100,
  /** How far ahead of the clock events are listed that are not asked for, in ms: PostHog's. */
  listAheadMsMax: 5000,
  /** Rows of a page converted in one turn of the event loop: about a millisecond. */
  rowsShownAtOnceMax: 250,
  /** Bytes of a reply read, written or sent in one turn of the event loop: a millisecond or two. */
  replySliceBytes: 256 * 1024,
  /** How long one part's health check may take, in ms: balancers check every few seconds. */
  healthMsMax: 2000,
  /** Seconds after which a server that does not report is shown as unavailable: it reports once a second. */
  serverSilentSecondsMax: 60,
  /** How long one management query may run in ClickHouse, in seconds: without enough CPU-seconds to end it. */
  querySecondsMax: 60,
  /** How long connecting to a store may take, in ms. */
  connectMsMax: 5000,
  /** How long a statement may run without output, in ms: a day, for the longest export. */
  longStatementMsMax: dayMs,
  /**
   * How long a graceful stop takes, in ms, whatever stores do: supervisors kill after 30 s. What stopStoresMsMax leaves
   * of it is for the flush; the next start finds what it did not store.
   */
  stopMsMax: 24_000,
  /** How long of it requests in flight are waited for, in ms. */
  stopRequestsMsMax: 6000,
  /** How long of it is kept for the flush where work in the background does not end, in ms. */
  stopFlushMsMin: 4000,
  /** How long of it is kept for closing clients and embedded stores, in ms. */
  stopStoresMsMax: childStopMsMax + 1000,
  /** A body of at most so many bytes with a Content-Length is received whole, a longer one chunk by chunk. */
  wholeBodyBytesMax: 1_048_576,
  /** A group's key, in characters, as in PostHog. */
  groupKeyCharsMax: 400,
  /** Types of groups in one project, as in PostHog. */
  groupTypesMax: 5,
  /** Columns of a list of groups, stored for clients. */
  groupColumnsMax: 100,
  /** Merges read, decided or written in one statement and one turn of the event loop: one to three ms. */
  mergesAtOnceMax: 1000,
  /** JSON nesting of a management body: twice what any field accepts, so that a field's own refusal comes first. */
  managementDepthMax: 2 * jsonDepthMax,
  /**
   * Members, objects, arrays and elements of a management body, and fields of a form: a megabyte of them takes 50 ms to
   * parse and ten times that to check; so many take less than 10 and 50 ms.
   */
  managementPartsMax: 20_000,
  /** How long a management body may take to arrive, in ms: enough for a megabyte over a bad line. */
  managementBodyMsMax: 20_000,
  /** Steps of a regular expression with all repetitions: each takes the engine some 50 ns a character. */
  patternStepsMax: 5_000,
  /** Characters of a wrong value that its refusal shows. */
  valueShownCharsMax: 200,
  /** A body that is searched for a personal key, in bytes: management requests are small. */
  keyBodyBytesMax: 1_048_576,
  /** A longer text is parsed in a turn of its own, in characters or bytes: a megabyte takes some 5 ms. */
  parseAtOnceCharsMax: 65_536,
  /** Shorter chunks of a body are copied together, in bytes: each chunk costs some hundred bytes. */
  chunkBytesMin: 64 * 1024,
  /** Insights of one project, without deleted ones. PostHog's largest teams have a few thousand. */
  insightsPerProjectMax: 10_000,
  /** Insights on one dashboard: reading it with results runs them all. */
  insightsPerDashboardMax: 100,
  /** Dashboards that show one insight. */
  dashboardsOfInsightMax: 100,
  /** Characters of a search for insights or dashboards, as at PostHog. */
  searchCharsMax: 200,
  /** Tags of an insight or a dashboard. */
  tagsMax: 50,
  /** Memory of one small read in ClickHouse, in bytes: see storage/clickhouse/limits.ts. */
  readSmallBytesMax: 56_000_000,
  /** How long a key or a link may work after it was revoked, in ms: 5 s are promised. */
  revokedMsMax: 5000,
  /** Names of events in one project. People choose from them, and sites that make names of ids have no end of them. */
  eventNamesMax: 10_000,
  /** How much longer than its time limit a read is waited for, in ms: the engine needs it to report the time-out. */
  engineSaysMsMax: 5000,
  /** A page of properties of at most so many bytes is read in one statement, a longer one block by block. */
  pageWholeBytesMax: 8_388_608,
  /** A number in a recording that is read (a timestamp, a type), in bytes. */
  snapshotNumberBytesMax: 64,
  /** A session's id, in characters: usually a UUID. */
  sessionIdCharsMax: 200,
  /** A day, in ms. */
  dayMs,
  /** The longest retention, in days: a hundred years. */
  retentionDaysMax: 36_500,
  /**
   * FairShare's multiple for work that waits for foreign servers, which may never answer: of six permits
   * one project has three, a second one two, and a third still gets one.
   */
  waitingFreeMultiple: 1,
  /** FairShare's multiple for work that ends by itself: of four queries, three may be one project's. */
  workingFreeMultiple: 2,
  /** Runs and deliveries that are read before some are claimed; the first of each project come first. */
  claimCandidatesMax: 1000,
  /** How many times a claim is tried when other processes were faster. */
  claimTriesMax: 3,
  /**
   * How long a child process may take to stop before it is killed, in ms: time to finish an insert and write a
   * checkpoint. Both stores survive a kill.
   */
  childStopMsMax,
  /** The longest pause before a store that keeps dying is started again, in ms. */
  childRestartMsMax: 5000,
};
