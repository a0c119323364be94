// Runs as their owners list, read and cancel them.

import { shownInTurns } from "../../http/pages/sliced.ts";
import { isoOf } from "../../http/fields/field_time.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import type { Cursor, Ordered } from "./cursor.ts";
import type { Run, RunStatus } from "../model.ts";

interface RunRow {
  id: string;
  batch_export_id: string;
  status: RunStatus;
  records_completed: number | null;
  records_total_count: number | null;
  latest_error: string | null;
  data_interval_start: Date | null;
  data_interval_end: Date;
  cursor: string | null;
  created_at: Date;
  finished_at: Date | null;
  last_updated_at: Date;
}

/** The newest ten runs of each export. */
export async function latestRuns(sql: Postgres, ids: readonly string[]): Promise<Map<string, Run[]>> {
  const rows = await sql<RunRow[]>`
    SELECT r.* FROM unnest(${[...ids]}::uuid[]) AS e(id)
    CROSS JOIN LATERAL (
      SELECT * FROM batch_export_runs WHERE batch_export_id = e.id ORDER BY created_at DESC, id DESC LIMIT 10
    ) r
    ORDER BY r.created_at DESC, r.id DESC`;
  return Map.groupBy(rows.map(runOf), ({ batch_export }) => batch_export);
}

/** Moments are text for Postgres, all inclusive. */
export interface RunFilter {
  batch_export_id: string;
  created_after?: string | undefined;
  created_before?: string | undefined;
  starts_from?: string | undefined;
  ends_by?: string | undefined;
  order: "created_at" | "data_interval_start";
  descending: boolean;
}

/** A page in the given order, from the cursor on, and one row more when there are more. */
export async function listRuns(
  sql: Postgres,
  filter: RunFilter,
  limit: number,
  cursor: Cursor | undefined,
): Promise<Ordered<Run>[]> {
  const { created_after = null, created_before = null, starts_from = null, ends_by = null } = filter;
  const key =
    filter.order === "created_at" ? sql`r.created_at` : sql`coalesce(r.data_interval_start, '-infinity')`;
  // Rows before the cursor are read in reverse order.
  const falling = filter.descending !== (cursor?.backwards ?? false);
  const beyond = cursor
    ? falling
      ? sql`(${key}, r.id) < (${cursor.key}::text::timestamptz, ${cursor.id}::uuid)`
      : sql`(${key}, r.id) > (${cursor.key}::text::timestamptz, ${cursor.id}::uuid)`
    : sql`true`;
  const order = falling ? sql`${key} DESC, r.id DESC` : sql`${key}, r.id`;
  const rows = await sql<(RunRow & { order_key: string })[]>`
    SELECT r.*, (${key})::text AS order_key FROM batch_export_runs r
    WHERE r.batch_export_id = ${filter.batch_export_id}
      AND r.created_at >= coalesce(${created_after}::text::timestamptz, '-infinity')
      AND r.created_at <= coalesce(${created_before}::text::timestamptz, 'infinity')
      AND (${starts_from}::text IS NULL OR r.data_interval_start >= ${starts_from}::text::timestamptz)
      AND (${ends_by}::text IS NULL OR r.data_interval_end <= ${ends_by}::text::timestamptz)
      AND ${beyond}
    ORDER BY ${order} LIMIT ${limit + 1}`;
  return await shownInTurns(rows, (row) => ({ row: runOf(row), order_key: row.order_key }));
}

export async function getRun(sql: Postgres, batch_export_id: string, id: string): Promise<Run | undefined> {
  const [row] = await sql<RunRow[]>`
    SELECT * FROM batch_export_runs WHERE id = ${id} AND batch_export_id = ${batch_export_id}`;
  return row && runOf(row);
}

/** False when it had ended already. The process that runs it notices at its next extension of the lease. */
export async function cancelRun(sql: Postgres, id: string, now: Date): Promise<boolean> {
  const rows = await sql`
    UPDATE batch_export_runs
    SET status = 'Cancelled', finished_at = ${now}, last_updated_at = ${now}
    WHERE id = ${id} AND status IN ('Starting', 'Running', 'FailedRetryable')
    RETURNING id`;
  return rows.length > 0;
}

function runOf(row: RunRow): Run {
  return {
    id: row.id,
    status: row.status,
    records_completed: row.records_completed,
    latest_error: row.latest_error,
    data_interval_start: row.data_interval_start && isoOf(row.data_interval_start),
    data_interval_end: isoOf(row.data_interval_end),
    cursor: row.cursor,
    created_at: isoOf(row.created_at),
    finished_at: row.finished_at && isoOf(row.finished_at),
    last_updated_at: isoOf(row.last_updated_at),
    records_total_count: row.records_total_count,
    batch_export: row.batch_export_id,
  };
}
