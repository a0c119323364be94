// Bounds of personal API keys, with their units and reasons.

export const personalKeyLimits = {
  /** Personal keys a user may issue over HTTP; PostHog's number. */
  personalKeysMax: 10,
  /** Organizations or projects one key may be held to. */
  keyScopesMax: 100,
};
