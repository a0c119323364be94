// Limits of batch exports, with their units and reasons.

import { assertRising, limits } from "../core/limits.ts";

export const exportLimits = {
  /** Characters of an export's native_query: a hundred columns and their conditions. */
  queryCharsMax: 10_000,
  columnsMax: 200,
  /** Names, values, calls and operators in it: enough for a pasted list of ids. */
  queryPartsMax: 2000,
  /** Calls in it of functions that lengthen a text: nested calls multiply its length. */
  queryGrowthMax: 4,
  /** N in "every N minutes": a day. */
  minutesMax: limits.dayMs / 60_000,
  exportsPerProjectMax: 1000,
  /** Runs of one backfill: ten years of hours. */
  backfillRunsMax: 100_000,
  /** Runs, backfills and log lines on one page by default, as in PostHog. */
  backfillsPageDefault: 50,
  logsPageDefault: 50,
  /** The pause after a run's failed attempt, in ms: doubles from the first to the last. */
  retryMsMin: 2000,
  /** Memory of one statement of an export, in bytes: mostly buffers of files. */
  memoryBytesMax: 3 * 1024 * 1024 * 1024,
  /** Bytes of rows that are sorted in memory, of that. */
  sortBytesMax: 512 * 1024 * 1024,
  lineCharsMax: 2000,
  /** How long log lines are kept, in ms: a month. */
  logsAgeMsMax: 30 * limits.dayMs,
  /** Characters of one text in an export's configuration: private keys are the longest. */
  settingCharsMax: 8192,
  /** Characters of a File export's path, and of its prefix: systems allow 4096 bytes for a whole path. */
  pathCharsMax: 1000,
  /** Bytes of an object's key: the limit of S3 and Azure. */
  keyBytesMax: 1024,
  /** Bytes of a folder's name: the limit of file systems. */
  folderBytesMax: 255,
  /** Names in an export's list of events. */
  namesMax: 1000,
  /** The largest size at which an export splits its files, in megabytes: an object of S3 may be larger. */
  fileMegabytesMax: 1_000_000,
  /** Tries of one request before the attempt fails; those to an object store have time limits in ms. */
  requestAttemptsMax: 4,
  storeConnectMsMax: 5000,
  storeRequestMsMax: 60_000,
  /** How long a presigned URL of S3 is valid, in seconds. */
  presignSecondsMax: 60,
  /** Parts of one file that are sent at once, 16 MiB and growing each. */
  storePartsAtOnceMax: 2,
  /** Bytes of one block of an Azure blob, two of which are in memory, and blocks of one blob: 390 GB. */
  azureBlockBytesMin: 8 * 1024 * 1024,
  azureBlocksMax: 50_000,
  /** Rows and bytes of a Parquet row group, which is in memory until it is written. */
  parquetGroupRowsMax: 100_000,
  parquetGroupBytesMax: 64 * 1024 * 1024,
  /** Files that one statement writes at once, each with its buffers; more files take further statements. */
  filesAtOnceMax: 8,
  /** Rows, and their bytes, that are compressed to estimate the ratio before files are split by size. */
  sampleRowsMax: 5000,
  sampleBytesMax: 4 * 1024 * 1024,
  /** Rows of one block of this sample: with the longest events some 32 MB. */
  sampleBlockRows: 32,
  /** Events in one request to an HTTP destination, and their bytes: well below the limits of PostHog's /batch. */
  postRowsMax: 1000,
  postBytesMax: 4 * 1024 * 1024,
  /** How long such a request may take, in ms. */
  postMsMax: 30_000,
  /**
   * Refused rows of one run that its log names, and refused tries, behind which the run fails: each refused row takes
   * two if its neighbours are refused, too, and up to eleven alone in a batch; so many take minutes.
   */
  refusedNamedMax: 100,
  refusedTriesMax: 20_000,
  /** Characters of an error that are searched for its reason: the expressions are not for megabytes. */
  errorCharsRead: 8192,
  /** Characters of the error of a run: enough for a reason, not for a stack. */
  reasonCharsMax: 1000,
  /** Runs on one page by default, as in PostHog. */
  runsPageDefault: 100,
  /** How often a process polls for due runs, in ms: a run starts within ten seconds. */
  tickMs: 1000,
  /** Runs of one process at once; each may hold a thread of ClickHouse, or wait for a slow destination. */
  runsAtOnceMax: 6,
  /** The lease of a run, in ms. */
  leaseMs: 20_000,
  /** How often the lease is renewed, in ms; a cancelled run stops within this time. */
  beatMs: 2000,
  /** Schedules and backfills that are advanced in one tick; the rest follow in the next. */
  exportsPerTickMax: 200,
  /** The longest pause after a run's failed attempt, in ms. */
  retryMsMax: 600_000,
  /** How long a run may be due, in ms, before it is marked as unservable. */
  untakenMsMax: 60_000,
  /** Failed attempts after which a run fails: about three hours. */
  attemptsMax: 25,
  /** Failed runs in a row after which an export is paused, as in PostHog. */
  failuresMax: 10,
  failuresAmong: 50,
  /** How long the order to delete a person may take to reach ClickHouse, in ms; exports of persons wait for it. */
  deletionMsMax: 5000,
  /** How often old log lines are deleted, in ms. */
  logsPollMs: 3_600_000,
  /** A backfill's run counts as two of its project's, so that scheduled runs get permits beside backfills. */
  backfillWeight: 2,
  /** Destinations tested at once, each for up to 30 s; how many more may wait, and how long, in ms. */
  probesAtOnceMax: 6,
  probesWaitingMax: 24,
  probeWaitMsMax: 15_000,
  /** How long creating an export waits for the columns of a Postgres's table, in ms. */
  tableMsMax: 3000,
};

const { filesAtOnceMax, parquetGroupBytesMax, memoryBytesMax, postBytesMax } = exportLimits;
assertRising(
  "files that are written at once fit the memory",
  filesAtOnceMax * parquetGroupBytesMax,
  memoryBytesMax,
);
assertRising(
  "a batch is accepted by a server of ours",
  limits.eventBytesMax,
  postBytesMax,
  limits.bodyBytesUsual,
);
