// Bounds of events without cookies: which days they may be of, and how long the salts of those days live; with their
// units and reasons.

const hourMs = 3_600_000;

export const cookielessLimits = {
  /** A day begins in the first zone (UTC+14) so long before it begins in UTC, in ms. */
  cookielessDayBeginsMs: -14 * hourMs,
  /**
   * So long after a day began in UTC its events are still taken, in ms: 36 hours until it is over in the last zone
   * (UTC-12), and 50 more for events that a client kept while it was offline. PostHog ends a day there too.
   */
  cookielessDayEndsMs: 86 * hourMs,
  /** A salt is made so long before its day begins anywhere, in ms: every process has it in time. */
  saltMadeAheadMs: 24 * hourMs,
  /** A salt lives so long after the last event of its day may come, in ms: longer than any request takes. */
  saltKeptMs: hourMs,
  /** How often a process looks whether a salt is missing or over, in ms; Postgres is asked only then. */
  saltLookMs: 2000,
  /** How long one question to Postgres about salts may take, in ms. */
  saltReadMsMax: 2000,
  /** Of `$cookieless_extra`, in characters: as much as PostHog takes into the hash. */
  cookielessExtraCharsMax: 100,
};
