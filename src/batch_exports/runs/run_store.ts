// Runs in Postgres while they are open: due ones, claims, results. All moments come from the caller's clock.

import { storableText } from "../../core/foreign_text.ts";
import type { LeasedRows } from "../../storage/postgres/lease_queue.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import type { DestinationType } from "../destinations/destinations.ts";
import { exportLimits } from "../limits.ts";
import { type LogEntryLevel, openStatuses, type RunStatus } from "../model.ts";
import type { ExportFields } from "../stores/export_store.ts";

/** A run with everything that its delivery needs. Moments in ms since 1970. */
export interface ClaimedRun extends Pick<
  ExportFields,
  "model" | "native_query" | "filters" | "destination_type" | "destination_config" | "destination_secrets"
> {
  id: string;
  claim: string;
  batch_export_id: string;
  backfill_id: string | null;
  own_names: boolean;
  /** Whether its interval is one of events' timestamps, and not of their arrival. */
  by_timestamp: boolean;
  /** Failed attempts so far. */
  attempts: number;
  /**
   * Whether an earlier process ended while it ran the run. That counts as a failed attempt, unless it released the run.
   */
  taken_over: boolean;
  data_interval_start: Date | null;
  data_interval_end: Date;
  project_id: number;
  /** The project's. */
  timezone: string;
  /** The project's own. */
  event_retention_days: number | null;
}

/** Cancels runs of deleted exports and cancelled backfills that no process works on. */
export async function cancelOrphans(sql: Postgres, now: number): Promise<void> {
  const at = new Date(now);
  await sql`
    UPDATE batch_export_runs
    SET status = 'Cancelled', finished_at = ${at}, last_updated_at = ${at}, lease_owner = NULL, lease_until = NULL
    WHERE id IN (
      SELECT r.id FROM batch_export_runs r JOIN batch_exports e ON e.id = r.batch_export_id
      WHERE r.status IN ${sql(openStatuses)} AND (r.lease_until IS NULL OR r.lease_until < ${at})
        AND (e.deleted OR EXISTS (
          SELECT FROM batch_export_backfills b WHERE b.id = r.backfill_id AND b.status = 'Cancelled'))
      FOR UPDATE OF r SKIP LOCKED)`;
}

export interface Due {
  now: number;
  /** Every event that arrived before it is stored. */
  watermark: number;
  /** Destination types that this process cannot write to; their runs are left to other processes. */
  unsupported: readonly DestinationType[];
}

/** The queue of runs: those that are due, and complete in ClickHouse. A backfill's run counts for two. */
export function leasedRuns(sql: Postgres, { now, watermark, unsupported }: Due): LeasedRows {
  return {
    table: "batch_export_runs",
    claim: "lease_owner",
    until: "lease_until",
    ids: sql`uuid[]`,
    joins: sql`JOIN batch_exports e ON e.id = q.batch_export_id`,
    project: sql`e.project_id`,
    weight: sql`CASE WHEN q.backfill_id IS NULL THEN 1 ELSE ${exportLimits.backfillWeight}::integer END`,
    // A running one, too: another process continues after one ended.
    due: sql`
      q.status IN ${sql(openStatuses)} AND q.next_attempt_at <= ${new Date(now)} AND NOT e.deleted
        AND q.data_interval_end <= ${new Date(watermark)} AND e.destination_type <> ALL(${[...unsupported]}::text[])
        -- A deletion of persons takes a moment to be stored where runs read it.
        AND NOT (e.model = 'persons' AND EXISTS (
          SELECT FROM person_deletion_orders o WHERE o.project_id = e.project_id AND o.finished_at IS NULL
            AND to_timestamp(o.ordered_at / 1e6) > ${new Date(now - exportLimits.deletionMsMax)}
            AND to_timestamp(o.ordered_at / 1e6) < q.data_interval_end))`,
    order: sql`next_attempt_at, data_interval_end, id`,
    kept: sql`
      q.status = 'Running' AND NOT e.deleted AND NOT EXISTS (
        SELECT FROM batch_export_backfills b WHERE b.id = q.backfill_id AND b.status = 'Cancelled')`,
    // A run that its process did not release has lost an attempt.
    set: sql`,
      status = 'Running', last_updated_at = ${new Date(now)},
      attempts = q.attempts + (before.status = 'Running' AND before.lease_until IS NOT NULL)::integer`,
    shown: sql`
      q.id, q.batch_export_id, q.backfill_id, q.attempts, before.status = 'Running' AS taken_over,
      q.data_interval_start, q.data_interval_end, e.project_id, e.model, e.native_query, e.filters,
      (SELECT timezone FROM projects WHERE id = e.project_id) AS timezone,
      (SELECT event_retention_days FROM projects WHERE id = e.project_id) AS event_retention_days,
      EXISTS (SELECT FROM batch_export_backfills b WHERE b.id = q.backfill_id AND b.by_timestamp) AS by_timestamp,
      e.destination_type, e.destination_config, e.destination_secrets, e.own_names`,
  };
}

