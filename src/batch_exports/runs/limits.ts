// Limits of runs, with their units and reasons.

export const runLimits = {
  /** Runs on one page by default, as in PostHog. */
  runsPageDefault: 100,
  /** How often a process looks for runs that are due, in ms: a run starts within ten seconds. */
  exportTickMs: 1000,
  /** Runs of one process at once; each may hold a thread of ClickHouse, or wait for a slow destination. */
  exportRunsAtOnceMax: 6,
  /** The lease of a run, in ms. */
  exportLeaseMs: 20_000,
  /** How often the lease is extended, in ms; a cancelled run stops as soon. */
  exportBeatMs: 2000,
  /** Schedules and backfills that are advanced in one tick; the rest follow in the next. */
  exportsPerTickMax: 200,
  /** The longest pause after a run's failed attempt, in ms. */
  exportRetryMsMax: 600_000,
  /**
   * How often the end of a run is written when the store fails, and the first pause in ms: together less than a lease.
   */
  exportEndTriesMax: 4,
  exportEndRetryMs: 500,
  /** How long a run may be due, in ms, before it shows that no process can serve its destination. */
  exportUntakenMsMax: 60_000,
  /** Failed attempts after which a run fails: about three hours. */
  exportAttemptsMax: 25,
  /** Failed runs in a row after which an export is paused, as in PostHog. */
  exportFailuresMax: 10,
  exportFailuresAmong: 50,
  /** How often old log lines are deleted, in ms. */
  exportLogsLookMs: 3_600_000,
  /** A backfill's run counts as two of its project's, so that scheduled runs find a place beside backfills. */
  backfillWeight: 2,
  /** Destinations tested at once, each for up to 30 s; how many more may wait, and how long, in ms. */
  probesAtOnceMax: 6,
  probesWaitingMax: 24,
  probeWaitMsMax: 15_000,
};
