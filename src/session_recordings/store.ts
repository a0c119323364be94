// Queries in ClickHouse for recordings: their metadata, not their content.

import { Fault } from "../core/fault.ts";
import { type ClickHouse, isTooBig } from "../storage/clickhouse/clickhouse.ts";
import { type ProjectReads, wholePageOptions } from "../storage/clickhouse/query_options.ts";
import { sessionOfEvent } from "../storage/events/property_filter.ts";
import { sessionRecordingLimits } from "./limits.ts";
import type { Recording } from "./model.ts";

/** A recording as stored, named as in replies. Times are `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC. */
export interface RecordingRow extends Omit<Recording, "id" | "viewed" | "person" | "ongoing"> {
  session_hash: string;
  session_id: string;
  last_received_at: string;
}

/** The row of a session without pieces. Its times are the epoch. */
export function emptyRecording(session_id: string): RecordingRow {
  const none = "1970-01-01 00:00:00.000000";
  return {
    session_hash: "0",
    session_id,
    last_received_at: none,
    distinct_id: "",
    recording_duration: 0,
    active_seconds: 0,
    inactive_seconds: 0,
    start_time: none,
    end_time: none,
    click_count: 0,
    keypress_count: 0,
    mouse_activity_count: 0,
    console_log_count: 0,
    console_warn_count: 0,
    console_error_count: 0,
    start_url: "",
    snapshot_source: "unknown",
    storage: "",
    activity_score: 0,
  };
}

const selected = `SELECT ${Object.keys(emptyRecording("")).join(", ")} FROM session_recordings
  WHERE project_id = {project_id:UInt32}`;
export const ofSessions = `session_hash IN (SELECT sipHash64(arrayJoin({session_ids:Array(String)})))
  AND session_id IN {session_ids:Array(String)}`;

/** The recordings of these sessions, in no order. */
export async function findRecordings(reads: ProjectReads, session_ids: readonly string[]) {
  if (session_ids.length === 0) return [];
  return await reads.query<RecordingRow>(`${selected} AND ${ofSessions}`, { session_ids });
}

/** The recordings with these session hashes, in no order. */
export async function readRows(reads: ProjectReads, hashes: readonly string[]): Promise<RecordingRow[]> {
  if (hashes.length === 0) return [];
  const params = { hashes: hashes.map(BigInt) };
  return await reads.query<RecordingRow>(`${selected} AND session_hash IN {hashes:Array(UInt64)}`, params);
}

/** Recorded distinct ids whose own person this is: for a person without events. */
export async function findDistinctIds(reads: ProjectReads, person_id: string): Promise<string[]> {
  const rows = await reads.query<{ distinct_id: string }>(
    `SELECT DISTINCT distinct_id FROM session_recording_days
     WHERE project_id = {project_id:UInt32}
       AND substring(lower(hex(SHA1(concat(unhex('5b1f0c1e7d0e4a539a3c6f2f5d0e8b77'), toString(project_id), ':',
         distinct_id)))), 1, 12) = {start:String}
     LIMIT ${sessionRecordingLimits.recordingIdsMax}`,
    { start: person_id.replaceAll("-", "").slice(0, 12) },
  );
  return rows.map(({ distinct_id }) => distinct_id);
}

/** Whether a piece of the session has ever arrived, though all may be gone. */
export async function hasArrived(reads: ProjectReads, session_id: string): Promise<boolean> {
  const rows = await reads.query(
    `SELECT 1 FROM recorded_sessions
     WHERE project_id = {project_id:UInt32} AND session_hash = sipHash64({session_id:String}) LIMIT 1`,
    { session_id },
  );
  return rows.length > 0;
}

const blankMessage =
  "No full snapshot has arrived for this recording: players show nothing of the page. Check that the recorder starts " +
  "before the page is left, and that nothing drops or refuses its first, largest request.";

/** Writes a warning for each recording that has rested at `now` (ms) without a full snapshot. */
export async function warnOfBlank(clickhouse: ClickHouse, now: number): Promise<void> {
  const { recordingRestedMs, recordingRestedMsMax, recordingsBlankListedMax: most } = sessionRecordingLimits;
  const [from, to] = [now - recordingRestedMsMax, now - recordingRestedMs];
  await clickhouse.command(
    `INSERT INTO ingestion_warnings (project_id, type, details, event, distinct_id, timestamp)
     WITH fromUnixTimestamp64Milli({from:Int64}, 'UTC') AS earliest
     SELECT project_id, {type:String}, toJSONString(map('message', {message:String}, 'session_id', session_id)),
       '$snapshot', distinct_id, fromUnixTimestamp64Milli({now:Int64}, 'UTC')
     FROM session_recordings
     WHERE (project_id, session_hash) GLOBAL IN (
       SELECT project_id, session_hash FROM session_recording_days WHERE day >= toDate32(earliest) - 1
       GROUP BY project_id, session_hash
       HAVING min(lacks_full_snapshot) = 1
         AND max(last_received_at) BETWEEN earliest AND fromUnixTimestamp64Milli({to:Int64}, 'UTC')
         AND (project_id, session_hash) GLOBAL NOT IN (
           SELECT project_id, sipHash64(JSONExtractString(details, 'session_id')) FROM ingestion_warnings
           WHERE type = {type:String} AND timestamp >= earliest
         )
       LIMIT {most:UInt32} BY project_id
     )`,
    { from, to, now, most, type: "full_snapshot_missing", message: blankMessage },
  );
}

/**
 * Sessions without events are omitted. A session starts with its first event, so only events of these moments are read.
 * @throws Fault max_length when the properties exceed a page.
 */
export async function readFirstProperties(reads: ProjectReads, session_ids: readonly string[]) {
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
    .query<{
      session_id: string;
      /** JSON text. */
      properties: string;
    }>(
      `SELECT session_id, properties FROM (
         SELECT ${sessionOfEvent} AS session_id, properties, timestamp, uuid
         FROM stored_events
         WHERE project_id = {project_id:UInt32} AND toDate(timestamp) IN {days:Array(Date)}
           AND timestamp IN (SELECT toDateTime64(arrayJoin({starts:Array(String)}), 6, 'UTC'))
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
