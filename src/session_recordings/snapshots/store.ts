// What was recorded, as ClickHouse has it: pieces of rrweb events. Never looks into them.

import { limits } from "../../core/limits.ts";
import { snapshotLimits } from "./limits.ts";
import type { ClickHouse, QueryOptions } from "../../storage/clickhouse/clickhouse.ts";

export interface RecordedSession {
  project_id: number;
  session_id: string;
}

export interface Chunk {
  uuid: string;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, like the next. */
  first_at: string;
  last_at: string;
  /** Bytes of its data. */
  size: number;
  /** Events in it, as they were counted when it came. */
  events: number;
  /** Of a piece that is too large to be shown; else empty. */
  window_id: string;
}

export interface ChunkData {
  window_id: string;
  /** JSON text of an event or an array of them. */
  data: Uint8Array;
}

const queryOptions: QueryOptions = {
  // The engine gives up first and says why; the client only guards against an engine that says nothing.
  timeoutMs: limits.querySecondsMax * 1000 + limits.engineSaysMsMax,
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
    `SELECT c.uuid AS uuid, min(c.first_at) AS first_at, max(c.last_at) AS last_at,
       argMin(c.size, (c.created_at, c.size)) AS size, argMin(c.event_count, (c.created_at, c.size)) AS events,
       if(size > {shown:UInt32}, argMin(c.window_id, (c.created_at, c.size)), '') AS window_id
     FROM snapshot_chunks AS c WHERE ${ofSession}
     GROUP BY c.uuid
     ORDER BY min(c.created_at), c.uuid
     LIMIT {limit:UInt64}`,
    {
      project_id,
      session_id,
      limit: snapshotLimits.snapshotChunksShownMax,
      shown: snapshotLimits.snapshotShownBytesMax,
    },
    queryOptions,
  );
}

/**
 * The data of these pieces, by their uuid. One that was sent twice with other content rests twice until its parts are
 * merged: the one of the listed size is read, so that nobody reads more than was listed.
 */
export async function readChunks(
  clickhouse: ClickHouse,
  { project_id, session_id }: RecordedSession,
  chunks: readonly Chunk[],
): Promise<Map<string, ChunkData>> {
  if (chunks.length === 0) return new Map();
  const rows = await clickhouse.bytes(
    `SELECT toString(uuid), window_id, data FROM snapshot_chunks
     WHERE ${ofSession} AND uuid IN (SELECT arrayJoin({uuids:Array(UUID)}))
       AND (uuid, size) IN (SELECT arrayJoin(arrayZip({uuids:Array(UUID)}, {sizes:Array(UInt32)})))
     LIMIT 1 BY uuid
     FORMAT RowBinary`,
    { project_id, session_id, uuids: chunks.map(({ uuid }) => uuid), sizes: chunks.map(({ size }) => size) },
    queryOptions,
  );
  return readRows(rows);
}

/** Rows of three texts in RowBinary: each its length, seven bits a byte, and its bytes. */
function readRows(rows: Uint8Array): Map<string, ChunkData> {
  const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
  let at = 0;
  const text = (): Buffer => {
    let length = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      length += (byte & 0x7f) * factor;
      if (byte < 0x80) break;
    }
    at += length;
    if (at > bytes.length) throw new Error("ClickHouse's answer ends within a row");
    return bytes.subarray(at - length, at);
  };
  const read = new Map<string, ChunkData>();
  while (at < bytes.length) {
    const uuid = text().toString();
    const window_id = text().toString();
    read.set(uuid, { window_id, data: text() });
  }
  return read;
}
