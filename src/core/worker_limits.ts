// Bounds of capture workers, each with its unit and its reason.

export const workerLimits = {
  /** Workers that the machine's size alone asks for: their flushes take 12 of the embedded engine's 16 places. */
  workersUnaskedMax: 4,
  /** Cores for each of them: what one captures keeps two of the engine's busy, and reading needs some, too. */
  coresPerWorker: 4,
  /** How long a process waits for another one's answer on the same machine, in ms: less than SDKs wait for theirs. */
  linkMsMax: 5000,
  /** Merges of one request that are sent to worker 1 at once: more wait for the disk first. */
  farMergesMax: 5000,
  /** Answers one process may wait for at once: each is a request of a client that waits as well. */
  linkAsksMax: 10_000,
  /** How often worker 1 reads what the others count, in ms: what a killed one counted since is lost. */
  workerReadMs: 1000,
  /** How often the others tell it how many live events they took, in ms: a spike is a minute. */
  workerTellMs: 200,
  /** How long a start waits for workers of an earlier life to be gone, in ms: they end when their server does. */
  workersGoneMsMax: 10_000,
  /** How long a start waits for the port that workers of an earlier life may still hold, in ms. */
  portMsMax: 2000,
} as const;
