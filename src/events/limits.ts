// Limits of the list of events.

export const eventListLimits = {
  /** Events on the days of a page above which its keys are read first, and its properties in blocks. */
  pageSpanRowsMax: 100_000,
};
