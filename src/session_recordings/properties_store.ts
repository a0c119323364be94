// The properties of the first event of each of some sessions, as ClickHouse has them.

import { Fault } from "../core/fault.ts";
import { isTooBig } from "../storage/clickhouse/clickhouse.ts";
import { type ProjectReads, wholePageOptions } from "../storage/clickhouse/query_options.ts";
import { propertyText } from "../storage/events/property_filter.ts";

interface FirstEvent {
  session_id: string;
  /** JSON text. */
  properties: string;
}

/**
 * Sessions without events are left out. A session's start is its first event's moment, so that only the events of these
 * moments are read.
 * @throws Fault max_length when the properties exceed what a page may have.
 */
export async function readFirstProperties(
  reads: ProjectReads,
  session_ids: readonly string[],
): Promise<FirstEvent[]> {
  if (session_ids.length === 0) return [];
  const sessions = await reads.query<{ start: string }>(
    `SELECT DISTINCT toString(start_time) AS start FROM sessions
     WHERE project_id = {project_id:UInt32} AND session_id IN {session_ids:Array(String)}`,
    { session_ids },
  );
  if (sessions.length === 0) return [];
  const starts = sessions.map(({ start }) => start);
  const days = [...new Set(starts.map((start) => start.slice(0, 10)))];
  return await reads
    .query<FirstEvent>(
      `SELECT session_id, properties FROM (
         SELECT ifNull(${propertyText("'$session_id'")}, '') AS session_id, properties, timestamp, uuid
         FROM stored_events
         WHERE project_id = {project_id:UInt32} AND toDate(timestamp) IN {days:Array(Date)}
           AND timestamp IN (SELECT toDateTime64(arrayJoin({starts:Array(String)}), 6, 'UTC'))
           AND position(properties, '"$session_id"') > 0
       )
       WHERE session_id IN {session_ids:Array(String)}
       ORDER BY timestamp, uuid LIMIT 1 BY session_id`,
      { session_ids, starts, days },
      wholePageOptions,
    )
    .catch((thrown: unknown) => {
      if (!isTooBig(thrown)) throw thrown;
      const detail = "The properties of these sessions are too long for one reply. Ask for fewer sessions.";
      throw new Fault("max_length", detail, { attr: "session_ids" });
    });
}
