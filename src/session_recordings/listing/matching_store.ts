// The events of one session that match a filter of recordings: where a player jumps to.

import { toIso } from "../../http/fields/field_time.ts";
import type { ProjectReads } from "../../storage/clickhouse/query_options.ts";
import {
  compilePropertyFilters,
  propertyText,
  readsPersons,
  sessionOfEvent,
} from "../../storage/events/property_filter.ts";
import { sessionRecordingLimits } from "../limits.ts";
import type { RecordingRow } from "../store.ts";
import type { RecordingConditions } from "./conditions.ts";

const { sessionSecondsMax, matchingEventsMax } = sessionRecordingLimits;

/** The first events of the recording's session that one of `events` and all `properties` of events match. */
export async function listMatchingEvents(
  reads: ProjectReads,
  { session_id, start_time }: RecordingRow,
  { events, properties }: Pick<RecordingConditions, "events" | "properties">,
  moment: { now: number; timezone: string },
) {
  const params: Record<string, unknown> = { session_id, start_time };
  const compile = (filters: typeof properties, prefix: string) =>
    filters.length > 0 ? compilePropertyFilters(filters, params, prefix, moment) : "1";
  const anyOf = events.map(({ event, filters }, i) => {
    params[`event${i}`] = event ?? "";
    return `(({event${i}:String} = '' OR event = {event${i}:String}) AND ${compile(filters, `e${i}_`)})`;
  });
  const ofEvents = properties.filter(({ type }) => type === "event");
  const isOfPersons = readsPersons(events.flatMap(({ filters }) => filters));
  const start = "toDateTime64({start_time:String}, 6, 'UTC')";
  const rows = await reads.query<{ uuid: string; at: string; window_id: string }>(
    `SELECT toString(uuid) AS uuid, toString(timestamp) AS at, ifNull(${propertyText("'$window_id'")}, '') AS window_id
     FROM ${isOfPersons ? "events" : "stored_events"}
     WHERE project_id = {project_id:UInt32}
       AND timestamp BETWEEN ${start} - INTERVAL ${sessionSecondsMax} SECOND AND ${start} + INTERVAL ${
         2 * sessionSecondsMax
       } SECOND
       AND ${sessionOfEvent} = {session_id:String}
       AND (${anyOf.length > 0 ? anyOf.join(" OR ") : "1"}) AND ${compile(ofEvents, "p_")}
     ORDER BY timestamp, uuid LIMIT ${matchingEventsMax}`,
    params,
  );
  return rows.map(({ uuid, at, window_id }) => ({
    uuid,
    timestamp: toIso(new Date(`${at.replace(" ", "T")}Z`)),
    session_id,
    window_id: window_id || null,
  }));
}
