// Bounds of alerts, with their units and reasons.

export const alertLimits = {
  /** Each is a query an hour at most. */
  alertsPerProjectMax: 500,
  nameCharsMax: 255,
  /** Members who are told. */
  usersMax: 50,
  /** Checks that are kept: twelve days of hourly ones. */
  checksKeptMax: 300,
  /** Checks in a reply for one alert. */
  checksShownMax: 100,
  /** Consecutive checks without a figure after which it is told. */
  failuresToldAt: 3,
  /** How soon a check without a figure is repeated until it is told, in ms. */
  failureRetryMs: 600_000,
  /** How long a due check waits for a store that is away or busy before it counts as failed, in ms. */
  awayMsMax: 1_800_000,
  /** How far behind the stored events may be for a check, in ms: checks begin so long after their intervals. */
  storedLateMsMax: 300_000,
  /** A check that is planned further ahead is due, in ms: a clock ran ahead. No interval is longer. */
  aheadMsMax: 32 * 86_400_000,
  /** Alerts that are checked at the same time in one process: reads are bounded with those of deliveries. */
  checksAtOnceMax: 4,
  /** The time between two polls for due alerts, in ms. */
  pollMs: 5000,
  /** How long a claim lasts unless it is renewed, in ms. */
  claimMs: 60_000,
  /** Index of a series. */
  seriesIndexMax: 1000,
};
