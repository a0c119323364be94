// Limits of groups.

export const groupLimits = {
  /** Names of properties listed for one type of groups, the most frequent ones. */
  propertyNamesMax: 1000,
};
