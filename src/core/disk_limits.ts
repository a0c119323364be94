// Bounds on what is written where little room is left, each with its unit and its reason.

export const diskLimits = {
  /**
   * What the journal leaves free of its volume for the stores beside it: an eighth, at least so many bytes, for what a
   * small segment takes there and Postgres's log, and at most four of the largest segments; never more than a quarter.
   */
  diskReserveShare: 1 / 8,
  diskReserveBytesMin: 16 * 1024 * 1024,
  diskReserveBytesMax: 1024 * 1024 * 1024,
  diskReserveShareMax: 1 / 4,
  /** How much more has to be free before captures go on, as a part of the reserve. */
  diskBackShare: 1 / 8,
  /** How often somebody looks how much is free, in ms; what is written in between is counted. */
  diskLookMs: 250,
  /** What is written to see whether the journal can be, in bytes: a page, so that it takes room. */
  journalProbeBytes: 4096,
  /** How long a group that could not be written makes the journal unready, in ms: so long clients are told to wait. */
  journalFailingMs: 5000,
  /** Files kept to be written over that nobody wanted for so long are given back, in ms. */
  sparesIdleMs: 600_000,
  /** How often a line of a log that happens again and again is said, in ms, and how many kinds are told apart. */
  repeatedLogMs: 60_000,
  repeatedLogKindsMax: 100,
  /** How old what `/metrics` says of readiness may be, in ms. */
  readinessAgeMsMax: 1000,
  /** How long `/metrics` waits for it, in ms: who watches must not be held up by what he watches. */
  readinessWaitMs: 250,
} as const;
