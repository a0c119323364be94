// Recordings as ClickHouse has them: which there are, and what their pieces tell. Never reads what was recorded.

import { limits } from "../core/limits.ts";
import type { ClickHouse, QueryOptions } from "../storage/clickhouse.ts";

/**
 * Which recordings: absent fields do not filter. Moments as `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC; `from` is
 * inclusive, `to` exclusive.
 */
export interface RecordingFilter {
  project_id: number;
  from?: string | undefined;
  to?: string | undefined;
  distinct_ids?: readonly string[] | undefined;
  session_ids?: readonly string[] | undefined;
  /** Recordings that are deleted though ClickHouse still has them. */
  without: readonly string[];
}

export interface RecordingRow {
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

export interface RecordingPage {
  /** All recordings that match. */
  count: number;
  recordings: RecordingRow[];
}

const queryOptions: QueryOptions = {
  // The engine gives up first and says why; the client only guards against an engine that says nothing.
  timeoutMs: (limits.querySecondsMax + 5) * 1000,
  // One thread: a reader who waits a little longer costs capture nothing, all cores at once would.
  settings: { max_execution_time: limits.querySecondsMax, date_time_output_format: "simple", max_threads: 1 },
};

/** The page of `limit` recordings after the first `offset`, by their start, the newest first. */
export async function listRecordings(
  clickhouse: ClickHouse,
  filter: RecordingFilter,
  page: { limit: number; offset: number },
): Promise<RecordingPage> {
  const shown = async () => {
    const hashes = await findPage(clickhouse, filter, page);
    const places = new Map(hashes.map((hash, place) => [hash, place]));
    const placeOf = (row: HashedRow) => places.get(row.session_hash) ?? 0;
    const rows = await readRows(clickhouse, filter.project_id, hashes);
    return rows.sort((a, b) => placeOf(a) - placeOf(b));
  };
  // Counting takes as long as all the rest.
  const [count, recordings] = await Promise.all([countRecordings(clickhouse, filter), shown()]);
  return { count, recordings };
}

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
    queryOptions,
  );
}

const columns = `session_id, distinct_id, start_time, end_time, last_received_at, recording_duration, active_seconds,
  inactive_seconds, click_count, keypress_count, mouse_activity_count, console_log_count, console_warn_count,
  console_error_count, start_url, snapshot_source, storage, activity_score`;

type HashedRow = RecordingRow & { session_hash: string };

async function readRows(
  clickhouse: ClickHouse,
  project_id: number,
  hashes: readonly string[],
): Promise<HashedRow[]> {
  if (hashes.length === 0) return [];
  return await clickhouse.query<HashedRow>(
    `SELECT session_hash, ${columns} FROM session_recordings
     WHERE project_id = {project_id:UInt32} AND session_hash IN {hashes:Array(UInt64)}`,
    { project_id, hashes: hashes.map(BigInt) },
    queryOptions,
  );
}

async function countRecordings(clickhouse: ClickHouse, filter: RecordingFilter): Promise<number> {
  const { where, params } = conditions(filter);
  const rows = await clickhouse.query<{ count: string }>(
    `SELECT count() AS count FROM (
       SELECT 1 FROM session_recording_spans WHERE ${where}
       GROUP BY session_hash
       ${filter.from === undefined ? "" : `HAVING min(start_time) >= ${moment("from")}`}
       SETTINGS optimize_aggregation_in_order = 1
     )`,
    params,
    queryOptions,
  );
  return Number(rows[0]?.count ?? 0);
}

/**
 * The sessions of a page. A recording has a row for each time that something of it was stored, until those are merged;
 * its start is the earliest. So the newest rows are taken first, some more than the page has, and only their
 * sessions are compared by their true starts; more rows, while they are not enough, and in the end all.
 */
async function findPage(
  clickhouse: ClickHouse,
  filter: RecordingFilter,
  page: { limit: number; offset: number },
): Promise<string[]> {
  const { where, params } = conditions(filter);
  const { limit, offset } = page;
  for (let rows = (offset + limit) * 2; rows <= limits.recordingRowsComparedMax; rows *= 8) {
    const newest = await clickhouse.query<{ session_hash: string; start_time: string }>(
      `SELECT session_hash, start_time FROM session_recording_spans WHERE ${where}
       ORDER BY start_time DESC LIMIT {rows:UInt64}`,
      { ...params, rows },
      queryOptions,
    );
    const whole = newest.length < rows;
    // Of the last one's moment there may be more rows than were taken.
    const since = whole ? earliest : (newest.at(-1)?.start_time ?? earliest);
    const theirs = "project_id = {project_id:UInt32} AND session_hash IN {hashes:Array(UInt64)}";
    const hashes = [...new Set(newest.map(hashOf))];
    const found = await orderByStart(clickhouse, filter, theirs, { ...params, ...page, since, hashes });
    if (whole || found.length === limit) return found;
  }
  return await orderByStart(clickhouse, filter, where, { ...params, ...page, since: earliest });
}

