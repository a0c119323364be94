// The log of an export and its runs, for the export's owner. Its lines are shown: no secret may be written to it.

import { shownRow, type Stored } from "../../http/fields/field_time.ts";
import type { Page } from "../../http/pages/page.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { containing, type Counted, countedPage } from "../../storage/postgres/rows.ts";
import type { LogEntry, LogEntryLevel } from "../model.ts";

/** Absent fields do not filter. Moments are texts in UTC, both exclusive. */
export interface LogFilter {
  batch_export_id: string;
  run_id?: string | undefined;
  level?: LogEntryLevel[] | undefined;
  search?: string | undefined;
  after?: string | undefined;
  before?: string | undefined;
}

/** A page, newest first, and the count of all. */
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
