// Limits of ingestion warnings and spikes.

export const warningLimits = {
  /** Bytes after which a segment of warnings is sealed: they are few and small. */
  warningSegmentBytesMax: 8 * 1024 * 1024,
  /** Characters of an SDK's own warning, which names its page. */
  clientMessageCharsMax: 1000,
  /**
   * A spike is a minute with more than this many times the mean of the trailing minutes, and more than so many events.
   */
  spikeFactor: 10,
  spikeEventsMin: 1000,
};
