// Bounds of subscriptions that several of its parts keep, with their units and reasons.

export const subscriptionLimits = {
  /** A subscription's target_value, in characters: fifty addresses. */
  targetCharsMax: 4096,
  /** A subscription's invite_message, in characters: a letter. */
  inviteCharsMax: 4000,
  /** Entries of byweekday: a week has no more. */
  weekdaysMax: 7,
  /** Addresses one subscription writes to; each gets a message of its own. */
  recipientsMax: 50,
  /** Subscriptions of one project, deleted ones too. */
  subscriptionsPerProjectMax: 20_000,
  /** Test deliveries of one subscription that may be under way at once. */
  testDeliveriesMax: 5,
  /** Test deliveries that a project may ask for in a minute: each writes to up to fifty addresses. */
  testDeliveriesPerMinuteMax: 10,
  /** The least time from now to a next_delivery_date that is computed, in ms; PostHog's number. */
  deliveryLeadMs: 15 * 60_000,
  /** Characters of why one recipient was not delivered to. */
  deliveryErrorCharsMax: 1000,
  /** The time between two letters that are written, in ms: each takes about two, and capture comes first. */
  letterGapMs: 12,
  /** Insights read and charts drawn at once for deliveries, one of them for one project: capture needs the cores. */
  deliveryReadsMax: 2,
  /** Charts and insights that wait for that. */
  deliveryReadsWaitingMax: 1000,
  /** How long the links of a letter work, in ms: half a year. */
  letterLinkMs: 180 * 86_400_000,
};
