// Bounds of HTTP requests and replies, with their units and reasons.

export const httpLimits = {
  /** How long a connection may stay silent, in seconds: slow uploads live, dead clients go. */
  idleSecondsMax: 60,
  /** Segments of a path: the longest address has 9, and files of posthog-js lie no deeper. */
  pathSegmentsMax: 16,
  /** The longest page anybody gets, in rows; how many bytes they may take together, see pageBytesMax. */
  pageMax: 10_000,
  /** Rows before a page: more than any list has, and exact in every store's numbers. */
  pageOffsetMax: 1_000_000_000_000,
  /** How long an answer about what is stored is used, in ms: journals tell once a second. */
  storedAgainMs: 200,
  /** Values one label of a metric may take; further ones are counted as "other". */
  labelValuesMax: 200,
  /** A management request's body, in bytes: parsing more would hold up a capture beside it. */
  managementBodyBytesMax: 1_048_576,
  /** Blanks around a text that are taken off before its length counts; with more it is refused unread. */
  blanksAroundMax: 1000,
  /** How old what `/metrics` says of readiness may be, in ms. */
  readinessAgeMsMax: 1000,
  /** How long `/metrics` waits for it, in ms: who watches must not be held up by what he watches. */
  readinessWaitMs: 250,
  /** Properties in one block of a page, in bytes: in memory once in the engine, and once on its way to the client. */
  pageBlockBytes: 4_194_304,
  /** Properties on one page, in bytes: more is a 400 that names a limit that fits. */
  pageBytesMax: 67_108_864,
  /** How long a start waits for the port that workers of an earlier life may still hold, in ms. */
  portMsMax: 2000,
};
