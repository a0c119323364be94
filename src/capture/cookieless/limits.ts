// Bounds of cookieless events: their days, and how long the salts of these days live; with units and reasons.

const hourMs = 3_600_000;

export const cookielessLimits = {
  /** When a day begins in the first zone (UTC+14), from its beginning in UTC, in ms. */
  cookielessDayBeginsMs: -14 * hourMs,
  /**
   * The end of the time in which a day's events are accepted, from its beginning in UTC, in ms: 36 hours until it is
   * over in the last zone (UTC-12), and 50 more for events that a client kept while offline. The same as PostHog's.
   */
  cookielessDayEndsMs: (36 + 50) * hourMs,
  /** How long before a day begins anywhere its salt is made, in ms, so that every process has it in time. */
  saltMadeAheadMs: 24 * hourMs,
  /** How long a salt is kept after the last event of its day may arrive, in ms: longer than any request takes. */
  saltKeptMs: hourMs,
  /** How often a process checks for missing and expired salts, in ms; it reads Postgres only if there are any. */
  saltPollMs: 2000,
  /** How long one read of salts in Postgres may take, in ms. */
  saltReadMsMax: 2000,
  /** Characters of `$cookieless_extra` that go into the hash; PostHog's number. */
  cookielessExtraCharsMax: 100,
};
