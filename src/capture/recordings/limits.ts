// Limits of capturing recordings.

export const recordingLimits = {
  /**
   * Bytes of a snapshot read, hashed or copied before the event loop gets a turn: one or two milliseconds if it
   * consists of short events. Several senders may each have such a slice in one turn.
   */
  snapshotSliceBytesMax: 128 * 1024,
  /** Seconds of activity recorded for one piece; recorders send every few seconds. */
  snapshotActiveSecondsMax: 3600,
  /** How far a client's clock may be ahead, in ms; later times are ignored. */
  snapshotAheadMsMax: 7 * 86_400_000,
  /** Bytes of a text that is read from a recording, such as an address or an id. */
  snapshotTextBytesMax: 65_536,
  /** Characters of the kind of recorder: web or mobile. */
  snapshotSourceCharsMax: 32,
  /** Characters of a recording's first address; PostHog's number. */
  startUrlCharsMax: 512,
};
