// Limits of the v1 capture protocol.

export const v1Limits = {
  /**
   * Events of one request: 50,000 make a reply of 6 MB, since each has its own result. Less than ignoredListMax, so
   * that every ignored event is listed. SDKs send 100 to 1,000.
   */
  v1EventsMax: 50_000,
  /** Bytes of a request after inflating; PostHog's number. For a moment the request is in memory twice. */
  v1InflatedBytesMax: 52_428_800,
  /** Memory of an event's uuid until its result is written, in two spellings, in bytes. */
  uuidBytes: 200,
  /** Characters of PostHog-Sdk-Info, which is copied to every event of the request; real ones have 20. */
  sdkInfoCharsMax: 200,
};
