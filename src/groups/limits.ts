// Limits of groups.

export const groupLimits = {
  /** Names of properties listed for one type of groups, the most frequent ones. */
  propertyNamesMax: 1000,
  /** Values listed for one property, the most frequent ones; PostHog's number. */
  propertyValuesMax: 20,
  /** UTF-16 units shown of one value: a list of values is no place for documents. */
  propertyValueCharsMax: 1000,
};
