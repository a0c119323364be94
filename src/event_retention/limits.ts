// Limits of the retention of events, with their units and reasons.

import { limits } from "../core/limits.ts";

const expiryPollMs = 60_000;
const expiryPassMs = 3_600_000;

export const retentionLimits = {
  /** How often a process checks whether a pass is due, in ms: days expire at midnight (UTC). */
  expiryPollMs,
  /** The time between two passes of all processes, in ms: a changed retention takes effect with the next pass. */
  expiryPassMs,
  /** How often a process reads what it hides until a pass deletes it, in ms: a changed retention hides by then. */
  hiddenPollMs: 5000,
  /**
   * How long the clock must have run steadily before it decides what expires, in ms: a clock that was set ahead and is
   * corrected within this time deletes nothing.
   */
  expirySteadyMs: 600_000,
  /** How far the clock may differ from elapsed time between two checks, in ms; beyond it the clock was set. */
  expirySkewMsMax: 60_000,
  /** How long a pass waits for one statement, in ms. The engine finishes it, and the next pass waits for it. */
  expiryStatementMsMax: 600_000,
  /** Checks that find the engine still deleting before it is logged: those of a pass. */
  expiryWaitsMax: expiryPassMs / expiryPollMs,
  /** Projects with their own retention in one statement: some 25 kB of numbers. */
  expiryProjectsMax: 1000,
  /** A year's files are rewritten once one row in four is deleted: three rows are written for each deleted one. */
  expiryMaskedDivisor: 4,
  /** How long a deleted row may stay in files with fewer deleted rows, in ms: rewriting a year costs its size. */
  expiryMaskedMsMax: 30 * limits.dayMs,
  /** Free space needed to rewrite a year, as a multiple of the size of its new files. */
  expiryRoomFactor: 1.25,
};
