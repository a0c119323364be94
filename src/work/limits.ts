// Limits of retries, logs, cached counts, waiting, and the memory of request bodies.

export const workLimits = {
  /** The pause after a failed insert, in ms: doubles from the first to the last, with jitter. */
  retryMsMin: 100,
  retryMsMax: 15_000,
  /** How often a repeated log line is written, in ms, and how many different lines are counted. */
  repeatedLogMs: 60_000,
  repeatedLogKindsMax: 100,
  /**
   * Bytes of all request bodies in memory: received, inflated, decoded and indexed, of all workers together. With the
   * arenas kept for the next body, the server grows by less than 600 MB.
   */
  bodyMemoryBytes: 256 * 1024 * 1024,
  /** The least that a worker has of it, in bodies of the largest size: one, and some room beside it. */
  bodyMemoryLargestMin: 1.25,
  /** The part of it for the bodies of one project, and for those whose project is not known yet. */
  bodyMemoryShare: 5 / 8,
  /** The part for bodies longer than wholeBodyBytesMax: an import leaves room for live events. */
  bodyMemoryLongShare: 13 / 16,
  /** The part for all but short bodies (arenaBodyBytesMin), which carry most live events. */
  bodyMemoryUsualShare: 15 / 16,
  /**
   * How long a long body may wait for memory before it is read, in ms: for an importer waiting is cheaper than a retry.
   */
  bodyMemoryWaitMsMax: 10_000,
  /** Bodies that may wait so: one chunk of each was read, up to half a megabyte. */
  bodyMemoryWaitingMax: 64,
  /** Retry-After for a client that found no memory, in seconds: a long body is stored in less. */
  bodyMemoryRetrySeconds: 2,
  /** Counts of so many rows or more are cached; a smaller count takes a millisecond. */
  countKeptMin: 10_000,
  /** How old a cached count may get, in ms, and the age from which it is taken again in the background. */
  countKeptMs: 5000,
  countFreshMs: 2000,
  /** Projects with cached counts, and questions of each: some 200 bytes a count. */
  countProjectsMax: 1000,
  countQuestionsMax: 50,
  /** Owners remembered for the order of turns, some 100 bytes each: more than ever wait at once. */
  shareOwnersMax: 10_000,
  /** How long a call to another process on this machine may take, in ms: less than SDKs wait for an answer. */
  linkMsMax: 5000,
  /** Calls that one process may wait for at once: each is a request of a client that waits too. */
  linkAsksMax: 10_000,
};
