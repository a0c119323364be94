// Bounds of keys, accounts and the gate; part of limits.ts, where everybody reads them. Never read from here.

export const accessLimits = {
  /** How old the table of project keys may get before it is read again, in ms. */
  keysAgeMsMax: 30_000,
  /** The least time between two reads that unknown keys cause, in ms: strangers must not load Postgres. */
  keysReadGapMsMin: 200,
  /** How long one read of it may take, in ms: an unknown key has its answer well before SDKs give up. */
  keysReadMsMax: 2000,
  /** Unknown keys looked up in one read; more at once means an attack or a broken balancer. */
  keysAskedMax: 1000,
  /** A body searched for a personal key, in bytes: a management request is small. */
  keyBodyBytesMax: 1_048_576,
  /** Blanks around a text that are taken off before its length counts; with more it is refused unread. */
  blanksAroundMax: 1000,
  /** How often the use of a personal key is written down, in ms: once an hour tells enough. */
  keyUseNoteMs: 3_600_000,
  /** How long a read may be let in by what was found before, in ms, if nothing tells of a change: 5 s are promised. */
  foundAgeMsMax: 3000,
  /** Such findings, of keys and what they asked for; about 1 kB each. */
  foundMax: 2000,
  /** Personal keys a user may issue over HTTP; PostHog's number. */
  personalKeysMax: 10,
  /** Organizations or projects one key may be held to. */
  keyScopesMax: 100,
  /** Projects of one organization: every reply about it lists them all. */
  projectsPerOrganizationMax: 1000,
  /**
   * The time over which a personal key's requests are counted, in ms: MANAGEMENT_RATE_LIMIT is a minute's.
   */
  rateWindowMs: 60_000,
} as const;
