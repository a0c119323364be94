// Bounds of queries, with their units and reasons.

export const queryLimits = {
  /** Queries that run at once; each may hold a core for querySecondsMax. */
  queriesRunningMax: 4,
  /** Queries that wait for one of those places, half of them of one project; more are told to come back. */
  queriesWaitingMax: 128,
  /** How long one waits, in ms, before it is told to come back: less than clients and proxies wait. */
  queriesWaitMsMax: 25_000,
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
};
