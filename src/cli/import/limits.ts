// Bounds of `sluice import`, with their units and reasons.

export const importLimits = {
  /** Rows' bytes in one body of `sluice import`: well under BODY_BYTES_MAX, and cheap to send again. */
  importBodyBytesMax: 8 * 1024 * 1024,
  /** Rows in one such body: bounds the reply that lists ignored ones. */
  importBodyRowsMax: 50_000,
  /** One record of a file, in bytes: four times what the server takes, so that it can say why it does not. */
  importRecordBytesMax: 4 * 1024 * 1024,
  /** Bytes read to tell what is in a file. */
  importHeadBytesMin: 64 * 1024,
  /** Records without a uuid in one import: 8 bytes each, in a table of 1 GiB at the most. */
  importRecordsMax: 100_000_000,
  /** Bodies of an import on their way at once; each holds its memory. */
  importConcurrencyMax: 32,
  /** How often an import sends one body before it gives up: about three minutes of an ailing server. */
  importAttemptsMax: 12,
  /** The longest wait between two attempts, in ms, unless the server asks for more. */
  importWaitMsMax: 30_000,
  /** The longest wait a server may ask for, in ms. */
  importAskedWaitMsMax: 300_000,
  /** How long one request of an import may take, in ms: a slow disk is no failure. */
  importRequestMsMax: 120_000,
  /** The same for a question how far the server has stored, in ms. */
  importStoredMsMax: 10_000,
  /** How long an import waits to be readable while nothing more is stored, in ms: past it, something is wrong. */
  importReadableMsMax: 120_000,
  /** Rejected lines an import shows one by one, and as many ignored ones; the rest is counted. */
  importComplaintsMax: 20,
};
