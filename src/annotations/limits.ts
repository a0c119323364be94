// Bounds of annotations.

export const annotationLimits = {
  /** Characters, the same as PostHog's. */
  contentCharsMax: 400,
  /** Deleted ones count, too: ten a day for three years. */
  annotationsPerProjectMax: 10_000,
};
