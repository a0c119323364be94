// Bounds of preparing accounts at the start, with their units and reasons.

export const accountLimits = {
  /** How long a start that found its stores away waits between tries to migrate them, in ms. */
  prepareAgainMs: 2000,
};
