// Bounds of capture workers, each with its unit and its reason.

export const workerLimits = {
  /** Workers that the machine's size alone asks for: their flushes take 12 of the embedded engine's 16 places. */
  workersUnaskedMax: 4,
  /** Cores for each of them: what one captures keeps two of the engine's busy, and reading needs some, too. */
  coresPerWorker: 4,
  /** How long a process waits for another one's answer on the same machine, in ms: less than SDKs wait for theirs. */
  linkMsMax: 5000,
  /** Merges in one line to worker 1: some 100 kB, which it reads in a millisecond. */
  farMergesMax: 500,
  /** Answers one process may wait for at once: each is a request of a client that waits as well. */
  linkAsksMax: 10_000,
  /** How often worker 1 reads what the others count, in ms: what a killed one counted since is lost. */
  workerReadMs: 1000,
  /** How often the others tell it how many live events they took, in ms: a spike is a minute. */
  workerTellMs: 200,
  /** Postgres connections of a worker that only captures: it reads keys and tells how far its journal has come. */
  workerConnectionsMax: 3,
  /** How long a start waits for workers of an earlier life to be gone, in ms: they end when their server does. */
  workersGoneMsMax: 10_000,
  /** How long a start waits for the port that workers of an earlier life may still hold, in ms. */
  portMsMax: 2000,
} as const;
