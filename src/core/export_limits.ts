// Bounds of batch exports; part of limits.ts, where everybody reads them. Never read from here.

export const exportLimits = {
  /** Characters of one text in an export's configuration: private keys are the longest. */
  exportSettingCharsMax: 8192,
  /** Characters of a File export's path, and of its prefix: systems take 4096 bytes for a whole path. */
  exportPathCharsMax: 1000,
  /** Bytes of a file's whole name in an object store: what S3 and Azure take. */
  exportKeyBytesMax: 1024,
  /** Bytes of a folder's name: what file systems take. */
  exportFolderBytesMax: 255,
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
  /** Runs, backfills and lines of logs on one page, unless asked; PostHog's numbers. */
  runsPageDefault: 100,
  backfillsPageDefault: 50,
  logsPageDefault: 50,
  /** How often exports look for what has fallen due, in ms: a run starts within ten seconds. */
  exportTickMs: 1000,
  /** Runs of one process at once; each may hold one thread of ClickHouse, or wait for a slow destination. */
  exportRunsAtOnceMax: 6,
  /** How long a run belongs to a process that does not say it lives, in ms. */
  exportLeaseMs: 20_000,
  /** How often it says so, in ms; also how soon a cancelled run stops. */
  exportBeatMs: 2000,
  /** A journal unseen for so long, in ms, holds exports up no longer: its process is gone for good. */
  journalUnseenMsMax: 300_000,
  /** How far clocks of processes and of Postgres may be apart, in ms, where they have to be compared. */
  journalClockMsMax: 10_000,
  /** Schedules and backfills moved on in one look; the rest has its turn in the next. */
  exportsPerTickMax: 200,
  /** The pause after a run's failed attempt, in ms: doubles from the first to the last. */
  exportRetryMsMin: 2000,
  exportRetryMsMax: 600_000,
  /** How often a run's end is written when the store fails, and the pause in ms, which grows: less than a lease. */
  exportEndTriesMax: 4,
  exportEndRetryMs: 500,
  /** How long a run may be due, in ms, before it says that no process can serve its destination. */
  exportUntakenMsMax: 60_000,
  /** Failed attempts after which a run is given up: about three hours. */
  exportAttemptsMax: 25,
  /** An export whose last runs failed so often is paused; PostHog's numbers. */
  exportFailuresMax: 10,
  exportFailuresAmong: 50,
  /** What one statement of an export may hold in memory, in bytes: files being written, most of all. */
  exportMemoryBytesMax: 3 * 1024 * 1024 * 1024,
  /** Tries of one request to an object store, and its time limits in ms: by default a dead one hangs for minutes. */
  storeRequestAttemptsMax: 4,
  storeConnectMsMax: 5000,
  storeRequestMsMax: 60_000,
  /** How long an address that S3 is asked at for a status is good for, in seconds. */
  presignSecondsMax: 60,
  /** Parts of one file on their way at once, 16 MiB and growing each. */
  storePartsAtOnceMax: 2,
  /** Bytes of one block of an Azure blob: two of them rest in memory. A blob has so many at most: 390 GB. */
  azureBlockBytesMin: 8 * 1024 * 1024,
  azureBlocksMax: 50_000,
  /** Rows and bytes of a Parquet row group: it rests in memory until it is written. */
  parquetGroupRowsMax: 100_000,
  parquetGroupBytesMax: 64 * 1024 * 1024,
  /** Files one statement writes at once, each with its buffers; more files are written by further statements. */
  exportFilesAtOnceMax: 8,
  /** Rows compressed to learn how far they shrink, and their bytes, before files are split by size. */
  exportSampleRowsMax: 5000,
  exportSampleBytesMax: 4 * 1024 * 1024,
  /** Rows of one block of the sample: of the longest events some 32 MB. */
  exportSampleBlockRows: 32,
  /** Events in one request to an HTTP destination, and their bytes: what PostHog's own /batch takes easily. */
  exportPostRowsMax: 1000,
  exportPostBytesMax: 4 * 1024 * 1024,
  /** How long such a request may take, in ms, and how often it is tried before the run waits. */
  exportPostMsMax: 30_000,
  exportPostAttemptsMax: 4,
  /** How long a destination's Postgres may take over one statement, in ms: a big table without an index. */
  exportCopyMsMax: 3_600_000,
  /** Characters of why a run failed: enough to say what is wrong, too little for a stack. */
  exportReasonCharsMax: 1000,
  /** Characters of one line of an export's log: a reason, and what stands around it. */
  exportLineCharsMax: 2000,
  /** How long lines said by runs are kept, in ms: a month. */
  exportLogsAgeMsMax: 2_592_000_000,
  /** How often older ones are dropped, in ms. */
  exportLogsLookMs: 3_600_000,
} as const;
