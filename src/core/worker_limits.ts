// Bounds of processes beside the server's own, capture workers and embedded stores, each with its unit and its reason.

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
  /** How long a child store may take to come up, in ms. */
  childStartMsMax: 60_000,
  /**
   * How long a later start waits for an embedded store before it captures without, in ms: a store that is well is up
   * in a tenth of it, and one that is not must keep nobody's events out.
   */
  childAwaitedMsMax: 1000,
  /**
   * How long one may take to stop before it is killed, in ms: time to finish an insert and to write a
   * checkpoint.
   */
  childStopMsMax: 20_000,
  /** The longest pause before a child store that keeps dying is started again, in ms. */
  childRestartMsMax: 5000,
  /** Lines of a child store's standard error kept, to be shown when it dies. */
  childLinesMax: 20,
  /** Characters of one of those lines; a stack of the engine can be longer than anybody reads. */
  childLineCharsMax: 1000,
} as const;