async function orderByStart(
  clickhouse: ClickHouse,
  { from }: RecordingFilter,
  where: string,
  params: Record<string, unknown>,
): Promise<string[]> {
  const found = await clickhouse.query<{ session_hash: string }>(
    `SELECT session_hash, min(start_time) AS start FROM session_recording_spans
     WHERE ${where}
     GROUP BY session_hash
     HAVING start > ${moment("since")} ${from === undefined ? "" : `AND start >= ${moment("from")}`}
     ORDER BY start DESC, session_hash DESC
     LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    params,
    queryOptions,
  );
  return found.map(({ session_hash }) => session_hash);
}

function hashOf({ session_hash }: { session_hash: string }): bigint {
  return BigInt(session_hash);
}

const earliest = "1900-01-01 00:00:00.000000";

function moment(name: string): string {
  return `toDateTime64({${name}:String}, 6, 'UTC')`;
}

/** What holds for every row of a recording that matches. */
function conditions({ project_id, from, to, distinct_ids, session_ids, without }: RecordingFilter) {
  const clauses = ["project_id = {project_id:UInt32}"];
  const params: Record<string, unknown> = { project_id };
  if (from !== undefined) params["from"] = from;
  if (to !== undefined) {
    clauses.push(`start_time < ${moment("to")}`);
    params["to"] = to;
  }
  if (distinct_ids) {
    clauses.push("distinct_id IN {distinct_ids:Array(String)}");
    params["distinct_ids"] = distinct_ids;
  }
  if (session_ids) {
    clauses.push("session_hash IN (SELECT sipHash64(arrayJoin({session_ids:Array(String)})))");
    params["session_ids"] = session_ids;
  }
  if (without.length > 0) {
    clauses.push("session_hash NOT IN (SELECT sipHash64(arrayJoin({without:Array(String)})))");
    params["without"] = without;
  }
  return { where: clauses.join(" AND "), params };
}

/** The main id of each distinct id: its own, unless it was merged. */
export async function findMainIds(
  clickhouse: ClickHouse,
  project_id: number,
  distinct_ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await clickhouse.query<{ distinct_id: string; main_id: string }>(
    `SELECT distinct_id, main_id FROM merged_ids FINAL
     WHERE project_id = {project_id:UInt32} AND distinct_id IN {distinct_ids:Array(String)}`,
    { project_id, distinct_ids },
    queryOptions,
  );
  const mains = new Map(distinct_ids.map((id) => [id, id]));
  for (const { distinct_id, main_id } of rows) mains.set(distinct_id, main_id);
  return mains;
}

/** The distinct ids of recordings whose own person this is, though no event told of it. */
export async function findDistinctIds(
  clickhouse: ClickHouse,
  project_id: number,
  person_id: string,
): Promise<string[]> {
  const rows = await clickhouse.query<{ distinct_id: string }>(
    `SELECT DISTINCT distinct_id FROM session_recording_spans
     WHERE project_id = {project_id:UInt32}
       AND substring(lower(hex(SHA1(concat(unhex('5b1f0c1e7d0e4a539a3c6f2f5d0e8b77'), toString(project_id), ':',
         distinct_id)))), 1, 12) = {start:String}
     LIMIT {limit:UInt64}`,
    { project_id, start: person_id.replaceAll("-", "").slice(0, 12), limit: limits.recordingIdsAskedMax },
    queryOptions,
  );
  return rows.map(({ distinct_id }) => distinct_id);
}

/** Those of these sessions of which ClickHouse still finds anything. */
export async function findRemains(
  clickhouse: ClickHouse,
  project_id: number,
  session_ids: readonly string[],
): Promise<string[]> {
  const rows = await clickhouse.query<{ session_id: string }>(
    `SELECT DISTINCT session_id FROM (
       SELECT session_id FROM session_recording_spans
       WHERE project_id = {project_id:UInt32}
         AND session_hash IN (SELECT sipHash64(arrayJoin({session_ids:Array(String)})))
       UNION ALL
       SELECT session_id FROM snapshot_chunks
       WHERE project_id = {project_id:UInt32}
         AND session_hash IN (SELECT sipHash64(arrayJoin({session_ids:Array(String)})))
     ) WHERE session_id IN {session_ids:Array(String)}`,
    { project_id, session_ids },
    queryOptions,
  );
  return rows.map(({ session_id }) => session_id);
}

const tables = ["snapshot_chunks", "session_recording_spans"] as const;

/** Marks all rows of these sessions as deleted: from then on no query finds them. */
export async function hideSessions(
  clickhouse: ClickHouse,
  project_id: number,
  session_ids: readonly string[],
): Promise<void> {
  for (const table of tables) {
    await clickhouse.command(
      `DELETE FROM ${table}
       WHERE project_id = {project_id:UInt32} AND session_hash IN {hashes:Array(UInt64)}
         AND session_id IN {session_ids:Array(String)}`,
      { project_id, session_ids, hashes: await hashesOf(clickhouse, session_ids) },
      { timeoutMs: limits.recordingRemovalMsMax, settings: { lightweight_deletes_sync: 2 } },
    );
  }
}

/** A deletion's own condition must be plain values: the engine may carry it out later. */
async function hashesOf(clickhouse: ClickHouse, session_ids: readonly string[]): Promise<bigint[]> {
  const rows = await clickhouse.query<{ hash: string }>(
    "SELECT sipHash64(arrayJoin({session_ids:Array(String)})) AS hash",
    { session_ids },
    queryOptions,
  );
  return rows.map(({ hash }) => BigInt(hash));
}

/** Writes anew what holds rows that are marked as deleted, without them; files of before last some minutes more. */
export async function removeHidden(clickhouse: ClickHouse): Promise<void> {
  for (const table of tables) {
    const options = { timeoutMs: limits.recordingRemovalMsMax, settings: { mutations_sync: 1 } };
    await clickhouse.command(`ALTER TABLE ${table} APPLY DELETED MASK`, undefined, options);
  }
}
