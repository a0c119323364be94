// Bounds of batch exports that several of its parts keep, with their units and reasons.

export const exportLimits = {
  /** Characters of an export's native_query: a hundred columns and their conditions. */
  exportQueryCharsMax: 10_000,
  /** Columns it selects, and how deeply its expressions nest. */
  exportColumnsMax: 200,
  exportQueryDepthMax: 50,
  /** Names, values, calls and operators in it: a pasted list of ids. */
  exportQueryPartsMax: 2000,
  /** Functions in it that may make a text several times longer: nested, they multiply. */
  exportQueryGrowthMax: 4,
  /** N of "every N minutes": a day. */
  exportMinutesMax: 1440,
  /** Exports of one project. */
  exportsPerProjectMax: 1000,
  /** Runs of one backfill: ten years of hours. */
  backfillRunsMax: 100_000,
  /** Runs, backfills and lines of logs on one page, unless asked; PostHog's numbers. */
  backfillsPageDefault: 50,
  logsPageDefault: 50,
  /** The pause after a run's failed attempt, in ms: doubles from the first to the last. */
  exportRetryMsMin: 2000,
  /** What one statement of an export may hold in memory, in bytes: files being written, most of all. */
  exportMemoryBytesMax: 3 * 1024 * 1024 * 1024,
  /** Characters of one line of an export's log: a reason, and what stands around it. */
  exportLineCharsMax: 2000,
  /** How long lines said by runs are kept, in ms: a month. */
  exportLogsAgeMsMax: 2_592_000_000,
};
