// Bounds of receiving bodies, with their units and reasons.

export const receiveLimits = {
  /** Long bodies in arenas at once, each 20 to 50 MB; further ones are received elsewhere and scanned the slow way. */
  arenasMax: 5,
  /** How long an arena stays unused before it is freed, in ms. */
  arenaIdleMs: 30_000,
  /** The time between freeing two arenas, in ms: requests have their turns in between. */
  arenaGapMs: 250,
  /**
   * The most that the body of a request for flags or configuration may inflate to, in bytes: it holds one person's
   * properties.
   */
  keyBodyInflatedBytesMax: 1_048_576,
};
