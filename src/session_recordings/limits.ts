// Bounds of session recordings that several of its parts keep, with their units and reasons.

export const sessionRecordingLimits = {
  /** Recordings deleted by one request; PostHog's number. */
  recordingsDeletedAtOnceMax: 100,
  /** The newest rows whose days a list looks at; further back, it compares all recordings: that takes longer. */
  recordingRowsComparedMax: 100_000,
  /** What part of a page is read beyond it, for those that began before midnight. */
  recordingsRecycledShare: 12,
  /** Ids that a list of recordings may be narrowed to. */
  recordingIdsAskedMax: 1000,
  /** Properties of persons on one page of recordings, in UTF-16 units: twenty-five of the largest persons. */
  recordingsPageCharsMax: 16 * 1024 * 1024,
  /** Deleted recordings that lists leave out by name until ClickHouse has hidden them, which takes seconds. */
  recordingsUnhiddenMax: 10_000,
  /** Recordings deleted lately that lists leave out by name, for pieces that came late: 40 kB of each question. */
  recordingsLateLeftOutMax: 1000,
  /** A recording goes on while its last piece is younger than this, in ms; PostHog's number. */
  recordingOngoingMs: 300_000,
  /** How often deleted recordings are looked for in ClickHouse, in ms. */
  recordingHideMs: 5000,
  /** Deleted recordings hidden in one go. */
  recordingsHiddenAtOnceMax: 1000,
  /** How long after a deletion late pieces of its session are looked for, in ms: sessions end within a day. */
  recordingLateMsMax: 2 * 86_400_000,
  /** How often they are looked for, in ms. */
  recordingLateLookMs: 600_000,
  /**
   * How long hidden rows may rest before the files they are in are written anew, in ms: it costs a rewrite of
   * whole parts, and everything deleted must be gone within a day.
   */
  recordingRemovalAgeMs: 6 * 3_600_000,
  /** How long hiding or removing may take, in ms: parts of many gigabytes are written anew. */
  recordingRemovalMsMax: 3_600_000,
};
