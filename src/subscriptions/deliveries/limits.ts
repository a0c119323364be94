// Bounds of deliveries, with their units and reasons.

export const deliveryLimits = {
  /** How often the end of an attempt is written when the store fails, and the pause in ms, which grows. */
  deliveryEndTriesMax: 4,
  deliveryEndRetryMs: 250,
  /** How often what is due is looked for, in ms: scheduled work starts within ten seconds. */
  deliveryLookMs: 1000,
  /** Subscriptions that fall due in one transaction. */
  dueAtOnceMax: 200,
  /** Deliveries under way at once in one process: they mostly wait for others' servers. */
  deliveriesAtOnceMax: 16,
  /** How long what was read for one delivery serves others of the same insight, in ms. */
  deliveryReadAgeMs: 30_000,
  /** What was read and is kept so. */
  deliveryReadsKeptMax: 100,
  /** How long reading what a delivery says may take, in ms: a dashboard of ten heavy insights, in a queue. */
  reportMsMax: 300_000,
  /** How long a delivery is one process's alone unless that says so again, in ms; longer than any send. */
  deliveryClaimMs: 60_000,
  /** The waits between attempts at one delivery, in ms, each give or take a fifth; then it has failed. */
  deliveryRetriesMs: [10_000, 60_000, 300_000, 1_200_000, 3_600_000],
  /** Scheduled deliveries that may fail in a row through the target's fault before a subscription is disabled. */
  deliveryFailuresMax: 5,
  /** Deliveries of one subscription that are remembered: three months of daily ones. */
  deliveriesKeptMax: 100,
};
