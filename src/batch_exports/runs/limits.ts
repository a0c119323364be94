// Bounds of runs, with their units and reasons.

export const runLimits = {
  /** Runs, backfills and lines of logs on one page, unless asked; PostHog's numbers. */
  runsPageDefault: 100,
  /** How often exports look for what has fallen due, in ms: a run starts within ten seconds. */
  exportTickMs: 1000,
  /** Runs of one process at once; each may hold one thread of ClickHouse, or wait for a slow destination. */
  exportRunsAtOnceMax: 6,
  /** How long a run belongs to a process that does not say it lives, in ms. */
  exportLeaseMs: 20_000,
  /** How often it says so, in ms; also how soon a cancelled run stops. */
  exportBeatMs: 2000,
  /** Schedules and backfills moved on in one look; the rest has its turn in the next. */
  exportsPerTickMax: 200,
  /** The pause after a run's failed attempt, in ms: doubles from the first to the last. */
  exportRetryMsMax: 600_000,
  /** How often a run's end is written when the store fails, and the pause in ms, which grows: less than a lease. */
  exportEndTriesMax: 4,
  exportEndRetryMs: 500,
  /** How long a run may be due, in ms, before it says that no process can serve its destination. */
  exportUntakenMsMax: 60_000,
  /** Failed attempts after which a run is given up: about three hours. */
  exportAttemptsMax: 25,
  /** An export whose last runs failed so often is paused; PostHog's numbers. */
  exportFailuresMax: 10,
  exportFailuresAmong: 50,
  /** How often older ones are dropped, in ms. */
  exportLogsLookMs: 3_600_000,
  /** A backfill's run counts for two of its project's: scheduled runs always find a place beside them. */
  backfillWeight: 2,
  /** Destinations tried out at once, each for up to 30 s; how many wait for that, and how long, in ms. */
  probesAtOnceMax: 6,
  probesWaitingMax: 24,
  probeWaitMsMax: 15_000,
};
