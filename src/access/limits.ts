// Bounds of keys, accounts and the gate, with their units and reasons.

export const accessLimits = {
  /** How long the system's resolver may take over a user's host name, in ms. */
  resolveMsMax: 3000,
  /** How old the table of project keys may get before it is read again, in ms. */
  keysAgeMsMax: 30_000,
  /** The least time between two reads that unknown keys cause, in ms: strangers must not load Postgres. */
  keysReadGapMsMin: 200,
  /** How long one read of it may take, in ms: an unknown key has its answer well before SDKs give up. */
  keysReadMsMax: 2000,
  /** Unknown keys looked up in one read; more at once means an attack or a broken balancer. */
  keysAskedMax: 1000,
  /** How often the use of a personal key is written down, in ms: once an hour tells enough. */
  keyUseNoteMs: 3_600_000,
  /** How long a read may be let in by what was found before, in ms, if nothing tells of a change: 5 s are promised. */
  foundAgeMsMax: 3000,
  /** Such findings, of keys and what they asked for; about 1 kB each. */
  foundMax: 2000,
  /**
   * The time over which a personal key's requests are counted, in ms: MANAGEMENT_RATE_LIMIT is a minute's.
   */
  rateWindowMs: 60_000,
  /** Entries of X-Forwarded-For that are looked at, from the right: no chain of proxies is longer. */
  forwardedEntriesMax: 32,
};
