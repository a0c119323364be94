// The newest events of a project, for the pages that follow it.

import type { EventRow } from "../query/events/columns.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import { consoleLimits } from "./limits.ts";

/** The events that a page follows; undefined: all. */
export interface Followed {
  project_id: number;
  event: string | undefined;
  distinct_id: string | undefined;
}

/** Properties longer than consoleLimits.propertiesBytesMax are empty. */
export interface NewEvent extends Omit<EventRow, "person_id"> {
  /** Bytes of all its properties. */
  properties_bytes: number;
}

/**
 * Events that arrived after `since`, newest first. Rows are read with their duplicates: pages drop those, and a view
 * without duplicates would read more than the newest rows.
 */
export async function newestEvents(
  clickhouse: ClickHouse,
  { project_id, event, distinct_id }: Followed,
  since: string,
): Promise<NewEvent[]> {
  const clauses = [
    "project_id = {project_id:UInt32}",
    "event_rows.created_at > toDateTime64({since:String}, 6, 'UTC')",
    ...(event === undefined ? [] : ["event = {event:String}"]),
    ...(distinct_id === undefined ? [] : ["distinct_id = {distinct_id:String}"]),
  ];
  const where = clauses.join(" AND ");
  return await clickhouse.query<NewEvent>(
    // The time of the oldest one is read first: of an import's millions of rows, no properties are read.
    `WITH (
       SELECT min(at) FROM (
         SELECT event_rows.created_at AS at FROM event_rows WHERE ${where} ORDER BY at DESC LIMIT {limit:UInt32}
       )
     ) AS oldest
     SELECT toString(uuid) AS uuid, event, distinct_id,
       if(length(event_rows.properties) > {bytes:UInt32}, '', event_rows.properties) AS properties,
       toUInt32(length(event_rows.properties)) AS properties_bytes,
       toString(timestamp) AS timestamp, toString(created_at) AS created_at
     FROM event_rows WHERE ${where} AND event_rows.created_at >= oldest
     ORDER BY event_rows.created_at DESC LIMIT {limit:UInt32}`,
    {
      project_id,
      since,
      bytes: consoleLimits.propertiesBytesMax,
      limit: consoleLimits.newestMax,
      ...(event !== undefined && { event }),
      ...(distinct_id !== undefined && { distinct_id }),
    },
    {
      timeoutMs: consoleLimits.newestMsMax,
      // One thread: all cores for an open page would slow capture down.
      settings: {
        max_threads: 1,
        max_execution_time: consoleLimits.newestMsMax / 1000,
        date_time_output_format: "simple",
      },
    },
  );
}
