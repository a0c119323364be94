// Limits that several parts of batch exports share, with their units and reasons.

export const exportLimits = {
  /** Characters of an export's native_query: a hundred columns and their conditions. */
  exportQueryCharsMax: 10_000,
  /** Columns that it selects, and how deep its expressions may be nested. */
  exportColumnsMax: 200,
  exportQueryDepthMax: 50,
  /** Names, values, calls and operators in it: room for a pasted list of ids. */
  exportQueryPartsMax: 2000,
  /** Calls in it of functions that lengthen a text: nested calls multiply its length. */
  exportQueryGrowthMax: 4,
  /** N in "every N minutes": a day. */
  exportMinutesMax: 1440,
  /** Exports of one project. */
  exportsPerProjectMax: 1000,
  /** Runs of one backfill: ten years of hours. */
  backfillRunsMax: 100_000,
  /** Runs, backfills and log lines on one page by default, as in PostHog. */
  backfillsPageDefault: 50,
  logsPageDefault: 50,
  /** The pause after a run's failed attempt, in ms: doubles from the first to the last. */
  exportRetryMsMin: 2000,
  /** Memory of one statement of an export, in bytes: mostly buffers of files. */
  exportMemoryBytesMax: 3 * 1024 * 1024 * 1024,
  /** Characters of one line of an export's log. */
  exportLineCharsMax: 2000,
  /** How long log lines are kept, in ms: a month. */
  exportLogsAgeMsMax: 2_592_000_000,
};
