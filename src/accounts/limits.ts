// Bounds of preparing the stores at the start, with their units and reasons.

export const accountLimits = {
  /** The time between two tries to prepare stores that do not answer, in ms. */
  prepareAgainMs: 2000,
};
