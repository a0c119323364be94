// Bounds of events, with their units and reasons.

export const eventLimits = {
  /** Ignored events listed one by one in a verbose reply; the rest is only counted. */
  ignoredListMax: 100_000,
  /** Members of one event's $groups that are read: far more than types can be kept. */
  groupMembersMax: 64,
};
