// Bounds of ingestion warnings and spikes, with their units and reasons.

export const warningLimits = {
  /** Characters of an SDK's own warning: it names the page it comes from. */
  clientMessageCharsMax: 1000,
  /** A spike is a minute above this many times the mean of the trailing minutes, and above so many events. */
  spikeFactor: 10,
  spikeEventsMin: 1000,
};
