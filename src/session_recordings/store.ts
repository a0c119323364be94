// Queries in ClickHouse for recordings: their metadata, not their content.

import { sessionRecordingLimits } from "./limits.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import { queryOptions } from "../storage/clickhouse/query_options.ts";

export interface RecordingRow {
  session_hash: string;
  session_id: string;
  distinct_id: string;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, like `end_time` and `last_received_at`. */
  start_time: string;
  end_time: string;
  last_received_at: string;
  recording_duration: number;
  active_seconds: number;
  inactive_seconds: number;
  click_count: number;
  keypress_count: number;
  mouse_activity_count: number;
  console_log_count: number;
  console_warn_count: number;
  console_error_count: number;
  start_url: string;
  snapshot_source: string;
  storage: string;
  activity_score: number;
}

/** The row of a session without pieces. Its times are the epoch. */
export function emptyRecording(session_id: string): RecordingRow {
  const none = "1970-01-01 00:00:00.000000";
  return {
    session_hash: "0",
    session_id,
    distinct_id: "",
    start_time: none,
    end_time: none,
    last_received_at: none,
    recording_duration: 0,
    active_seconds: 0,
    inactive_seconds: 0,
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

/** The recordings of these sessions, in no order. */
export async function findRecordings(
  clickhouse: ClickHouse,
  project_id: number,
  session_ids: readonly string[],
): Promise<RecordingRow[]> {
  if (session_ids.length === 0) return [];
  return await clickhouse.query<RecordingRow>(
    `SELECT ${columns} FROM session_recordings
     WHERE project_id = {project_id:UInt32}
       AND session_hash IN (SELECT sipHash64(arrayJoin({session_ids:Array(String)})))
       AND session_id IN {session_ids:Array(String)}`,
    { project_id, session_ids },
    queryOptions,
  );
}

const columns = `session_hash, session_id, distinct_id, start_time, end_time, last_received_at,
  recording_duration, active_seconds, inactive_seconds, click_count, keypress_count, mouse_activity_count,
  console_log_count, console_warn_count, console_error_count, start_url, snapshot_source, storage, activity_score`;

/** The recordings with these session hashes, in no order. */
export async function readRows(
  clickhouse: ClickHouse,
  project_id: number,
  hashes: readonly string[],
): Promise<RecordingRow[]> {
  if (hashes.length === 0) return [];
  return await clickhouse.query<RecordingRow>(
    `SELECT ${columns} FROM session_recordings
     WHERE project_id = {project_id:UInt32} AND session_hash IN {hashes:Array(UInt64)}`,
    { project_id, hashes: hashes.map(BigInt) },
    queryOptions,
  );
}

/** Recorded distinct ids whose own person this is: for a person without events. */
export async function findDistinctIds(
  clickhouse: ClickHouse,
  project_id: number,
  person_id: string,
): Promise<string[]> {
  const rows = await clickhouse.query<{ distinct_id: string }>(
    `SELECT DISTINCT distinct_id FROM session_recording_days
     WHERE project_id = {project_id:UInt32}
       AND substring(lower(hex(SHA1(concat(unhex('5b1f0c1e7d0e4a539a3c6f2f5d0e8b77'), toString(project_id), ':',
         distinct_id)))), 1, 12) = {start:String}
     LIMIT {limit:UInt64}`,
    {
      project_id,
      start: person_id.replaceAll("-", "").slice(0, 12),
      limit: sessionRecordingLimits.recordingIdsAskedMax,
    },
    queryOptions,
  );
  return rows.map(({ distinct_id }) => distinct_id);
}

/** The sessions among these that have rows in ClickHouse. */
export async function findRemains(
  clickhouse: ClickHouse,
  project_id: number,
  session_ids: readonly string[],
): Promise<string[]> {
  const asked = "(SELECT sipHash64(arrayJoin({session_ids:Array(String)})))";
  const rows = await clickhouse.query<{ session_id: string }>(
    `SELECT DISTINCT session_id FROM snapshot_chunks
     WHERE project_id = {project_id:UInt32} AND session_hash IN ${asked}
       AND session_id IN {session_ids:Array(String)}
     UNION DISTINCT
     SELECT arrayJoin({session_ids:Array(String)}) AS session_id
     WHERE sipHash64(session_id) IN (
       SELECT session_hash FROM session_recording_days
       WHERE project_id = {project_id:UInt32} AND session_hash IN ${asked}
     )`,
    { project_id, session_ids },
    queryOptions,
  );
  return rows.map(({ session_id }) => session_id);
}

/** Tables of recordings, each with the condition that is needed beside the session hash. */
const tables = {
  snapshot_chunks: "AND session_id IN {session_ids:Array(String)}",
  session_recording_days: "",
};

/** Marks all rows of these sessions as deleted, so that no query finds them. */
export async function hideSessions(
  clickhouse: ClickHouse,
  project_id: number,
  session_ids: readonly string[],
): Promise<void> {
  const params = { project_id, session_ids, hashes: await hashesOf(clickhouse, session_ids) };
  for (const [table, named] of Object.entries(tables)) {
    await clickhouse.command(
      `DELETE FROM ${table}
       WHERE project_id = {project_id:UInt32} AND session_hash IN {hashes:Array(UInt64)} ${named}`,
      params,
      { timeoutMs: sessionRecordingLimits.recordingRemovalMsMax, settings: { lightweight_deletes_sync: 2 } },
    );
  }
}

/** A deletion takes plain values only: the engine may run it later. */
async function hashesOf(clickhouse: ClickHouse, session_ids: readonly string[]): Promise<bigint[]> {
  const rows = await clickhouse.query<{ hash: string }>(
    "SELECT sipHash64(arrayJoin({session_ids:Array(String)})) AS hash",
    { session_ids },
    queryOptions,
  );
  return rows.map(({ hash }) => BigInt(hash));
}

/** Rewrites parts without their deleted rows. The old files stay on disk for some minutes. */
export async function removeHidden(clickhouse: ClickHouse): Promise<void> {
  for (const table of Object.keys(tables)) {
    const options = {
      timeoutMs: sessionRecordingLimits.recordingRemovalMsMax,
      settings: { mutations_sync: 1 },
    };
    await clickhouse.command(`ALTER TABLE ${table} APPLY DELETED MASK`, undefined, options);
  }
}
