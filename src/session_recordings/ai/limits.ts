// Limits of the language model's helpers: filters and regular expressions from words.

export const aiLimits = {
  promptCharsMax: 20_000,
  promptMessagesMax: 50,
  /** Time for one answer, in ms: a person waits for it. */
  completionMsMax: 30_000,
  completionBytesMax: 262_144,
  /** Characters of a failure's reason in the log. */
  completionReasonCharsMax: 500,
  /** Conditions in one set of filters of an answer, and values of one condition. */
  promptedFiltersMax: 50,
  /** Characters of one text in an answer, such as a regular expression. */
  promptedTextCharsMax: 2000,
  /** Requests to the language model at once; requests that wait for one to end, and how long, in ms. */
  completionsAtOnceMax: 8,
  completionsWaitingMax: 64,
  completionWaitMsMax: 15_000,
};
