// Bounds of capture workers, with their units and reasons.

export const workerLimits = {
  /** Workers that the machine's size alone asks for: their flushes take 12 of the embedded engine's 16 places. */
  workersUnaskedMax: 4,
  /** Cores for each of them: what one captures keeps two of the engine's busy, and reading needs some, too. */
  coresPerWorker: 4,
  /** Merges in one line to worker 1: some 100 kB, which it reads in a millisecond. */
  farMergesMax: 500,
  /** How often worker 1 reads what the others count, in ms: what a killed one counted since is lost. */
  workerReadMs: 1000,
  /** How often the others tell it how many live events they took, in ms: a spike is a minute. */
  workerTellMs: 200,
};