/**
 * Marks runs that have been due for untakenMsMax and that no process seems able to serve. They stay due.
 * @returns those that were not marked before.
 */
export async function markUnservable(sql: Postgres, { now, watermark, unsupported }: Due, reason: string) {
  const at = new Date(now);
  return await sql<{ id: string; batch_export_id: string }[]>`
    UPDATE batch_export_runs SET latest_error = ${reason}, last_updated_at = ${at}
    WHERE id IN (
      SELECT r.id FROM batch_export_runs r JOIN batch_exports e ON e.id = r.batch_export_id
      WHERE r.status IN ${sql(openStatuses)}
        AND r.next_attempt_at <= ${new Date(now - exportLimits.untakenMsMax)}
        AND (r.lease_until IS NULL OR r.lease_until < ${at})
        AND r.data_interval_end <= ${new Date(watermark)} AND NOT e.deleted
        AND e.destination_type = ANY(${[...unsupported]}::text[]) AND r.latest_error IS DISTINCT FROM ${reason}
      FOR UPDATE OF r SKIP LOCKED)
    RETURNING id, batch_export_id`;
}

export interface AttemptResult {
  attempts: number;
  status: RunStatus;
  /** Rows that the destination accepted, and those that it refused; unknown of a failed attempt. */
  rows?: { completed: number; failed: number };
  latest_error?: string;
  /** The next try of a FailedRetryable run. */
  next_attempt_at?: number;
}

/** Writes the result of an attempt; false when its claim was lost. */
export async function endRun(
  sql: Postgres,
  { id, claim }: ClaimedRun,
  { status, attempts, rows, latest_error, next_attempt_at }: AttemptResult,
  now: number,
): Promise<boolean> {
  const at = new Date(now);
  const ended = await sql`
    UPDATE batch_export_runs
    SET status = ${status}, attempts = ${attempts}, records_completed = ${rows?.completed ?? null},
      records_failed = ${rows?.failed ?? null}, records_total_count = ${rows ? rows.completed + rows.failed : null},
      latest_error = ${latest_error ?? null},
      next_attempt_at = ${new Date(next_attempt_at ?? now)}, finished_at = ${openStatuses.includes(status) ? null : at},
      last_updated_at = ${at}, lease_owner = NULL, lease_until = NULL
    WHERE id = ${id} AND lease_owner = ${claim} AND status = 'Running'`;
  return ended.count > 0;
}

/** The span of what an export's runs covered that completed before this interval's end, in ms since 1970. */
export async function readExported(sql: Postgres, { batch_export_id, data_interval_end }: ClaimedRun) {
  const [span] = await sql<{ from: Date; until: Date | null }[]>`
    SELECT min(coalesce(data_interval_start, 'epoch')) AS from, max(data_interval_end) AS until
    FROM batch_export_runs WHERE batch_export_id = ${batch_export_id} AND status = 'Completed'
      AND finished_at < ${data_interval_end}`;
  return span?.until ? { from: span.from.getTime(), until: span.until.getTime() } : undefined;
}

/** Stores the keys of an attempt's files, before it writes them. In another place, equal keys are other files. */
export async function recordFiles(sql: Postgres, { id }: ClaimedRun, place: string, keys: readonly string[]) {
  const added = sql.json([{ place, keys }] as never);
  await sql`UPDATE batch_export_runs SET files = coalesce(files, '[]') || ${added}::jsonb WHERE id = ${id}`;
}

