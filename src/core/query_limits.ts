// Bounds of queries, insights and dashboards; part of limits.ts, where everybody reads them. Never read from here.

export const queryLimits = {
  /** A list's count of so many rows or more is kept for the next who asks; a smaller one takes a millisecond. */
  countKeptMin: 10_000,
  /** How old such a count may get, in ms, and from which age on it is taken anew while the old one is shown. */
  countKeptMs: 5000,
  countFreshMs: 2000,
  /** Projects whose counts are kept, and questions of each: some 200 bytes a count. */
  countProjectsMax: 1000,
  countQuestionsMax: 50,
  /** Series of one trend, steps of one funnel; each series is a statement of its own. */
  querySeriesMax: 26,
  /** Intervals on a query's time axis: a year of hours, and a reply of some hundred kB. */
  queryBucketsMax: 10_000,
  /** Numbers in one trend's reply, over all its lines: about 4 MB of JSON. */
  queryNumbersMax: 250_000,
  /** Values of a breakdown shown as lines of their own, unless asked, and at most. */
  breakdownValuesDefault: 25,
  breakdownValuesMax: 200,
  /** Intervals of a retention table, whose cells grow with their square. */
  retentionIntervalsMax: 100,
  /** Columns of one list of events. */
  queryColumnsMax: 50,
  /** Rows of one list of events. */
  queryRowsMax: 1000,
  /** Properties on one page of events, in bytes: reading them must not hold up a capture beside it. */
  queryPageBytesMax: 16 * 1024 * 1024,
  /** Insights of one project, without deleted ones; PostHog's largest teams have a few thousand. */
  insightsPerProjectMax: 10_000,
  /** Dashboards of one project, without deleted ones. */
  dashboardsPerProjectMax: 2000,
  /** Insights on one dashboard: reading it with results runs them all. */
  insightsPerDashboardMax: 100,
  /** Dashboards that show one insight. */
  dashboardsOfInsightMax: 100,
  /** Tags of an insight or a dashboard. */
  tagsMax: 50,
  /** How long a dashboard's insights may be run for one reply, in seconds; the rest is said to be late. */
  dashboardSecondsMax: 30,
} as const;
