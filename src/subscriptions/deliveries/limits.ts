// Bounds of deliveries, with their units and reasons.

export const deliveryLimits = {
  /** How often writing the end of an attempt is tried, and the pause between in ms, times the number of tries. */
  deliveryEndTriesMax: 4,
  deliveryEndRetryMs: 250,
  /** The time between two looks for due subscriptions, in ms: deliveries must start within ten seconds. */
  deliveryLookMs: 1000,
  /** Subscriptions that one transaction turns into deliveries. */
  dueAtOnceMax: 200,
  /** Attempts at the same time in one process: they mostly wait for other servers. */
  deliveriesAtOnceMax: 16,
  /** How long a result that was read for one delivery is used for others of the same insight, in ms. */
  deliveryReadAgeMs: 30_000,
  /** Results that are cached for that. */
  deliveryReadsKeptMax: 100,
  /** How long making one report may take, in ms: a dashboard of ten heavy insights that wait for each other. */
  reportMsMax: 300_000,
  /** How long a process's claim on a delivery holds unless it is extended, in ms; longer than any send. */
  deliveryClaimMs: 60_000,
  /** The waits between attempts at one delivery, in ms, each ± 20 %; after the last one it has failed. */
  deliveryRetriesMs: [10_000, 60_000, 300_000, 1_200_000, 3_600_000],
  /** Consecutive failures of scheduled deliveries, caused by the target, that disable a subscription. */
  deliveryFailuresMax: 5,
  /** Deliveries of one subscription that are kept: three months of daily ones. */
  deliveriesKeptMax: 100,
};
