// Schedules and backfills in Postgres: each advances by one run at a time. All moments come from the caller's clock.

import type { Postgres, PostgresTransaction } from "../../storage/postgres/postgres.ts";
import type { Cadence, ExportInterval, ExportSchedule } from "../interval.ts";
import { exportLimits } from "../limits.ts";
import { openStatuses } from "../model.ts";

interface DueExport extends ExportSchedule, Cadence {
  id: string;
  revision: string;
}

/**
 * Advances schedules: decides about every export whose next interval may have ended and that has no open run.
 * @param decide the interval to run, if there is one; up to when nothing else is to be run, and when the next one ends.
 * @returns how many runs were created.
 */
export async function scheduleRuns(
  sql: Postgres,
  now: number,
  decide: (due: DueExport) => { run: ExportInterval | undefined; until: number; due_at: number },
): Promise<number> {
  const due = await sql<DueExport[]>`
      SELECT e.*, (SELECT max(data_interval_end) FROM batch_export_runs r
          WHERE r.batch_export_id = e.id AND r.backfill_id IS NULL) AS last_end
      FROM (
        SELECT id, project_id, xmin::text AS revision, "interval", timezone, offset_day, offset_hour, start_at, end_at,
          coalesce(scheduled_until, created_at) AS scheduled_until
        FROM batch_exports WHERE NOT deleted AND NOT paused AND (due_at IS NULL OR due_at <= ${new Date(now)})
      ) e
      WHERE (e.start_at IS NULL OR e.start_at <= ${new Date(now)})
        AND (e.end_at IS NULL OR e.scheduled_until < e.end_at)
        AND NOT EXISTS (
          SELECT FROM batch_export_runs r
          WHERE r.batch_export_id = e.id AND r.backfill_id IS NULL AND r.status IN ${sql(openStatuses)})
      ORDER BY row_number() OVER (PARTITION BY e.project_id ORDER BY e.scheduled_until, e.id), e.scheduled_until, e.id
      LIMIT ${exportLimits.exportsPerTickMax}`;
  let created = 0;
  for (const item of due) {
    const { run, until, due_at } = decide(item);
    // One transaction each: locks on several exports could deadlock with their deletion.
    created += await sql.begin(async (tx) => {
      // Unless another process advanced it or a request changed it meanwhile.
      const advanced = await tx`
        UPDATE batch_exports SET scheduled_until = ${new Date(until)}, due_at = ${new Date(due_at)}
        WHERE id = ${item.id} AND NOT deleted AND NOT paused AND xmin::text = ${item.revision}`;
      if (advanced.count === 0 || !run) return 0;
      return await insertRun(tx, { batch_export_id: item.id, backfill_id: null }, run, now);
    });
  }
  return created;
}

/** @returns 1, or 0 when the interval has a run already. */
async function insertRun(
  tx: PostgresTransaction,
  { batch_export_id, backfill_id }: { batch_export_id: string; backfill_id: string | null },
  { start, end }: ExportInterval,
  now: number,
): Promise<number> {
  const at = new Date(now);
  const created = await tx`
    INSERT INTO batch_export_runs (id, batch_export_id, backfill_id, data_interval_start, data_interval_end,
      next_attempt_at, created_at, last_updated_at)
    VALUES (${crypto.randomUUID()}, ${batch_export_id}, ${backfill_id}, ${start === null ? null : new Date(start)},
      ${new Date(end)}, ${at}, ${at}, ${at})
    ON CONFLICT DO NOTHING`;
  return created.count;
}

export interface OpenBackfill extends Cadence {
  id: string;
  batch_export_id: string;
  project_id: number;
  model: "events" | "persons";
  by_timestamp: boolean;
  /** The end in the request; null: until now. */
  end_at: Date | null;
  range_start: Date | null;
  range_end: Date;
  scheduled_until: Date | null;
  created_at: Date;
}

/** Backfills without an open run, which are to get the next one, or to end. */
export async function waitingBackfills(sql: Postgres): Promise<OpenBackfill[]> {
  return await sql<OpenBackfill[]>`
    SELECT b.id, b.batch_export_id, e.project_id, e.model, b."interval", b.timezone, b.offset_day, b.offset_hour,
      b.by_timestamp, b.end_at, b.range_start, b.range_end, b.scheduled_until, b.created_at
    FROM batch_export_backfills b JOIN batch_exports e ON e.id = b.batch_export_id
    WHERE b.status IN ('Starting', 'Running') AND NOT e.deleted
      AND NOT EXISTS (
        SELECT FROM batch_export_runs r WHERE r.backfill_id = b.id AND r.status IN ${sql(openStatuses)})
    ORDER BY row_number() OVER (PARTITION BY e.project_id ORDER BY b.created_at, b.id), b.created_at, b.id
    LIMIT ${exportLimits.exportsPerTickMax}`;
}

/** Sets the range of a backfill, once, and its number of runs. */
export async function setRange(
  sql: Postgres,
  id: string,
  range: { start: number; end: number },
  runs: number,
  now: number,
): Promise<void> {
  await sql`
    UPDATE batch_export_backfills
    SET range_start = ${new Date(range.start)}, range_end = ${new Date(range.end)}, total_runs = ${runs},
      last_updated_at = ${new Date(now)}
    WHERE id = ${id} AND (range_start IS NULL OR total_runs IS NULL)`;
}

/** Creates the next run of a backfill, in one of several processes. */
export async function advanceBackfill(
  sql: Postgres,
  backfill: OpenBackfill,
  run: ExportInterval,
  now: number,
): Promise<number> {
  const { id, batch_export_id, scheduled_until } = backfill;
  return await sql.begin(async (tx) => {
    // The export is locked first, as in its deletion: the reverse order could deadlock.
    await tx`SELECT FROM batch_exports WHERE id = ${batch_export_id} FOR KEY SHARE`;
    const advanced = await tx`
      UPDATE batch_export_backfills
      SET status = 'Running', scheduled_until = ${new Date(run.end)}, last_updated_at = ${new Date(now)}
      WHERE id = ${id} AND status IN ('Starting', 'Running')
        AND date_trunc('milliseconds', scheduled_until) IS NOT DISTINCT FROM ${scheduled_until}`;
    return advanced.count === 0 ? 0 : insertRun(tx, { batch_export_id, backfill_id: id }, run, now);
  });
}

/**
 * Ends a backfill without a further interval. @returns how its runs ended; undefined when another process
 * ended it.
 */
export async function endBackfill(sql: Postgres, id: string, status: "Completed" | "Failed", now: number) {
  const [ended] = await sql<{ runs: number; failed: number }[]>`
    UPDATE batch_export_backfills SET status = ${status}, finished_at = ${new Date(now)},
      last_updated_at = ${new Date(now)}
    WHERE id = ${id} AND status IN ('Starting', 'Running')
    RETURNING (SELECT count(*)::integer FROM batch_export_runs WHERE backfill_id = ${id}) AS runs,
      (SELECT count(*)::integer FROM batch_export_runs WHERE backfill_id = ${id} AND status <> 'Completed')
        AS failed`;
  return ended;
}
