// Limits of ingestion warnings and spikes.

export const warningLimits = {
  /** Characters of an SDK's own warning, which names the page it comes from. */
  clientMessageCharsMax: 1000,
  /**
   * A spike is a minute with more events than `spikeFactor` times the mean of the preceding minutes, and more than
   * `spikeEventsMin`.
   */
  spikeFactor: 10,
  spikeEventsMin: 1000,
};
