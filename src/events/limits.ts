// Bounds of the list of events, with their units and reasons.

export const eventListLimits = {
  /** Events of the days a page lies in: from so many on their keys are read first, and then what the page holds. */
  pageSpanRowsMax: 100_000,
};
