// Bounds of persons and their deletion, with their units and reasons.

export const personLimits = {
  /** How old the table of known types may get before it is read again, in ms. */
  groupTypesAgeMsMax: 10_000,
  /** Merged ids mirrored to ClickHouse in one insert. */
  mirrorRowsMax: 20_000,
  /** A person's properties in a reply, in bytes, as PostHog keeps; the latest changed come first. */
  personBytesMax: 655_360,
  /** Keys of a person of many ids that are looked at, the latest changed: more than anybody reads. */
  personKeysMax: 10_000,
  /** A person's distinct ids in a reply; the others are listed page by page. */
  distinctIdsShownMax: 1000,
  /** Readings of such persons at once, each on two threads of the engine; how many may wait, and how long, in ms. */
  largePersonReadsMax: 2,
  largePersonReadsWaitingMax: 64,
  largePersonWaitMs: 30_000,
  /** Merged ids of one page of persons that are read one by one, some 3 MB; of more the engine picks what counts. */
  mergedIdsReadMax: 20_000,
  /** One statement of a deletion, in ms: all parts of a large table may be touched. */
  deletionMsMax: 600_000,
  /** How often ordered deletions are looked at, in ms, and how many at once. */
  deletionLookMs: 2000,
  deletionsAtOnce: 100,
  /** After how many days a journal that was never seen again holds no deletion up. */
  journalGoneDays: 30,
  /** How long a deleted project's key may still work in some process, in seconds, with time to arrive. */
  goneKeySeconds: 60,
  /** Changes of persons folded between other requests' turns: a few ms. */
  changesFoldedMax: 2000,
};
