// Bounds of a project's settings, with their units and reasons.

export const projectLimits = {
  /** Bytes of `test_account_filters` as JSON: every query that leaves test accounts out reads and compiles them. */
  testAccountFiltersBytesMax: 16_384,
  /** Bytes of a project's settings without an effect as JSON: every reply about the project has them. */
  settingsBytesMax: 32_768,
  /** `daily_event_quota`, in events: the largest value of its column, 25,000 a second. */
  dailyEventQuotaMax: 2_147_483_647,
  /** Characters of a text in a setting that is a list: a long address. */
  settingTextCharsMax: 1000,
  /** Texts in a setting that is a list. */
  settingTextsMax: 100,
  /** Projects on a page whose bytes are not counted before it is read: 5 MB of filters and settings at most. */
  uncheckedRowsMax: 100,
};
