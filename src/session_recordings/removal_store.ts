// The SQL of removing recordings in ClickHouse.

import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import type { ProjectReads } from "../storage/clickhouse/query_options.ts";
import { sessionRecordingLimits } from "./limits.ts";
import { ofSessions } from "./store.ts";

/** The sessions among these that have rows in ClickHouse. */
export async function findRemains(reads: ProjectReads, session_ids: readonly string[]): Promise<string[]> {
  const rows = await reads.query<{ session_id: string }>(
    `SELECT DISTINCT session_id FROM snapshot_chunks WHERE project_id = {project_id:UInt32} AND ${ofSessions}
     UNION DISTINCT
     SELECT arrayJoin({session_ids:Array(String)}) AS session_id
     WHERE sipHash64(session_id) IN (
       SELECT session_hash FROM session_recording_days
       WHERE project_id = {project_id:UInt32}
         AND session_hash IN (SELECT sipHash64(arrayJoin({session_ids:Array(String)})))
     )`,
    { session_ids },
  );
  return rows.map(({ session_id }) => session_id);
}

/** Tables of recordings, each with its condition besides the session hash. */
const tables = {
  snapshot_chunks: "AND session_id IN {session_ids:Array(String)}",
  session_recording_days: "",
};

const timeoutMs = sessionRecordingLimits.recordingRemovalMsMax;

/** Leaves these sessions out of `session_recordings` from now on, also pieces that arrive later. */
export async function excludeSessions(reads: ProjectReads, session_ids: readonly string[]): Promise<void> {
  await reads.clickhouse.command(
    `INSERT INTO deleted_recordings (project_id, session_hash, deleted_at)
     SELECT {project_id:UInt32}, sipHash64(arrayJoin({session_ids:Array(String)})), now64(6)`,
    { project_id: reads.project_id, session_ids },
  );
}

/** Marks all rows of these sessions as deleted, so that no query finds them. */
export async function hideSessions(reads: ProjectReads, session_ids: readonly string[]): Promise<void> {
  // A deletion must have literal values: the engine may run it later.
  const rows = await reads.query<{ hash: string }>(
    "SELECT sipHash64(arrayJoin({session_ids:Array(String)})) AS hash",
    { session_ids },
  );
  const params = { project_id: reads.project_id, session_ids, hashes: rows.map(({ hash }) => BigInt(hash)) };
  for (const [table, named] of Object.entries(tables)) {
    await reads.clickhouse.command(
      `DELETE FROM ${reads.clickhouse.tables.local(table)}
       WHERE project_id = {project_id:UInt32} AND session_hash IN {hashes:Array(UInt64)} ${named}`,
      params,
      { timeoutMs, settings: { lightweight_deletes_sync: 2 } },
    );
  }
}

/** Rewrites parts without their deleted rows. The old files stay on disk for some minutes. */
export async function removeHidden(clickhouse: ClickHouse): Promise<void> {
  for (const table of Object.keys(tables)) {
    const text = `ALTER TABLE ${clickhouse.tables.local(table)} APPLY DELETED MASK`;
    await clickhouse.command(text, undefined, { timeoutMs, settings: { mutations_sync: 1 } });
  }
}
