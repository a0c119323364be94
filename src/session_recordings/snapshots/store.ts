// What was recorded, as ClickHouse has it: pieces of rrweb events. Never looks into them.

import { limits } from "../../core/limits.ts";
import type { ClickHouse, QueryOptions } from "../../storage/clickhouse.ts";

export interface RecordedSession {
  project_id: number;
  session_id: string;
}

export interface Chunk {
  uuid: string;
  window_id: string;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, like the next. */
  first_at: string;
  last_at: string;
  /** Bytes of its data. */
  size: number;
}

const queryOptions: QueryOptions = {
  // The engine gives up first and says why; the client only guards against an engine that says nothing.
  timeoutMs: (limits.querySecondsMax + 5) * 1000,
  // One thread: a reader who waits a little longer costs capture nothing, all cores at once would.
  settings: { max_execution_time: limits.querySecondsMax, date_time_output_format: "simple", max_threads: 1 },
};

const ofSession = `project_id = {project_id:UInt32} AND session_hash = sipHash64({session_id:String})
  AND session_id = {session_id:String}`;

/** A recording's pieces in the order in which they came: later ones only ever follow. */
export async function listChunks(
  clickhouse: ClickHouse,
  { project_id, session_id }: RecordedSession,
): Promise<Chunk[]> {
  return await clickhouse.query<Chunk>(
    `SELECT c.uuid AS uuid, c.window_id AS window_id, min(c.first_at) AS first_at, max(c.last_at) AS last_at,
       any(c.size) AS size
     FROM snapshot_chunks AS c WHERE ${ofSession}
     GROUP BY c.uuid, c.window_id
     ORDER BY min(c.created_at), c.uuid
     LIMIT {limit:UInt64}`,
    { project_id, session_id, limit: limits.snapshotChunksShownMax },
    queryOptions,
  );
}

/** The data of these pieces, by their uuid. */
export async function readChunks(
  clickhouse: ClickHouse,
  { project_id, session_id }: RecordedSession,
  uuids: readonly string[],
): Promise<Map<string, string>> {
  if (uuids.length === 0) return new Map();
  const rows = await clickhouse.query<{ uuid: string; data: string }>(
    `SELECT uuid, data FROM snapshot_chunks
     WHERE ${ofSession} AND uuid IN {uuids:Array(UUID)}
     LIMIT 1 BY uuid`,
    { project_id, session_id, uuids },
    queryOptions,
  );
  return new Map(rows.map(({ uuid, data }) => [uuid, data]));
}
