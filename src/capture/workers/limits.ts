// Bounds of capture workers, with their units and reasons.

export const workerLimits = {
  /** Workers by default, without WORKERS: their flushes use 12 of the embedded engine's 16 permits. */
  workersByDefaultMax: 4,
  /** Cores for each worker: what it captures keeps two cores of the engine busy, and reads need some too. */
  coresPerWorker: 4,
  /** Merges in one message to worker 1: some 100 kB, which it reads in a millisecond. */
  sentMergesMax: 500,
  /** How often worker 1 reads the metrics of the others, in ms: what a killed worker counted since is lost. */
  workerReadMs: 1000,
  /** How often the others send it their counts of live events, in ms; spikes are counted by minutes. */
  workerTellMs: 200,
};
