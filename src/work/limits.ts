// Limits of retries, logs, cached counts and waiting; those of request bodies are in bodies/limits.ts.

export const workLimits = {
  /** The pause after a failed insert, in ms: doubles from the first to the last, with jitter. */
  retryMsMin: 100,
  retryMsMax: 15_000,
  /** How often a repeated log line is written, in ms, and how many different lines are counted. */
  repeatedLogMs: 60_000,
  repeatedLogKindsMax: 100,
  /** Counts of so many rows or more are cached; a smaller count takes a millisecond. */
  countCachedMin: 10_000,
  /** How old a cached count may get, in ms, and the age from which it is counted again in the background. */
  countCachedMs: 5000,
  countFreshMs: 2000,
  /** Projects with cached counts, and the counts of each: some 200 bytes a count. */
  countProjectsMax: 1000,
  countsPerProjectMax: 50,
  /** Owners remembered for the order of turns, some 100 bytes each: more than ever wait at once. */
  shareOwnersMax: 10_000,
  /** How long a call to another process on this machine may take, in ms: less than SDKs wait for an answer. */
  linkMsMax: 5000,
  /** Calls that one process may wait for at once: each is a request of a client that waits too. */
  linkAsksMax: 10_000,
};
