// Bounds of receiving bodies, with their units and reasons.

export const receiveLimits = {
  /** Long bodies in arenas at once, each 20 to 50 MB; further ones are received elsewhere and scanned the slow way. */
  arenasMax: 5,
  /** How long an arena stays unused before it is freed, in ms. */
  arenaIdleMs: 30_000,
  /** The time between freeing two arenas, in ms: requests have their turns in between. */
  arenaGapMs: 250,
  /** How long an upload may send nothing, in ms: enough for a phone in a tunnel; a dead client gets 408. */
  uploadStallMsMax: 20_000,
  /** How often stalled short bodies are looked for, in ms: they may be refused so much later than the message says. */
  uploadLookMs: 50,
  /** How long a whole upload may take, in ms: enough for 20 MB over a bad line. */
  uploadMsMax: 600_000,
  /**
   * The least rate of a body that is received in one piece, beside the silence allowed, in bytes a second: the largest
   * one is answered before its idle connection is closed.
   */
  wholeBodyBytesPerSecondMin: 32_768,
  /**
   * The most that the body of a request for flags or configuration may inflate to, in bytes: it holds one person's
   * properties.
   */
  keyBodyInflatedBytesMax: 1_048_576,
  /** Bytes in which the key of a long body is looked for before the rest is taken. */
  firstPieceBytes: 256 * 1024,
  /**
   * Bytes of one long body received in one turn of the event loop: 20 MB at once delay other requests by over 20 ms.
   * With a tenth of this an import costs 1 to 2 CPU-seconds per GB more, in the runtime's buffers.
   */
  receiveBytesMax: 2 * 1024 * 1024,
  /** The least of it when many bodies arrive at once, in bytes: together they receive what two would. */
  receiveBytesMin: 256 * 1024,
};
