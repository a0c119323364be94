// Limits of decoding bodies, with their units and reasons.

export const decodeLimits = {
  /** Bytes of a body decoded in one turn of the event loop: about a millisecond. */
  decodeBytesMax: 256 * 1024,
  /** A chunk of inflated data, in bytes. */
  inflateChunkBytes: 256 * 1024,
  /** The bytes at the beginning of a text by which base64 is recognized. */
  base64CheckBytes: 128,
  /** White space skipped before an encoded body, in bytes; no known client sends any. */
  blanksBytesMax: 4096,
  /** Layers that are removed (form, base64, gzip, …): clients are known to double them, no more. */
  bodyLayersMax: 6,
  /** The longest text that is tried as lz-string without a hint, in bytes: bodies of browsers were short. */
  unhintedLzBytesMax: 65_536,
  /**
   * The ratio that a compressed body may reach beyond its first megabyte. Thousands of events that differ in a counter
   * or a timestamp reach 112 in gzip, 285 in zstd and 309 in brotli; with a uuid each 190; a gzip of one repeated event
   * 294. A bomb has 1,032 in gzip, 16,000 in zstd, 280,000 in brotli.
   */
  inflateRatioMax: 500,
  /** The size that is free of the ratio, in bytes: a blank canvas is one letter for hundreds of kilobytes. */
  inflateFreeBytes: 1_048_576,
  /** Bytes of an incomplete gzip body that are inflated to find its key. */
  gzipStartBytes: 4096,
};