/** The runs of an interval whose files a run replaces: itself, and those that have ended. */
const replaced = (sql: Postgres, run: ClaimedRun) => sql`
  batch_export_id = ${run.batch_export_id} AND data_interval_end = ${run.data_interval_end}
  AND data_interval_start IS NOT DISTINCT FROM ${run.data_interval_start} AND files IS NOT NULL
  AND (id = ${run.id} OR status <> ALL(${[...openStatuses]}))`;

/** Whether another run has written files of its interval there. */
export async function wasExported(sql: Postgres, run: ClaimedRun, place: string): Promise<boolean> {
  const rows = await sql`
    SELECT FROM batch_export_runs, jsonb_array_elements(files) AS recorded
    WHERE ${replaced(sql, run)} AND id <> ${run.id} AND status = 'Completed' AND recorded ->> 'place' = ${place}
    LIMIT 1`;
  return rows.length > 0;
}

/** The keys that attempts at a run's interval recorded, without those that it wrote. */
export async function readStale(sql: Postgres, run: ClaimedRun, place: string, written: readonly string[]) {
  const rows = await sql<{ key: string }[]>`
    SELECT DISTINCT jsonb_array_elements_text(recorded -> 'keys') AS key
    FROM batch_export_runs, jsonb_array_elements(files) AS recorded
    WHERE ${replaced(sql, run)} AND recorded ->> 'place' = ${place}`;
  return [...new Set(rows.map(({ key }) => key)).difference(new Set(written))].toSorted();
}

/** Forgets the names of files that were removed; the last ones of the run stay, if it wrote some. */
export async function forgetFiles(sql: Postgres, run: ClaimedRun, isWritten: boolean): Promise<void> {
  await sql`
    UPDATE batch_export_runs
    SET files = CASE WHEN id = ${run.id} AND ${isWritten} THEN jsonb_build_array(files -> -1) END
    WHERE ${replaced(sql, run)}`;
}

/**
 * Pauses an export that keeps failing, and cancels its backfills. Runs from before its last pause do not count.
 * @returns whether it was paused now.
 */
export async function pauseFailing(sql: Postgres, batch_export_id: string, now: number): Promise<boolean> {
  const at = new Date(now);
  return await sql.begin(async (tx) => {
    const paused = await tx`
      UPDATE batch_exports e SET paused = true, last_paused_at = ${at}, last_updated_at = ${at}
      WHERE id = ${batch_export_id} AND NOT paused AND ${exportLimits.failuresMax} <= (
        SELECT count(*) FROM (
          SELECT status FROM batch_export_runs r
          WHERE r.batch_export_id = e.id AND r.last_updated_at > coalesce(e.last_paused_at, '-infinity')
          ORDER BY last_updated_at DESC LIMIT ${exportLimits.failuresAmong}) last
        WHERE status = 'Failed')`;
    if (paused.count === 0) return false;
    await tx`
      UPDATE batch_export_backfills SET status = 'Cancelled', finished_at = ${at}, last_updated_at = ${at}
      WHERE batch_export_id = ${batch_export_id} AND status IN ('Starting', 'Running')`;
    return true;
  });
}

/**
 * Writes a line of an export's log. Its owner sees it, so it must contain no secret.
 * @param run_id null for what concerns the export itself. @param now ms since 1970.
 */
export async function writeLog(
  sql: Postgres,
  now: number,
  { batch_export_id, run_id }: { batch_export_id: string; run_id: string | null },
  level: LogEntryLevel,
  message: string,
): Promise<void> {
  await sql`
    INSERT INTO batch_export_logs (batch_export_id, run_id, "timestamp", level, message)
    VALUES (${batch_export_id}, ${run_id}, ${new Date(now)}, ${level},
      ${storableText(message, exportLimits.lineCharsMax)})`;
}

/** Deletes lines older than exportLimits.logsAgeMsMax. */
export async function deleteOldLogs(sql: Postgres, now: number): Promise<void> {
  await sql`DELETE FROM batch_export_logs WHERE "timestamp" < ${new Date(now - exportLimits.logsAgeMsMax)}`;
}
