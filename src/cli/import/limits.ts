// Bounds of `sluice import`, with their units and reasons.

export const importLimits = {
  /** Bytes of rows in one body: well under BODY_BYTES_MAX, and cheap to send again. */
  bodyBytesMax: 8 * 1024 * 1024,
  /** Rows in one body: bounds the reply, which lists ignored rows. */
  bodyRowsMax: 50_000,
  /** Bytes of one record of a file: four times what the server accepts, so that the server can return the reason. */
  recordBytesMax: 4 * 1024 * 1024,
  /** Bytes that are read to find the format of a file. */
  headBytesMin: 64 * 1024,
  /** Records without a uuid in one import: 8 bytes each, in a table of at most 1 GiB. */
  recordsMax: 100_000_000,
  /** Devices of an Amplitude export that are remembered: some 100 bytes each. */
  devicesMax: 1_000_000,
  /** Bodies sent at the same time; each holds its memory. */
  concurrencyMax: 32,
  /** How often one body is sent before the import fails: about three minutes with the waits between. */
  attemptsMax: 12,
  /** The longest wait between two attempts, in ms, by default; the server may demand more. */
  waitMsMax: 30_000,
  /** The longest wait that a server may ask for with Retry-After, in ms. */
  retryAfterMsMax: 300_000,
  /** How long one request may take, in ms: a server with a slow disk needs time. */
  requestMsMax: 120_000,
  /** How long one request for `/_stored` may take, in ms. */
  storedMsMax: 10_000,
  /** How long the import waits without progress until its events can be read, in ms. */
  readableMsMax: 120_000,
  /** Reasons of one reply that are counted, and the characters of each: the server has some forty, all short. */
  reasonsMax: 100,
  reasonCharsMax: 100,
  /** Rejected lines that are shown one by one, and as many ignored ones; the rest is counted. */
  linesShownMax: 20,
};
