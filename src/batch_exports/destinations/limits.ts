// Bounds of destinations, with their units and reasons.

export const destinationLimits = {
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
  /** The largest file an export splits at, in megabytes: what one object of S3 may hold is more. */
  exportFileMegabytesMax: 1_000_000,
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
  /** Characters of why a run failed: enough to say what is wrong, too little for a stack. */
  exportReasonCharsMax: 1000,
};
