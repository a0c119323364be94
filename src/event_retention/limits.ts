// Bounds of the retention of events, with their units and reasons.

export const retentionLimits = {
  /** How often a process looks whether a pass is due, in ms: days expire at midnight (UTC), and soon after they go. */
  expiryLookMs: 60_000,
  /** How long lies between two passes of all processes, in ms: a changed retention applies from the next pass on. */
  expiryPassMs: 3_600_000,
  /**
   * How long the clock must have run steadily before it decides what expires, in ms: a clock that was set ahead and is
   * corrected within this time deletes nothing.
   */
  expirySteadyMs: 600_000,
  /** How far the clock may go otherwise than time does between two looks, in ms; more is a clock that was set. */
  expirySkewMsMax: 60_000,
  /** How long a pass waits for one statement, in ms. The engine goes on by itself, and the next pass waits for it. */
  expiryStatementMsMax: 600_000,
  /** How long a process that said nothing keeps others from making a pass, in ms: longer than any statement. */
  expiryLeaseMs: 900_000,
  /** Looks that find the engine still deleting before the log tells of it: an hour of them. */
  expiryWaitsMax: 60,
  /** Projects with a retention of their own in one statement: some 25 kB of numbers. */
  expiryProjectsMax: 1000,
  /** Files are written anew once one row in so many of a year is deleted: that costs three rows written for each. */
  expiryMaskedShare: 4,
  /** How long a deleted row may rest in files that hold fewer such rows, in ms: to write a year anew costs its size. */
  expiryMaskedMsMax: 30 * 86_400_000,
  /** What the new files of a year may take is its share of the old ones; so many times as much must be free. */
  expiryRoomFactor: 1.25,
};
