// The backfills of an export in Postgres.

import { newUuid } from "../../core/id.ts";
import { shownRow, type Stored } from "../../http/fields/field_time.ts";
import type { Postgres, PostgresTransaction } from "../../storage/postgres/postgres.ts";
import { mapInSlices } from "../../work/slices.ts";
import type { Cadence } from "../interval.ts";
import type { Backfill } from "../model.ts";
import { type CursorPage, fromCursor } from "./cursor.ts";

type BackfillRow = Stored<
  Omit<Backfill, "progress"> & Omit<Backfill["progress"], "progress">,
  "start_at" | "end_at" | "created_at" | "finished_at" | "last_updated_at"
>;

/** Half-open. A start of null is the first data, an end of null now. */
export interface BackfillRange {
  start: Date | null;
  end: Date | null;
  /** Whether it is one of events' timestamps, and not of their arrival. */
  by_timestamp: boolean;
}

/** @param range as requested; it is run up to `end`. @param total_runs null until the start is known. */
export async function createBackfill(
  sql: Postgres | PostgresTransaction,
  of: Cadence & { id: string },
  range: BackfillRange,
  { end, total_runs, now }: { end: Date; total_runs: number | null; now: Date },
): Promise<string> {
  const id = newUuid();
  await sql`
    INSERT INTO batch_export_backfills (
      id, batch_export_id, start_at, end_at, range_start, range_end, "interval", total_runs, created_at,
      last_updated_at, by_timestamp, timezone, offset_day, offset_hour)
    VALUES (
      ${id}, ${of.id}, ${range.start}, ${range.end}, ${range.start}, ${end}, ${of.interval}, ${total_runs},
      ${now}, ${now}, ${range.by_timestamp}, ${of.timezone}, ${of.offset_day}, ${of.offset_hour})`;
  return id;
}

/** A page, newest first, from the cursor on, and one row more when there are more. */
export async function listBackfills(sql: Postgres, batch_export_id: string, { limit, cursor }: CursorPage) {
  const { beyond, order } = fromCursor(sql, [sql`b.created_at`, sql`b.id`], true, cursor);
  const rows = await sql<(BackfillRow & { order_key: string })[]>`
    SELECT ${columns(sql)}, b.created_at::text AS order_key
    FROM batch_export_backfills b JOIN batch_exports e ON e.id = b.batch_export_id
    WHERE b.batch_export_id = ${batch_export_id} AND ${beyond}
    ORDER BY ${order} LIMIT ${limit + 1}`;
  return await mapInSlices(rows, (row) => ({ ...toBackfill(row), order_key: row.order_key }));
}

export async function getBackfill(sql: Postgres, batch_export_id: string, id: string) {
  const [row] = await sql<BackfillRow[]>`
    SELECT ${columns(sql)}
    FROM batch_export_backfills b JOIN batch_exports e ON e.id = b.batch_export_id
    WHERE b.id = ${id} AND b.batch_export_id = ${batch_export_id}`;
  return row && toBackfill(row);
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
    b.id, e.project_id AS team, b.batch_export_id AS batch_export, b.start_at, b.end_at, b.status, b.created_at,
    b.finished_at, b.last_updated_at, b.total_runs,
    (SELECT count(*)::integer FROM batch_export_runs r
     WHERE r.backfill_id = b.id AND r.status NOT IN ('Starting', 'Running', 'FailedRetryable')) AS finished_runs`;
}

function toBackfill({ total_runs, finished_runs, ...row }: BackfillRow): Backfill {
  const done = total_runs === 0 ? 1 : finished_runs / (total_runs ?? 1);
  const progress = { total_runs, finished_runs, progress: total_runs === null ? null : Math.min(1, done) };
  return { ...shownRow(row), progress };
}
