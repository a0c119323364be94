// Bounds of remote configuration, with their units and reasons.

export const remoteConfigLimits = {
  /** Projects whose configuration is kept compressed with posthog-js, 120 kB each; others are compressed each time. */
  scriptBundlesMax: 64,
};
