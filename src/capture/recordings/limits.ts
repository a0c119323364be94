// Bounds of recordings as they are captured, with their units and reasons.

export const recordingLimits = {
  /**
   * Bytes of one that are read, hashed or copied before other requests get their turn: a millisecond or two, where they
   * are nothing but short events. Many senders have such a slice in one turn of the loop.
   */
  snapshotSliceBytesMax: 128 * 1024,
  /** Seconds of activity noted for one piece of a recording; recorders send every few seconds. */
  snapshotActiveSecondsMax: 3600,
  /** How far ahead of our clock a client's may be in a recording, in ms; a time beyond it is no time. */
  snapshotAheadMsMax: 7 * 86_400_000,
  /** A text in a recording that is looked at (an address, an id), in bytes. */
  snapshotTextBytesMax: 65_536,
  /** The word for what recorded, in characters: web or mobile. */
  snapshotSourceCharsMax: 32,
  /** Characters of a recording's first address that are kept; PostHog's number. */
  startUrlCharsMax: 512,
};
