// What was said while exports ran, read back. Never written here.

import { shownInTurns } from "../../http/pages/sliced.ts";
import { isoOf } from "../../http/fields/field_time.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import type { LogLevel, LogLine } from "../model.ts";

/** Absent fields do not filter. Moments as text that Postgres reads, both exclusive. */
export interface LogFilter {
  batch_export_id: string;
  run_id?: string | undefined;
  levels?: LogLevel[] | undefined;
  search?: string | undefined;
  after?: string | undefined;
  before?: string | undefined;
}

interface LogRow {
  batch_export_id: string;
  run_id: string | null;
  timestamp: Date;
  level: LogLevel;
  message: string;
}

/** Newest first, and how many there are. */
export async function listLogs(
  sql: Postgres,
  filter: LogFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ count: number; lines: LogLine[] }> {
  const { run_id = null, levels = null, search, after = null, before = null } = filter;
  const pattern = search === undefined ? null : `%${search.replace(/[\\%_]/g, String.raw`\$&`)}%`;
  const found = sql`
    FROM batch_export_logs l
    WHERE l.batch_export_id = ${filter.batch_export_id}
      AND (${run_id}::uuid IS NULL OR l.run_id = ${run_id}::uuid)
      AND (${levels}::text[] IS NULL OR l.level = ANY(${levels}::text[]))
      AND (${pattern}::text IS NULL OR l.message ILIKE ${pattern}::text)
      AND l."timestamp" > coalesce(${after}::text::timestamptz, '-infinity')
      AND l."timestamp" < coalesce(${before}::text::timestamptz, 'infinity')`;
  const [counted] = await sql<{ count: number }[]>`SELECT count(*)::integer AS count ${found}`;
  const rows = await sql<LogRow[]>`
    SELECT l.* ${found} ORDER BY l."timestamp" DESC, l.id DESC LIMIT ${limit} OFFSET ${offset}`;
  return { count: counted?.count ?? 0, lines: await shownInTurns(rows, lineOf) };
}

function lineOf(row: LogRow): LogLine {
  return {
    log_source_id: row.batch_export_id,
    instance_id: row.run_id,
    timestamp: isoOf(row.timestamp),
    level: row.level,
    message: row.message,
  };
}
