// Bounds of batch exports; part of limits.ts, where everybody reads them. Never read from here.

export const exportLimits = {
  /** Characters of one text in an export's configuration: private keys are the longest. */
  exportSettingCharsMax: 8192,
  /** Names in an export's list of events. */
  exportNamesMax: 1000,
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
  /** The largest file an export splits at, in megabytes: what one object of S3 may hold is more. */
  exportFileMegabytesMax: 1_000_000,
  /** Exports of one project. */
  exportsPerProjectMax: 1000,
  /** Runs of one backfill: ten years of hours. */
  backfillRunsMax: 100_000,
  /** Runs and backfills on one page; PostHog's numbers. */
  runsPageMax: 100,
  backfillsPageMax: 50,
  /** Lines of logs on one page, unless asked and at most; PostHog's numbers. */
  logsPageDefault: 50,
  logsPageMax: 500,
} as const;
