// The days on which events of a name happen, and how many: derived as sessions are, from the journal's own blocks or
// from stored events. The sets of uuids fold: deriving the same events again changes nothing.

import type { DerivedInsert } from "../clickhouse/clickhouse.ts";

/** Days before now for which events are counted. sql/clickhouse/0009_definitions.sql keeps as many. */
export const eventDaysCounted = 32;
const recent = `timestamp > now() - INTERVAL ${eventDaysCounted} DAY`;

/** Every event of a name counts in the row of day 0; recent ones also in the row of their day. */
const insert = (rows: string) => `INSERT INTO event_days (project_id, event, day, last, uuids)
SELECT
  project_id,
  event,
  arrayJoin(if(happened = toDate(0), [happened], [toDate(0), happened])) AS day,
  latest AS last,
  if(day = toDate(0), arrayReduce('uniqState', []::Array(UUID)), found) AS uuids
FROM (
  SELECT
    project_id,
    event,
    if(${recent}, toDate(timestamp), toDate(0)) AS happened,
    max(timestamp) AS latest,
    uniqStateIf(uuid, ${recent}) AS found
  FROM ${rows}
  GROUP BY project_id, event, happened
)`;

export const eventDaysOfBlocks: DerivedInsert = {
  structure: "uuid UUID, project_id UInt32, event LowCardinality(String), timestamp DateTime64(6, 'UTC')",
  text: insert,
};

/** The statement that derives the days of those stored events of which `which` is true. */
export const insertStoredEventDays = (which: string): string =>
  insert(`(SELECT uuid, project_id, event, timestamp FROM event_rows WHERE ${which})`);
