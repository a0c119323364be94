// Runs in Postgres while they are worked on: which are due, who claims them, how they end. All moments come from the
// caller's clock.

import { limits } from "../../core/limits.ts";
import { exportLimits } from "../limits.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import type { DestinationType } from "../destinations/config.ts";
import type { ExportFields } from "../exports/store.ts";
import { openStatuses, type RunStatus } from "../model.ts";
import { statusesBefore } from "./state.ts";

/** What of an export its runs do not need. */
type OwnOfExports = "name" | "interval" | "paused" | "last_paused_at" | "start_at" | "end_at";

/** A run with everything that its delivery needs. Moments in ms since 1970. */
export interface ClaimedRun extends Omit<ExportFields, OwnOfExports> {
  id: string;
  batch_export_id: string;
  backfill_id: string | null;
  /** Failed attempts so far. */
  attempts: number;
  /**
   * Whether it was running and its process is gone. Unless that process released it, this counts as a failed attempt.
   */
  taken_over: boolean;
  data_interval_start: Date | null;
  data_interval_end: Date;
  project_id: number;
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
  through: number;
  /** Destination types that this process cannot write to; their runs are left to other processes. */
  unable: readonly DestinationType[];
}

interface DueRun {
  id: string;
  project_id: number;
  backfill: boolean;
}

/**
 * Runs that are due, complete in ClickHouse and not claimed: the oldest of each project and kind before all second
 * ones, at most `each` of them.
 */
export async function dueRuns(sql: Postgres, { now, through, unable }: Due, each: number): Promise<DueRun[]> {
  const at = new Date(now);
  return await sql<DueRun[]>`
    SELECT id, project_id, backfill
    FROM (
      SELECT r.id, e.project_id, r.backfill_id IS NOT NULL AS backfill, r.next_attempt_at, r.data_interval_end,
        row_number() OVER (
          PARTITION BY e.project_id, r.backfill_id IS NOT NULL
          ORDER BY r.next_attempt_at, r.data_interval_end, r.id) AS place
      FROM batch_export_runs r JOIN batch_exports e ON e.id = r.batch_export_id
      WHERE r.status IN ${sql(statusesBefore("Running"))} AND r.next_attempt_at <= ${at}
        AND (r.lease_until IS NULL OR r.lease_until < ${at})
        AND r.data_interval_end <= ${new Date(through)} AND NOT e.deleted
        AND e.destination_type <> ALL(${[...unable]}::text[])
    ) due
    WHERE place <= ${each}
    ORDER BY place, backfill, next_attempt_at, data_interval_end, id
    LIMIT ${limits.claimCandidatesMax}`;
}

/** Claims those of the runs that are still free, for `owner`, until the lease ends. */
export async function claimRuns(
  sql: Postgres,
  { owner, now, ids }: { owner: string; now: number; ids: readonly string[] },
): Promise<ClaimedRun[]> {
  const at = new Date(now);
  return await sql<ClaimedRun[]>`
    UPDATE batch_export_runs r
    SET status = 'Running', attempts = r.attempts + due.lost::integer, lease_owner = ${owner},
      lease_until = ${new Date(now + exportLimits.leaseMs)}, last_updated_at = ${at}
    FROM (
      SELECT r.id, r.status = 'Running' AS taken_over,
        r.status = 'Running' AND r.lease_until IS NOT NULL AS lost
      FROM batch_export_runs r JOIN batch_exports e ON e.id = r.batch_export_id
      WHERE r.status IN ${sql(statusesBefore("Running"))} AND r.next_attempt_at <= ${at}
        AND (r.lease_until IS NULL OR r.lease_until < ${at}) AND NOT e.deleted
        AND r.id = ANY(${[...ids]}::uuid[])
      ORDER BY r.id
      FOR UPDATE OF r SKIP LOCKED
    ) due, batch_exports e
    WHERE r.id = due.id AND e.id = r.batch_export_id
    RETURNING r.id, r.batch_export_id, r.backfill_id, r.attempts, due.taken_over, r.data_interval_start,
      r.data_interval_end, e.project_id, e.model, e.native_query, e.filters, e.destination_type,
      e.destination_config, e.destination_secrets`;
}

/**
 * Marks runs that were due for untakenMsMax and that no process seems to serve, this one included. They stay due.
 * @returns those that were not marked before.
 */
export async function showUntaken(
  sql: Postgres,
  { now, through, unable }: Due,
  reason: string,
): Promise<{ id: string; batch_export_id: string }[]> {
  const at = new Date(now);
  return await sql<{ id: string; batch_export_id: string }[]>`
    UPDATE batch_export_runs SET latest_error = ${reason}, last_updated_at = ${at}
    WHERE id IN (
      SELECT r.id FROM batch_export_runs r JOIN batch_exports e ON e.id = r.batch_export_id
      WHERE r.status IN ${sql(statusesBefore("Running"))}
        AND r.next_attempt_at <= ${new Date(now - exportLimits.untakenMsMax)}
        AND (r.lease_until IS NULL OR r.lease_until < ${at})
        AND r.data_interval_end <= ${new Date(through)} AND NOT e.deleted
        AND e.destination_type = ANY(${[...unable]}::text[]) AND r.latest_error IS DISTINCT FROM ${reason}
      FOR UPDATE OF r SKIP LOCKED)
    RETURNING id, batch_export_id`;
}

/** Extends the lease of a run; false when it is no longer `owner`'s: cancelled, or claimed by another. */
export async function keepRun(sql: Postgres, id: string, owner: string, now: number): Promise<boolean> {
  const kept = await sql`
    UPDATE batch_export_runs r SET lease_until = ${new Date(now + exportLimits.leaseMs)}
    FROM batch_exports e
    WHERE r.id = ${id} AND r.lease_owner = ${owner} AND r.status = 'Running' AND e.id = r.batch_export_id
      AND NOT e.deleted AND NOT EXISTS (
        SELECT FROM batch_export_backfills b WHERE b.id = r.backfill_id AND b.status = 'Cancelled')`;
  return kept.count > 0;
}

export interface Ending {
  attempts: number;
  status: RunStatus;
  records_completed: number | null;
  records_total_count: number | null;
  latest_error: string | null;
  /** For FailedRetryable: when it is retried. */
  next_attempt_at?: number;
}

/** Writes the result of an attempt; false when the run was no longer `owner`'s. */
export async function endRun(
  sql: Postgres,
  id: string,
  owner: string,
  ending: Ending,
  now: number,
): Promise<boolean> {
  const at = new Date(now);
  const open = openStatuses.includes(ending.status);
  const ended = await sql`
    UPDATE batch_export_runs
    SET status = ${ending.status}, attempts = ${ending.attempts}, records_completed = ${ending.records_completed},
      records_total_count = ${ending.records_total_count}, latest_error = ${ending.latest_error},
      next_attempt_at = ${new Date(ending.next_attempt_at ?? now)}, finished_at = ${open ? null : at},
      last_updated_at = ${at}, lease_owner = NULL, lease_until = NULL
    WHERE id = ${id} AND lease_owner = ${owner} AND status IN ${sql(statusesBefore(ending.status))}`;
  return ended.count > 0;
}

/** Releases running runs, so that another process can claim them at once. */
export async function releaseRuns(sql: Postgres, owner: string, now: number): Promise<void> {
  await sql`
    UPDATE batch_export_runs SET lease_owner = NULL, lease_until = NULL, last_updated_at = ${new Date(now)}
    WHERE id IN (
      SELECT id FROM batch_export_runs WHERE lease_owner = ${owner} AND status = 'Running'
      FOR UPDATE SKIP LOCKED)`;
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
