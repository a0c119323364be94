// Limits of personal API keys.

export const personalKeyLimits = {
  /** Keys that a user may create over HTTP; PostHog's number. */
  personalKeysMax: 10,
  /** Organizations or projects that one key may be restricted to. */
  keyScopesMax: 100,
};
