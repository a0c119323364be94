// Limits of destinations, with their units and reasons.

export const destinationLimits = {
  /** Characters of one text in an export's configuration: private keys are the longest. */
  exportSettingCharsMax: 8192,
  /** Characters of a File export's path, and of its prefix: systems allow 4096 bytes for a whole path. */
  exportPathCharsMax: 1000,
  /** Bytes of an object's key: the limit of S3 and Azure. */
  exportKeyBytesMax: 1024,
  /** Bytes of a folder's name: the limit of file systems. */
  exportFolderBytesMax: 255,
  /** Names in an export's list of events. */
  exportNamesMax: 1000,
  /** The largest size at which an export splits its files, in megabytes: an object of S3 may be larger. */
  exportFileMegabytesMax: 1_000_000,
  /** Tries of one request to an object store, and its time limits in ms: by default a dead store hangs for minutes. */
  storeRequestAttemptsMax: 4,
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
  exportFilesAtOnceMax: 8,
  /** Rows, and their bytes, that are compressed to estimate the ratio before files are split by size. */
  exportSampleRowsMax: 5000,
  exportSampleBytesMax: 4 * 1024 * 1024,
  /** Rows of one block of this sample: with the longest events some 32 MB. */
  exportSampleBlockRows: 32,
  /** Events in one request to an HTTP destination, and their bytes: well below the limits of PostHog's /batch. */
  exportPostRowsMax: 1000,
  exportPostBytesMax: 4 * 1024 * 1024,
  /** How long such a request may take, in ms, and its tries before the attempt fails. */
  exportPostMsMax: 30_000,
  exportPostAttemptsMax: 4,
  /** Characters of the error of a run: enough for a reason, not for a stack. */
  exportReasonCharsMax: 1000,
};
