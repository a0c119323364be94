// Queries in ClickHouse for pieces of recordings: JSON text of rrweb events, which is not parsed here.

import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { queryOptions } from "../../storage/clickhouse/query_options.ts";
import { textRows } from "../../storage/clickhouse/row_binary.ts";
import { snapshotLimits } from "./limits.ts";

export interface RecordedSession {
  project_id: number;
  session_id: string;
}

export interface PieceRow {
  uuid: string;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, like `last_at`. */
  first_at: string;
  last_at: string;
  /** Bytes of `data`. */
  size: number;
  /** Events in the piece, counted at capture. */
  events: number;
  /** Bytes that its compressed events inflate to; 0 of those stored by older servers. */
  inflated: number;
}

interface PieceData {
  window_id: string;
  /** JSON text of one event or an array of events. */
  data: Uint8Array;
}

const ofSession = `project_id = {project_id:UInt32} AND session_hash = sipHash64({session_id:String})
  AND session_id = {session_id:String}`;

/** The pieces of a recording, oldest arrival first: a new piece is always the last. */
export async function listPieces(clickhouse: ClickHouse, session: RecordedSession): Promise<PieceRow[]> {
  return await clickhouse.query<PieceRow>(
    `SELECT c.uuid AS uuid, min(c.first_at) AS first_at, max(c.last_at) AS last_at,
       argMin(c.size, (c.created_at, c.size)) AS size, argMin(c.event_count, (c.created_at, c.size)) AS events,
       argMin(c.inflated_size, (c.created_at, c.size)) AS inflated
     FROM snapshot_chunks AS c WHERE ${ofSession}
     GROUP BY c.uuid
     ORDER BY min(c.created_at), c.uuid
     LIMIT ${snapshotLimits.snapshotPiecesShownMax}`,
    { ...session },
    queryOptions,
  );
}

/**
 * The data of these pieces by uuid. A piece sent twice with different content has two rows until ClickHouse merges its
 * parts: only the row of the listed size is read, so that the reserved memory is not exceeded.
 */
export async function readPieces(
  clickhouse: ClickHouse,
  session: RecordedSession,
  pieces: readonly PieceRow[],
): Promise<Map<string, PieceData>> {
  if (pieces.length === 0) return new Map();
  const rows = await clickhouse.bytes(
    `SELECT toString(uuid), window_id, data FROM snapshot_chunks
     WHERE ${ofSession} AND uuid IN (SELECT arrayJoin({uuids:Array(UUID)}))
       AND (uuid, size) IN (SELECT arrayJoin(arrayZip({uuids:Array(UUID)}, {sizes:Array(UInt32)})))
     LIMIT 1 BY uuid
     FORMAT RowBinary`,
    { ...session, uuids: pieces.map(({ uuid }) => uuid), sizes: pieces.map(({ size }) => size) },
    queryOptions,
  );
  const read = new Map<string, PieceData>();
  for (const [uuid, window_id, data] of textRows(rows, 3))
    read.set(toText(uuid!), { window_id: toText(window_id!), data: data! });
  return read;
}

function toText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}
