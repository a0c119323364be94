// Bounds of subscriptions, with their units and reasons.

export const subscriptionLimits = {
  /** Characters of a subscription's target_value: fifty addresses. */
  targetCharsMax: 4096,
  /** Characters of a subscription's invite_message. */
  inviteCharsMax: 4000,
  /** Entries of byweekday: a week has no more. */
  weekdaysMax: 7,
  /** Addresses of one subscription; each gets an email of its own. */
  recipientsMax: 50,
  /** Subscriptions of one project, including deleted ones. */
  subscriptionsPerProjectMax: 20_000,
  /** Unfinished test deliveries of one subscription. */
  testDeliveriesMax: 5,
  /** Test deliveries of one project in a minute: each sends up to fifty emails. */
  testDeliveriesPerMinuteMax: 10,
  /** The least time from now to a computed next_delivery_date, in ms; the same as PostHog's. */
  deliveryLeadMs: 15 * 60_000,
  /** Characters of the error of one recipient. */
  deliveryErrorCharsMax: 1000,
  /** The time between composing two emails, in ms: each takes about 2 ms of the thread that captures events. */
  emailGapMs: 12,
  /** Insights and charts of deliveries that are computed at the same time; few, so that captures have the cores. */
  deliveryReadsMax: 2,
  /** Insights and charts that wait for that. */
  deliveryReadsWaitingMax: 1000,
  /** How long the links of an email work, in ms: half a year. */
  emailLinkMs: 180 * 86_400_000,
};
