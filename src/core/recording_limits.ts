// The bounds of session recordings, with their units and reasons; a part of `limits`. Never read by itself.

export const recordingLimits = {
  /** A piece of a recording, in bytes: browsers send less than 1 MB unless one page alone is bigger. */
  snapshotBytesMax: 32 * 1024 * 1024,
  /**
   * Bytes of one that are read, hashed or copied before other requests get their turn: a millisecond or two, where they
   * are nothing but short events. Many senders have such a slice in one turn of the loop.
   */
  snapshotSliceBytesMax: 128 * 1024,
  /** Bytes of a long frame, which only they make, summed up between other requests' turns: about a millisecond. */
  sumBytesMax: 2 * 1024 * 1024,
  /** A number in a recording that is looked at (a moment, a kind), in bytes. */
  snapshotNumberBytesMax: 64,
  /** Bytes after which a segment of recordings is sealed: some 30 s of 200 recorders. */
  snapshotSegmentBytesMax: 32 * 1024 * 1024,
  /** Seconds of activity noted for one piece of a recording; recorders send every few seconds. */
  snapshotActiveSecondsMax: 3600,
  /** How far ahead of our clock a client's may be in a recording, in ms; a time beyond it is no time. */
  snapshotAheadMsMax: 7 * 86_400_000,
  /** A text in a recording that is looked at (an address, an id), in bytes. */
  snapshotTextBytesMax: 65_536,
  /** The word for what recorded, in characters: web or mobile. */
  snapshotSourceCharsMax: 32,
  /** A session's id, in characters: usually a UUID. */
  sessionIdCharsMax: 200,
  /** Characters of a recording's first address that are kept; PostHog's number. */
  startUrlCharsMax: 512,
  /** The part of the journal's room that recordings may fill, so that events always find some. */
  recordingsJournalShare: 0.5,
  /** Recordings deleted by one request; PostHog's number. */
  recordingsDeletedAtOnceMax: 100,
  /** The newest rows whose days a list looks at; further back, it compares all recordings: that takes longer. */
  recordingRowsComparedMax: 100_000,
  /** What part of a page is read beyond it, for those that began before midnight. */
  recordingsSpareShare: 12,
  /** Ids that a list of recordings may be narrowed to. */
  recordingIdsAskedMax: 1000,
  /** Properties of persons on one page of recordings, in UTF-16 units: twenty-five of the largest persons. */
  recordingsPageCharsMax: 16 * 1024 * 1024,
  /** Deleted recordings that lists leave out by name until ClickHouse has hidden them, which takes seconds. */
  recordingsUnhiddenMax: 10_000,
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
  /** Pieces of one recording that are shown: a day at one in two seconds. */
  snapshotChunksShownMax: 50_000,
  /** Bytes of one blob of a recording, before a single larger piece: what a player loads at once. */
  snapshotBlobBytesMax: 1_048_576,
  /** Bytes of one page of a recording; the rest is behind its `next`. */
  snapshotPageBytesMax: 4_194_304,
  /**
   * A piece that is shown, in bytes: browsers send less than 1 MB, or one full snapshot compressed; of a larger one its
   * reader is told the size.
   */
  snapshotShownBytesMax: 8 * 1024 * 1024,
  /** Pieces of one blob, and of one page. */
  snapshotBlobChunksMax: 1000,
  snapshotPageChunksMax: 4000,
  /** Events of a page, and of one piece: what it has beyond them is left out. Recorders send some hundreds a piece. */
  snapshotPageEventsMax: 32_768,
  /**
   * What all compressed parts of a page may become together, in bytes: several times the largest page that a browser
   * shows. Parts beyond it are handed on as they came.
   */
  snapshotPageInflatedBytesMax: 16 * 1024 * 1024,
  /** What the smallest of these parts counts as, in bytes: to inflate one takes a few microseconds. */
  snapshotInflateCostMin: 256,
  /** Nesting of what is inflated: a browser's document is at most 512 deep, and rrweb needs two levels for one. */
  snapshotDepthMax: 2048,
  /** Bytes of it that are walked through or checked before other requests get their turn: a millisecond or two. */
  snapshotWalkBytesMax: 64 * 1024,
  /** Parts of a reply that are joined before other requests get their turn, likewise. */
  snapshotPartsMax: 8192,
  /** Pages that are read and expanded at once: the engine reads each on one core, and holds it several times over. */
  snapshotReadsMax: 1,
  /** Readers who may wait for one of these places, or for bytes. */
  snapshotReadsWaitingMax: 200,
  /** How long they wait before they are sent away, in ms. */
  snapshotReadWaitMsMax: 10_000,
  /** Bytes of all pages that are expanded or being sent: three of the largest. */
  snapshotReadsBytesMax: 192 * 1024 * 1024,
  /** How long a reader may take to receive a page, in ms: it holds some of these bytes meanwhile. */
  snapshotSendMsMax: 60_000,
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
  dayMs: 86_400_000,
} as const;
