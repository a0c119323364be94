// The bounds of subscriptions and what they deliver, with unit and reason; part of `limits`, and read only there.

export const deliveryLimits = {
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
  /** Insights of a dashboard in one delivery: more would be cut by mail clients. */
  reportInsightsMax: 10,
  /** Lines of one chart; more cannot be told apart. */
  reportSeriesMax: 8,
  /** Bars of one chart. */
  reportBarsMax: 12,
  /** Figures above one chart. */
  reportFiguresMax: 4,
  /** Rows and columns of one table in a delivery. */
  reportRowsMax: 31,
  reportColumnsMax: 6,
  /** Rows of each table where a delivery has several insights. */
  dashboardRowsMax: 8,
  /** Characters of one label or cell in a delivery. */
  reportCellCharsMax: 120,
  /** How long drawing one chart may take, in ms; usual is 20. */
  pictureMsMax: 10_000,
  /** Drawn charts kept for who is sent the same, about 40 kB each. */
  picturesKeptMax: 64,
  /** How long a webhook may take to answer, in ms. */
  webhookMsMax: 15_000,
  /** Characters of a webhook's answer that a delivery's error repeats. */
  answerCharsMax: 300,
  /** Characters of why one recipient was not delivered to. */
  deliveryErrorCharsMax: 1000,
  /** How often the end of an attempt is written when the store fails, and the pause in ms, which grows. */
  deliveryEndTriesMax: 4,
  deliveryEndRetryMs: 250,
  /** How long a mail server may take to connect and to greet, in ms. */
  smtpConnectMsMax: 10_000,
  /** How long it may be silent, in ms. */
  smtpSilenceMsMax: 15_000,
  /** How long it may take over one letter, in ms: less than a graceful stop waits. */
  smtpSendMsMax: 25_000,
  /** How long a connection to it is kept for the next letter, in ms. */
  smtpIdleMs: 2000,
  /** How often what is due is looked for, in ms: scheduled work starts within ten seconds. */
  deliveryLookMs: 1000,
  /** Subscriptions that fall due in one transaction. */
  dueAtOnceMax: 200,
  /** Deliveries under way at once in one process: they mostly wait for others' servers. */
  deliveriesAtOnceMax: 16,
  /** The time between two letters that are written, in ms: each takes about two, and capture comes first. */
  letterGapMs: 12,
  /** Insights read and charts drawn at once for deliveries, one of them for one project: capture needs the cores. */
  deliveryReadsMax: 2,
  /** Charts and insights that wait for that. */
  deliveryReadsWaitingMax: 1000,
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
  /** How long the links of a letter work, in ms: half a year. */
  letterLinkMs: 180 * 86_400_000,
} as const;
