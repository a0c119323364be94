// Bounds of the v1 capture protocol, with their units and reasons.

export const v1Limits = {
  /**
   * Events of one request of the v1 protocol, since each has its own answer: 50,000 make one of 6 MB. Below
   * ignoredListMax, so that every ignored one is listed. SDKs send 100 to 1,000.
   */
  v1EventsMax: 50_000,
  /** The same request after inflating, in bytes, as PostHog's: it is in memory twice for a moment. */
  v1InflatedBytesMax: 52_428_800,
  /** PostHog-Sdk-Info, in characters, which goes into every event of the request; real ones have 20. */
  sdkInfoCharsMax: 200,
};
