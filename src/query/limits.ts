// Bounds of queries, with their units and reasons.

export const queryLimits = {
  /** Queries that run at the same time; each may use a core for querySecondsMax. */
  queriesRunningMax: 4,
  /** Queries that wait to run, at most half of them of one project; more get 503. */
  queriesWaitingMax: 128,
  /** How long a query waits to run before it gets 503, in ms: shorter than clients and proxies wait. */
  queriesWaitMsMax: 25_000,
  /** Series of one trend, steps of one funnel; each series is a statement of its own. */
  querySeriesMax: 26,
  /** Intervals of a query's date range: a year of hours, and a reply of some hundred kB. */
  queryBucketsMax: 10_000,
  /** Numbers in the reply of one trend, over all its lines: about 4 MB of JSON. */
  queryNumbersMax: 250_000,
  /** Values of a breakdown that get a line of their own: the default, and the most that can be requested. */
  breakdownValuesDefault: 25,
  breakdownValuesMax: 200,
  /** Intervals of a retention table; its cells grow with their square. */
  retentionIntervalsMax: 100,
  /** Columns of one list of events. */
  queryColumnsMax: 50,
  /** Rows of one list of events. */
  queryRowsMax: 1000,
  /** Bytes of properties on one page of events: reading them must not delay captures. */
  queryPageBytesMax: 16 * 1024 * 1024,
};
