// The backfills of an export in Postgres.

import { newUuid } from "../../core/id.ts";
import { shownInTurns } from "../../http/pages/sliced.ts";
import { isoOf } from "../../http/fields/field_time.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import type { Cursor, Ordered } from "../runs/cursor.ts";
import type { Backfill, RunStatus } from "../model.ts";

interface BackfillRow {
  id: string;
  batch_export_id: string;
  project_id: number;
  start_at: Date | null;
  end_at: Date | null;
  status: RunStatus;
  created_at: Date;
  finished_at: Date | null;
  last_updated_at: Date;
  total_runs: number | null;
  finished_runs: number;
}

export interface BackfillInput {
  batch_export_id: string;
  /** The range in the request. */
  start_at: Date | null;
  end_at: Date | null;
  /** The range that is run; a start of null is the first data. */
  range_start: Date | null;
  range_end: Date;
  /** The length of its runs, in the spelling of exports. */
  interval: string;
  /** Null until the start is known. */
  total_runs: number | null;
}

/** The id of a new backfill. */
export async function createBackfill(sql: Postgres, input: BackfillInput, now: Date): Promise<string> {
  const id = newUuid();
  await sql`
    INSERT INTO batch_export_backfills (
      id, batch_export_id, start_at, end_at, range_start, range_end, "interval", total_runs, created_at,
      last_updated_at)
    VALUES (
      ${id}, ${input.batch_export_id}, ${input.start_at}, ${input.end_at}, ${input.range_start}, ${input.range_end},
      ${input.interval}, ${input.total_runs}, ${now}, ${now})`;
  return id;
}

/** A page, newest first, from the cursor on, and one row more when there are more. */
export async function listBackfills(
  sql: Postgres,
  batch_export_id: string,
  limit: number,
  cursor: Cursor | undefined,
): Promise<Ordered<Backfill>[]> {
  const place = cursor && sql`(${cursor.key}::text::timestamptz, ${cursor.id}::uuid)`;
  const beyond = place
    ? cursor?.backwards
      ? sql`(b.created_at, b.id) > ${place}`
      : sql`(b.created_at, b.id) < ${place}`
    : sql`true`;
  const order = cursor?.backwards ? sql`b.created_at, b.id` : sql`b.created_at DESC, b.id DESC`;
  const rows = await sql<(BackfillRow & { order_key: string })[]>`
    SELECT ${columns(sql)}, b.created_at::text AS order_key
    FROM batch_export_backfills b JOIN batch_exports e ON e.id = b.batch_export_id
    WHERE b.batch_export_id = ${batch_export_id} AND ${beyond}
    ORDER BY ${order} LIMIT ${limit + 1}`;
  return await shownInTurns(rows, (row) => ({ row: backfillOf(row), order_key: row.order_key }));
}

export async function getBackfill(
  sql: Postgres,
  batch_export_id: string,
  id: string,
): Promise<Backfill | undefined> {
  const [row] = await sql<BackfillRow[]>`
    SELECT ${columns(sql)}
    FROM batch_export_backfills b JOIN batch_exports e ON e.id = b.batch_export_id
    WHERE b.id = ${id} AND b.batch_export_id = ${batch_export_id}`;
  return row && backfillOf(row);
}

/** Cancels a backfill and its runs. False when it had ended already. */
export async function cancelBackfill(sql: Postgres, id: string, now: Date): Promise<boolean> {
  const rows = await sql`
    WITH ended AS (
      UPDATE batch_export_backfills SET status = 'Cancelled', finished_at = ${now}, last_updated_at = ${now}
      WHERE id = ${id} AND status IN ('Starting', 'Running', 'FailedRetryable')
      RETURNING id
    ), stopped AS (
      UPDATE batch_export_runs r SET status = 'Cancelled', finished_at = ${now}, last_updated_at = ${now}
      FROM ended e WHERE r.backfill_id = e.id AND r.status IN ('Starting', 'Running', 'FailedRetryable')
    )
    SELECT id FROM ended`;
  return rows.length > 0;
}

function columns(sql: Postgres) {
  return sql`
    b.*, e.project_id,
    (SELECT count(*)::integer FROM batch_export_runs r
     WHERE r.backfill_id = b.id AND r.status NOT IN ('Starting', 'Running', 'FailedRetryable')) AS finished_runs`;
}

function backfillOf(row: BackfillRow): Backfill {
  const { total_runs, finished_runs } = row;
  const done = total_runs === 0 ? 1 : finished_runs / (total_runs ?? 1);
  return {
    id: row.id,
    team: row.project_id,
    batch_export: row.batch_export_id,
    start_at: row.start_at && isoOf(row.start_at),
    end_at: row.end_at && isoOf(row.end_at),
    status: row.status,
    created_at: isoOf(row.created_at),
    finished_at: row.finished_at && isoOf(row.finished_at),
    last_updated_at: isoOf(row.last_updated_at),
    progress: { total_runs, finished_runs, progress: total_runs === null ? null : Math.min(1, done) },
  };
}
