// Bounds of receiving bodies, with their units and reasons.

export const receiveLimits = {
  /** Long bodies in arenas at once, each 20 to 50 MB; further ones are received and scanned the slow way. */
  arenasMax: 5,
  /** Arenas nobody wanted for so long are let go, in ms. */
  arenaIdleMs: 30_000,
  /** How long lies between two that go, in ms: requests have their turns between them. */
  arenaGapMs: 250,
  /** How long an upload may send nothing, in ms: a phone in a tunnel lives, a dead client gets 408. */
  uploadStallMsMax: 20_000,
  /** How often somebody looks for short bodies that stall, in ms: so much later than told one may be refused. */
  uploadLookMs: 50,
  /** How long a whole upload may take, in ms: 20 MB over a bad line, not a byte now and then for ever. */
  uploadMsMax: 600_000,
  /**
   * The least such a body may bring in a second, beside the silence allowed, in bytes: the largest still has
   * its answer before its idle connection is closed.
   */
  wholeBodyBytesPerSecondMin: 32_768,
  /** What the body of a request for flags or configuration may become, in bytes: it holds one person's properties. */
  keyBodyInflatedBytesMax: 1_048_576,
  /** Bytes in which the key of a long body is looked for before the rest is taken. */
  firstPieceBytes: 256 * 1024,
  /**
   * Bytes of one long body received between other requests' turns: 20 MB at once hold them up for over 20 ms. With a
   * tenth of this an import costs 1 to 2 CPU-seconds per GB more, in the runtime's buffers.
   */
  receiveBytesMax: 2 * 1024 * 1024,
  /** The least of it when many bodies come at once, in bytes: they share what two would receive. */
  receiveBytesMin: 256 * 1024,
};
