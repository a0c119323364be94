// The SQL of checks. A check ends in one transaction, fenced by its claim: the alert's state, the check, and the
// deliveries that tell it are stored together or not at all, so a killed checker neither loses nor repeats a crossing.

import { newUuid } from "../../core/id.ts";
import { shownRow, type Stored } from "../../http/fields/field_time.ts";
import type { Page } from "../../http/pages/page.ts";
import type { LeasedRows } from "../../storage/postgres/lease_queue.ts";
import type { Postgres, PostgresTransaction } from "../../storage/postgres/postgres.ts";
import { countedPage } from "../../storage/postgres/rows.ts";
import type { Report } from "../report/model.ts";
import { alertLimits } from "./limits.ts";
import type { Alert } from "./model.ts";

export interface ClaimedAlert extends Pick<
  Alert,
  "name" | "threshold" | "condition" | "config" | "calculation_interval" | "skip_weekend"
> {
  id: string;
  claim: string;
  project_id: number;
  insight_id: number;
  timezone: string;
  firing: boolean;
  failures: number;
  last_value: number | null;
  due_at: Date;
  /** Whether its maker may still make alerts in the project. */
  is_allowed: boolean;
}

export function leasedAlerts(sql: Postgres, now: number): LeasedRows {
  const [at, ahead] = [new Date(now), new Date(now + alertLimits.aheadMsMax)];
  return {
    table: "alerts",
    claim: "claim",
    until: "claimed_until",
    ids: sql`uuid[]`,
    joins: sql`JOIN projects p ON p.id = q.project_id`,
    project: sql`q.project_id`,
    weight: sql`1`,
    due: sql`
      q.enabled AND coalesce(q.next_check_at <= ${at} OR q.next_check_at > ${ahead}, true)
      AND coalesce(q.snoozed_until <= ${at}, true)`,
    order: sql`next_check_at NULLS FIRST, id`,
    kept: sql`true`,
    set: sql``,
    shown: sql`
      q.id, q.project_id, q.insight_id, q.name, q.threshold, q.condition, q.config, q.calculation_interval,
      q.skip_weekend, q.firing, q.failures, q.last_value, p.timezone,
      coalesce(greatest(q.next_check_at, q.snoozed_until), q.last_checked_at, q.created_at) AS due_at,
      EXISTS (SELECT FROM organization_memberships m
              WHERE m.user_id = q.created_by AND m.organization_id = p.organization_id AND m.level >= 1) AS is_allowed`,
  };
}

export interface CheckEnd {
  calculated_value: number | null;
  value: number | null;
  previous_value: number | null;
  state: Alert["state"];
  error: string | null;
  firing: boolean;
  failures: number;
  enabled: boolean;
  next_check_at: Date;
  /** What is told; undefined when nothing crossed. */
  report: Report | undefined;
}

/** Stores the end of a check. False when the claim was lost: then nothing is stored. */
export async function endCheck(
  sql: Postgres,
  { id, claim }: ClaimedAlert,
  end: CheckEnd,
  now: Date,
): Promise<boolean> {
  const { calculated_value, value, previous_value, state, error, report, ...alert } = end;
  return await sql.begin(async (tx) => {
    const set = { ...alert, last_checked_at: now, snoozed_until: null, claim: null, claimed_until: null };
    const last = { ...(value !== null && { last_value: value }), ...(report && { last_notified_at: now }) };
    const rows = await tx`
      UPDATE alerts SET ${tx({ ...set, ...last } as never)} WHERE id = ${id} AND claim = ${claim} RETURNING id`;
    if (rows.length === 0) return false;
    const check = newUuid();
    const figures = { calculated_value, value, previous_value };
    const row = { id: check, alert_id: id, created_at: now, ...figures, state, error };
    await tx`INSERT INTO alert_checks ${tx(row as never)}`;
    if (report)
      await tx`
        INSERT INTO subscription_deliveries (uuid, alert_check_id, target_type, target_value, due_at, next_attempt_at,
          created_at, report)
        SELECT gen_random_uuid(), ${check}, t.target_type, t.target_value, ${now}::timestamptz, ${now}::timestamptz,
          ${now}::timestamptz, ${tx.json(report as never)}
        FROM alerts a JOIN projects p ON p.id = a.project_id CROSS JOIN LATERAL (
          SELECT 'email', string_agg(u.email, ', ' ORDER BY u.id) FROM users u
          JOIN organization_memberships m ON m.user_id = u.id AND m.organization_id = p.organization_id
          WHERE u.id = ANY(a.subscribed_users)
          UNION ALL SELECT a.target_type, a.target_value) AS t (target_type, target_value)
        WHERE a.id = ${id} AND t.target_value IS NOT NULL`;
    await pruneChecks(tx, id);
    return true;
  });
}

/** Deletes all but the latest checksKeptMax checks. */
export async function pruneChecks(sql: PostgresTransaction, alert_id: string): Promise<void> {
  await sql`
    DELETE FROM alert_checks WHERE alert_id = ${alert_id} AND id <= (
      SELECT id FROM alert_checks WHERE alert_id = ${alert_id} ORDER BY id DESC
      OFFSET ${alertLimits.checksKeptMax} LIMIT 1)`;
}

type CheckRow = Stored<NonNullable<Alert["checks"]>[number], "created_at">;

/** A page of an alert's checks, the latest first. */
export async function listChecks(sql: Postgres, alert_id: string, page: Page) {
  const columnsOfChecks = sql`
    k.id, k.created_at, k.calculated_value, k.value, k.previous_value, k.state,
    d.status IS NOT NULL AS targets_notified, d.status AS delivery_status, coalesce(k.error, d.error) AS error`;
  const from = sql`
    FROM alert_checks k LEFT JOIN LATERAL (
      SELECT status, error FROM subscription_deliveries WHERE alert_check_id = k.id
      ORDER BY status DESC LIMIT 1) d ON true
    WHERE k.alert_id = ${alert_id}`;
  const listing = { columns: columnsOfChecks, from, order: sql`k.id DESC`, page };
  return await countedPage(sql, { ...listing, show: shownRow<CheckRow> });
}

/** Tells the member with this address nothing more. */
export async function leaveAlert(sql: Postgres, id: string, address: string): Promise<void> {
  await sql`
    UPDATE alerts SET subscribed_users = array_remove(subscribed_users, u.id)
    FROM users u WHERE alerts.id = ${id} AND lower(u.email) = ${address.toLowerCase()}`;
}
