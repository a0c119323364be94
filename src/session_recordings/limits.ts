// Limits of session recordings.

import { limits } from "../core/limits.ts";

export const sessionRecordingLimits = {
  /** Recordings that one request may delete; PostHog's number. */
  recordingsDeletedAtOnceMax: 100,
  /** Newest rows that a list reads to find the days of its page. Beyond them, the list compares all recordings. */
  recordingRowsComparedMax: 100_000,
  /**
   * Extra recordings read for the first page, as a divisor of the limit: some began before midnight and are dropped.
   */
  recordingsRecycledDivisor: 12,
  /** Events of a session that match a filter: a player shows no more marks. */
  matchingEventsMax: 1000,
  /** Ids in a filter of recordings. */
  recordingIdsMax: 1000,
  /** Events in a filter of recordings: each costs a statement over the project's events. */
  eventFiltersMax: 10,
  /** UTF-16 units of an event's name in a filter: a name is a label, not a text. */
  eventNameCharsMax: 1000,
  /** Seconds between a recording's start and any event of its session: posthog-js ends a session after a day. */
  sessionSecondsMax: limits.dayMs / 1000,
  /** Sessions whose properties one request may read: each may have a megabyte. */
  propertiesOfSessionsMax: 100,
  /** Properties of persons on one page of recordings, in UTF-16 units: twenty-five of the largest persons. */
  recordingsPageCharsMax: 16 * 1024 * 1024,
  /** Deleted recordings that lists exclude by id until ClickHouse has hidden them, which takes seconds. */
  recordingsUnhiddenMax: 10_000,
  /** The latest viewed recordings that a list leaves out by id when asked: some 400 kB in its query. */
  recordingsViewedLeftOutMax: 10_000,
  /** Recently deleted recordings that lists exclude by id, since late pieces may arrive: 40 kB in each query. */
  recordingsLateLeftOutMax: 1000,
  /** A recording is ongoing while its last piece is younger than this, in ms; PostHog's number. */
  recordingOngoingMs: 300_000,
  /**
   * How long a change or deletion of an unknown recording waits until earlier arrivals are stored, in ms: a live flush
   * and the report of its journal take two seconds.
   */
  recordingUnknownMsMax: 4000,
  /** How often deleted recordings are hidden in ClickHouse, in ms. */
  recordingHideMs: 5000,
  /**
   * Milliseconds without a piece after which a recording that shows no page is listed as a warning: posthog-js's idle
   * limit, after which a session does not go on. Older ones than the second number are not.
   */
  recordingRestedMs: 1_800_000,
  recordingRestedMsMax: limits.dayMs,
  /** How often they are looked for, in ms, and how many of a project are listed each time. */
  recordingBlankPollMs: 300_000,
  recordingsBlankListedMax: 100,
  /** Deleted recordings hidden in one pass. */
  recordingsHiddenAtOnceMax: 1000,
  /** How long late pieces of a deleted recording are searched for, in ms: a session ends within a day. */
  recordingLateMsMax: 2 * limits.dayMs,
  /** How often late pieces are searched for, in ms. */
  recordingLatePollMs: 600_000,
  /**
   * Age of hidden rows at which their parts are rewritten, in ms. A rewrite copies whole parts, so it is rare; deleted
   * data must be gone within a day.
   */
  recordingRemovalAgeMs: limits.dayMs / 4,
  /** Timeout of hiding or removing, in ms: parts of many gigabytes are rewritten. */
  recordingRemovalMsMax: 3_600_000,
};
