// Bounds of subscriptions, with their units and reasons.

import { limits } from "../core/limits.ts";

export const subscriptionLimits = {
  /** Characters of a subscription's target_value: fifty addresses. */
  targetCharsMax: 4096,
  inviteCharsMax: 4000,
  /** Entries of byweekday: a week has no more. */
  weekdaysMax: 7,
  /** Deliveries until one ends by itself: every day for 27 years. All are computed anew for each date. */
  occurrencesMax: 10_000,
  /** Addresses of one subscription; each gets an email of its own. */
  recipientsMax: 50,
  /** Deleted ones count, too. */
  subscriptionsPerProjectMax: 20_000,
  /** Unfinished test deliveries of one subscription. */
  testDeliveriesMax: 5,
  /** Test deliveries of one project in a minute: each sends up to fifty emails. */
  testDeliveriesPerMinuteMax: 10,
  /** The least time from now to a computed next_delivery_date, in ms; the same as PostHog's. */
  deliveryLeadMs: 15 * 60_000,
  deliveryErrorCharsMax: 1000,
  /** The time between composing two emails, in ms: each takes about 2 ms of the thread that captures events. */
  emailGapMs: 12,
  /** Insights and charts of deliveries that are computed at the same time; few, so that captures have the cores. */
  deliveryReadsMax: 2,
  /** Insights and charts that wait to be computed. */
  deliveryReadsWaitingMax: 1000,
  /** How long the links of an email work, in ms: half a year. */
  emailLinkMs: 180 * limits.dayMs,
  /** How long a webhook may take to answer, in ms. */
  webhookMsMax: 15_000,
  /** How long a mail server may take to connect and to greet, in ms. */
  smtpConnectMsMax: 10_000,
  /** How long a mail server may send nothing, in ms. */
  smtpSilenceMsMax: 15_000,
  /** How long one email may take, in ms: less than its claim lasts. */
  smtpSendMsMax: 25_000,
  /** How long an idle connection is kept for the next email, in ms. */
  smtpIdleMs: 2000,
  /** The time between two polls for due subscriptions, in ms: deliveries must start within ten seconds. */
  deliveryPollMs: 1000,
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
  /** How long a claim on a delivery lasts unless it is renewed, in ms; longer than any send. */
  deliveryClaimMs: 60_000,
  /** The waits between attempts at one delivery, in ms, each ± 20 %; after the last one it has failed. */
  deliveryRetriesMs: [10_000, 60_000, 300_000, 1_200_000, 3_600_000],
  /** Consecutive failures of scheduled deliveries, caused by the target, that disable a subscription. */
  deliveryFailuresMax: 5,
  /** Deliveries of one subscription that are kept: three months of daily ones. */
  deliveriesKeptMax: 100,
  /** Insights of a dashboard in one delivery: mail clients cut longer emails. */
  reportInsightsMax: 10,
  /** Insights that a subscription of a dashboard names, as at PostHog. */
  chosenInsightsMax: 6,
  /** Lines of one chart: more colours cannot be distinguished. */
  reportSeriesMax: 8,
  reportBarsMax: 12,
  reportFiguresMax: 4,
  /** Rows and columns of one table in a delivery. */
  reportRowsMax: 31,
  reportColumnsMax: 6,
  /** Rows of each table when a delivery has several insights. */
  dashboardRowsMax: 8,
  /** Characters of one label or cell in a delivery. */
  reportCellCharsMax: 120,
  /** How long drawing one chart may take, in ms; usually it takes 20. */
  pictureMsMax: 10_000,
  /** Cached PNGs of charts, about 40 kB each. */
  picturesKeptMax: 64,
};
