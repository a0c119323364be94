// Bounds of the AI helpers, with their units and reasons.

export const aiLimits = {
  /** A prompt, in characters: all messages of it together. */
  promptCharsMax: 20_000,
  promptMessagesMax: 50,
  /** How long a language model may take, in ms: people wait for it. */
  completionMsMax: 30_000,
  /** What it may answer, in bytes. */
  completionBytesMax: 262_144,
  /** Characters of why it gave none, in the log. */
  completionReasonCharsMax: 500,
  /** Conditions in one set of filters that it may make, and values of one of them. */
  promptedFiltersMax: 50,
  /** Characters of a text inside its answer; a regular expression is one. */
  promptedTextCharsMax: 2000,
  /** Questions to the language model at once; how many wait for that, and how long, in ms. */
  completionsAtOnceMax: 8,
  completionsWaitingMax: 64,
  completionWaitMsMax: 15_000,
};
