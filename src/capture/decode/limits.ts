// Bounds of unwrapping bodies, with their units and reasons.

export const decodeLimits = {
  /** Bytes of a wrapped body worked off between other requests' turns: about a millisecond. */
  decodeBytesMax: 256 * 1024,
  /** A piece of what is inflated, in bytes. */
  inflatePieceBytes: 256 * 1024,
  /** Letters at a text's beginning that tell base64 from anything else, in bytes. */
  base64LookBytes: 128,
  /** White space before a wrapped body that is looked past, in bytes; nobody sends any. */
  blanksLookBytes: 4096,
  /** Wrappings of one body taken off (form, base64, gzip, …): clients were seen doubling them, never more. */
  bodyLayersMax: 6,
  /** Letters that are tried as lz-string though nothing says so, in bytes: browsers' bodies were short. */
  unhintedLzBytesMax: 65_536,
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
};
