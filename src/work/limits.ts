// Bounds of waiting, retrying, counting and of the memory that request bodies take, with their units and reasons.

export const workLimits = {
  /** The pause after a failed insert, in ms: doubles from the first to the last, with jitter, for ever. */
  retryMsMin: 100,
  retryMsMax: 15_000,
  /** How often a line of a log that happens again and again is said, in ms, and how many kinds are told apart. */
  repeatedLogMs: 60_000,
  repeatedLogKindsMax: 100,
  /**
   * Bytes of all request bodies in memory at once: received, inflated, decoded and indexed, of all workers together.
   * With the arenas that wait for the next body, the whole server grows by less than 600 MB.
   */
  bodyMemoryBytes: 256 * 1024 * 1024,
  /** The least a worker has of them, in largest bodies: one, and some room for others beside it. */
  bodyMemoryLargestMin: 1.25,
  /** The part of them that one project's bodies may take, and those whose project is not known yet. */
  bodyMemoryShare: 5 / 8,
  /** The part that bodies longer than wholeBodyBytesMax may take: live events find room beside any import. */
  bodyMemoryLongShare: 13 / 16,
  /** The same for all but short bodies (arenaBodyBytesMin), which most live events come in. */
  bodyMemoryUsualShare: 15 / 16,
  /** How long a long body may wait for memory before any of it is read, in ms: importers rather wait than retry. */
  bodyMemoryWaitMsMax: 10_000,
  /** Bodies that may wait so: of each, one chunk was read, of up to half a megabyte. */
  bodyMemoryWaitingMax: 64,
  /** When a client that found no memory may come again, in seconds: a long body is stored in less. */
  bodyMemoryRetrySeconds: 2,
  /** A list's count of so many rows or more is kept for the next who asks; a smaller one takes a millisecond. */
  countKeptMin: 10_000,
  /** How old such a count may get, in ms, and from which age on it is taken anew while the old one is shown. */
  countKeptMs: 5000,
  countFreshMs: 2000,
  /** Projects whose counts are kept, and questions of each: some 200 bytes a count. */
  countProjectsMax: 1000,
  countQuestionsMax: 50,
  /** Owners remembered for whose turn it is next, some 100 bytes each: more than wait for anything at once. */
  shareOwnersMax: 10_000,
  /** How long a process waits for another one's answer on the same machine, in ms: less than SDKs wait for theirs. */
  linkMsMax: 5000,
  /** Answers one process may wait for at once: each is a request of a client that waits as well. */
  linkAsksMax: 10_000,
};
