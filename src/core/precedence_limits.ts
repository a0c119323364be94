// Bounds by which short requests go before long ones, and answers before what can wait. Never decides anything itself.

export const precedenceLimits = {
  /**
   * By how many steps of priority the embedded engine stands behind the server and Postgres: whoever waits for an
   * answer goes first, and an import into the engine takes what is left. A tenth of the weight, never nothing.
   */
  frontNice: 10,
  /**
   * Bytes of one long body received between other requests' turns: 20 MB at once hold them up for over 20 ms. With a
   * tenth of this an import costs 1 to 2 CPU-seconds per GB more, in the runtime's buffers.
   */
  receiveBytesMax: 2 * 1024 * 1024,
  /** The least of it when many bodies come at once, in bytes: they share what two would receive. */
  receiveBytesMin: 256 * 1024,
  /** Groups of the journal up to so many bytes are written where they stand: sooner than another thread is woken. */
  writeNowBytesMax: 64 * 1024,
  /**
   * Behind a group of the journal that so many requests waited for, the next one begins this much later, in ms: their
   * answers bring more requests, and one sync serves them all.
   */
  gatherRequestsMin: 8,
  gatherMs: 1,
} as const;
