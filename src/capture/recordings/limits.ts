// Limits of capturing recordings.

import { captureLimits } from "../limits.ts";

export const recordingLimits = {
  /** Bytes after which a segment of recordings is sealed, so that each piece fits: some 30 s of 200 recorders. */
  snapshotSegmentBytesMax: captureLimits.snapshotBytesMax,
  /**
   * Bytes of a snapshot that are read, hashed or copied before other requests get their turn: one or two milliseconds
   * where all of them are short events. Many requests may do as much in one turn of the event loop.
   */
  snapshotSliceBytesMax: 128 * 1024,
  /** Seconds of activity counted for one piece of a recording; recorders send every few seconds. */
  snapshotActiveSecondsMax: 3600,
  /** A text that is read from a recording (an address, an id), in bytes. */
  snapshotTextBytesMax: 65_536,
  /** The name of the recorder (web, mobile), in characters. */
  snapshotSourceCharsMax: 32,
  /** Characters of a recording's first address; PostHog's number. */
  startUrlCharsMax: 512,
};
