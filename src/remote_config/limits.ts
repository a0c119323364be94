// Bounds of remote configuration, with their units and reasons.

export const remoteConfigLimits = {
  /** Compressed scripts of a configuration and posthog-js that are cached, 120 kB each. */
  scriptBundlesMax: 64,
};
