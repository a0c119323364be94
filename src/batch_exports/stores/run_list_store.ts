// Runs as the API lists, reads and cancels them, and the log of an export.

import { shownRow, type Stored } from "../../http/fields/field_time.ts";
import type { Page } from "../../http/pages/page.ts";
import type { Postgres, PostgresTransaction } from "../../storage/postgres/postgres.ts";
import { containing, type Counted, countedPage } from "../../storage/postgres/rows.ts";
import { mapInSlices } from "../../work/slices.ts";
import type { LogEntry, LogEntryLevel, Run } from "../model.ts";
import { type CursorPage, fromCursor, type Ordered } from "./cursor.ts";

type RunRow = Stored<
  Omit<Run, "records_failed">,
  "data_interval_start" | "data_interval_end" | "created_at" | "finished_at" | "last_updated_at"
> & { records_failed: number | null };

function shownRun({ records_failed, ...row }: RunRow): Run {
  return { ...shownRow(row), ...(records_failed !== null && { records_failed }) };
}

function columns(sql: Postgres) {
  return sql`
    r.id, r.status, r.records_completed, nullif(r.records_failed, 0) AS records_failed, r.latest_error,
    r.data_interval_start, r.data_interval_end, r.cursor, r.created_at, r.finished_at, r.last_updated_at,
    r.records_total_count, r.batch_export_id AS batch_export`;
}

/** Whether a run's interval is one of events' timestamps, and not of their arrival. */
export async function isByTimestamp(sql: Postgres, id: string): Promise<boolean> {
  const rows = await sql`
    SELECT FROM batch_export_runs r JOIN batch_export_backfills b ON b.id = r.backfill_id
    WHERE r.id = ${id} AND b.by_timestamp`;
  return rows.length > 0;
}

export async function readLastEnd(
  sql: Postgres | PostgresTransaction,
  batch_export_id: string,
): Promise<Date | null> {
  const [row] = await sql<{ last_end: Date | null }[]>`
    SELECT max(data_interval_end) AS last_end FROM batch_export_runs
    WHERE batch_export_id = ${batch_export_id} AND backfill_id IS NULL AND status <> 'Cancelled'`;
  return row?.last_end ?? null;
}

export async function latestRuns(sql: Postgres, ids: readonly string[]): Promise<Map<string, Run[]>> {
  const rows = await sql<RunRow[]>`
    SELECT ${columns(sql)} FROM unnest(${[...ids]}::uuid[]) AS e(id)
    CROSS JOIN LATERAL (
      SELECT * FROM batch_export_runs WHERE batch_export_id = e.id ORDER BY created_at DESC, id DESC LIMIT 10
    ) r
    ORDER BY r.created_at DESC, r.id DESC`;
  return Map.groupBy(rows.map(shownRun), ({ batch_export }) => batch_export);
}

/**
 * A page from the cursor on, and one row more when there are more. Moments are texts in UTC, all inclusive: of the
 * creation, and of the interval.
 * @param ordering created_at or data_interval_start, with a minus before it for descending.
 */
export async function listRuns(
  sql: Postgres,
  batch_export_id: string,
  filter: { [Name in "after" | "before" | "start" | "end"]?: string | undefined } & { ordering: string },
  { limit, cursor }: CursorPage,
): Promise<Ordered<Run>> {
  const { after = null, before = null, start = null, end = null, ordering } = filter;
  const key = ordering.endsWith("created_at")
    ? sql`r.created_at`
    : sql`coalesce(r.data_interval_start, '-infinity')`;
  const { beyond, order } = fromCursor(sql, [key, sql`r.id`], ordering.startsWith("-"), cursor);
  const rows = await sql<(RunRow & { order_key: string })[]>`
    SELECT ${columns(sql)}, (${key})::text AS order_key FROM batch_export_runs r
    WHERE r.batch_export_id = ${batch_export_id}
      AND r.created_at >= coalesce(${after}::text::timestamp AT TIME ZONE 'UTC', '-infinity')
      AND r.created_at <= coalesce(${before}::text::timestamp AT TIME ZONE 'UTC', 'infinity')
      AND (${start}::text IS NULL OR r.data_interval_start >= ${start}::text::timestamp AT TIME ZONE 'UTC')
      AND (${end}::text IS NULL OR r.data_interval_end <= ${end}::text::timestamp AT TIME ZONE 'UTC')
      AND ${beyond}
    ORDER BY ${order} LIMIT ${limit + 1}`;
  return await mapInSlices(rows, (row) => ({ ...shownRun(row), order_key: row.order_key }));
}

export async function getRun(sql: Postgres, batch_export_id: string, id: string): Promise<Run | undefined> {
  const [row] = await sql<RunRow[]>`
    SELECT ${columns(sql)} FROM batch_export_runs r
    WHERE r.id = ${id} AND r.batch_export_id = ${batch_export_id}`;
  return row && shownRun(row);
}

/** False when it had ended already. The process that runs it notices when it next renews its lease. */
export async function cancelRun(sql: Postgres, id: string, now: Date): Promise<boolean> {
  const rows = await sql`
    UPDATE batch_export_runs
    SET status = 'Cancelled', finished_at = ${now}, last_updated_at = ${now}
    WHERE id = ${id} AND status IN ('Starting', 'Running', 'FailedRetryable')
    RETURNING id`;
  return rows.length > 0;
}

/** Absent fields do not filter. Moments are texts in UTC, both exclusive. */
export interface LogFilter {
  batch_export_id: string;
  run_id?: string | undefined;
  level?: LogEntryLevel[] | undefined;
  search?: string | undefined;
  after?: string | undefined;
  before?: string | undefined;
}

/** A page of the log, newest first, and the count of all. The owner sees it: no secret may be written to it. */
export async function listLogs(sql: Postgres, filter: LogFilter, page: Page): Promise<Counted<LogEntry>> {
  const { run_id = null, level = null, after = null, before = null } = filter;
  const pattern = containing(filter.search);
  return await countedPage<Stored<LogEntry, "timestamp">, LogEntry>(sql, {
    columns: sql`l.batch_export_id AS log_source_id, l.run_id AS instance_id, l."timestamp", l.level, l.message`,
    from: sql`
      FROM batch_export_logs l
      WHERE l.batch_export_id = ${filter.batch_export_id}
        AND (${run_id}::uuid IS NULL OR l.run_id = ${run_id}::uuid)
        AND (${level}::text[] IS NULL OR l.level = ANY(${level}::text[]))
        AND (${pattern}::text IS NULL OR l.message ILIKE ${pattern}::text)
        AND l."timestamp" > coalesce(${after}::text::timestamp AT TIME ZONE 'UTC', '-infinity')
        AND l."timestamp" < coalesce(${before}::text::timestamp AT TIME ZONE 'UTC', 'infinity')`,
    order: sql`l."timestamp" DESC, l.id DESC`,
    page,
    show: shownRow,
  });
}
