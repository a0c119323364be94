// Bounds of the memory that request bodies take, each with its unit and its reason; a part of `limits`. Never read by
// itself.

export const memoryLimits = {
  /**
   * Bytes of all request bodies in memory at once: received, inflated, decoded and indexed, of all workers together.
   * With the arenas that wait for the next body, the whole server grows by less than 600 MB.
   */
  bodyMemoryBytes: 256 * 1024 * 1024,
  /** The least a worker has of them, in largest bodies: one, and some room for others beside it. */
  bodyMemoryLargestMin: 1.25,
  /** The part of them that one project's bodies may take, and those whose project is not known yet. */
  bodyMemoryShare: 5 / 8,
  /** The part that bodies longer than wholeBodyBytesMax may take: live events find room beside any import. */
  bodyMemoryLongShare: 13 / 16,
  /** The same for all but short bodies (slabBodyBytesMin), which most live events come in. */
  bodyMemoryUsualShare: 15 / 16,
  /** How long a long body may wait for memory before any of it is read, in ms: importers rather wait than retry. */
  bodyMemoryWaitMsMax: 10_000,
  /** Bodies that may wait so: of each, one chunk was read, of up to half a megabyte. */
  bodyMemoryWaitingMax: 64,
  /** When a client that found no memory may come again, in seconds: a long body is stored in less. */
  bodyMemoryRetrySeconds: 2,
  /**
   * What a compressed body may become beyond a megabyte, for each byte of it that was read. Thousands of events
   * that differ in a counter or a timestamp reach 112 in gzip, 285 in zstd and 309 in brotli; with a uuid each 190;
   * a gzip of one event over and over 294. A bomb has 1,032 in gzip, 16,000 in zstd, 280,000 in brotli.
   */
  inflateRatioMax: 500,
  /** What any compressed body may become, in bytes: a blank canvas is one letter for hundreds of kilobytes. */
  inflateFreeBytes: 1_048_576,
  /** Long bodies that are inflated at once, each in a thread of the runtime; and how many may wait for a place. */
  inflatesAtOnceMax: 3,
  inflatesWaitingMax: 256,
  /** What the body of a request for flags or configuration may become, in bytes: it holds one person's properties. */
  keyBodyInflatedBytesMax: 1_048_576,
  /** Bytes in which the key of a long body is looked for before the rest is taken. */
  firstPieceBytes: 256 * 1024,
  /** A text longer than this is parsed in a turn of its own, in characters or bytes: a megabyte takes some 5 ms. */
  parseAtOnceCharsMax: 65_536,
  /** Chunks of a body shorter than this are copied together, in bytes: single bytes would weigh 100 times as much. */
  chunkBytesMin: 64 * 1024,
} as const;
