// Recordings as ClickHouse has them: which there are, and what their pieces tell. Never reads what was recorded.

import { limits } from "../core/limits.ts";
import { sessionRecordingLimits } from "./limits.ts";
import type { ClickHouse, QueryOptions } from "../storage/clickhouse/clickhouse.ts";

export interface RecordingRow {
  session_hash: string;
  session_id: string;
  distinct_id: string;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, like the other moments. */
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

/** What is known of a session without pieces: it has no moment, which the beginning of time stands for. */
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

export const recordingQueryOptions: QueryOptions = {
  // The engine gives up first and says why; the client only guards against an engine that says nothing.
  timeoutMs: limits.querySecondsMax * 1000 + limits.engineSaysMsMax,
  // One thread: a reader who waits a little longer costs capture nothing, all cores at once would.
  settings: { max_execution_time: limits.querySecondsMax, date_time_output_format: "simple", max_threads: 1 },
};

/** Those of these sessions that were recorded, in no order. */
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
    recordingQueryOptions,
  );
}

const columns = `session_hash, session_id, distinct_id, start_time, end_time, last_received_at,
  recording_duration, active_seconds, inactive_seconds, click_count, keypress_count, mouse_activity_count,
  console_log_count, console_warn_count, console_error_count, start_url, snapshot_source, storage, activity_score`;

/** By the hashes of their sessions, in no order. */
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
    recordingQueryOptions,
  );
}

/** The distinct ids of recordings whose own person this is, though no event told of it. */
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
    recordingQueryOptions,
  );
  return rows.map(({ distinct_id }) => distinct_id);
}

/** Those of these sessions of which ClickHouse still finds anything. */
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
    recordingQueryOptions,
  );
  return rows.map(({ session_id }) => session_id);
}

/** Each with what names a session there beside its hash. */
const tables = {
  snapshot_chunks: "AND session_id IN {session_ids:Array(String)}",
  session_recording_days: "",
};

/** Marks all rows of these sessions as deleted: from then on no query finds them. */
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

/** A deletion's own condition must be plain values: the engine may carry it out later. */
async function hashesOf(clickhouse: ClickHouse, session_ids: readonly string[]): Promise<bigint[]> {
  const rows = await clickhouse.query<{ hash: string }>(
    "SELECT sipHash64(arrayJoin({session_ids:Array(String)})) AS hash",
    { session_ids },
    recordingQueryOptions,
  );
  return rows.map(({ hash }) => BigInt(hash));
}

/** Writes anew what holds rows that are marked as deleted, without them; files of before last some minutes more. */
export async function removeHidden(clickhouse: ClickHouse): Promise<void> {
  for (const table of Object.keys(tables)) {
    const options = {
      timeoutMs: sessionRecordingLimits.recordingRemovalMsMax,
      settings: { mutations_sync: 1 },
    };
    await clickhouse.command(`ALTER TABLE ${table} APPLY DELETED MASK`, undefined, options);
  }
}
