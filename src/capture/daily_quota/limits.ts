// Limits of how exact a project's daily quota is.

export const dailyQuotaLimits = {
  /** How often a process writes its counts and reads those of others, in ms. */
  dailyCountsMs: 2000,
  /** How long that may take, in ms; until it succeeds, a process knows of the others what it knew. */
  dailyCountsMsMax: 2000,
};
