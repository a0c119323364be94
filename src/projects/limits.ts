// Bounds of a project's settings, with their units and reasons.

export const projectLimits = {
  /** Bytes of `test_account_filters` as JSON: every query that leaves test accounts out reads and compiles them. */
  testAccountFiltersBytesMax: 16_384,
  /** Projects on a page whose bytes are not counted before it is read: 10 MB of filters and settings at most. */
  uncheckedRowsMax: 100,
};
