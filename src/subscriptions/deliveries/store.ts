// The SQL of deliveries, of subscriptions and of alerts. Every write is conditional on its claim: a process whose claim
// expired changes nothing.

import { newUuid } from "../../core/id.ts";
import type { LeasedRows } from "../../storage/postgres/lease_queue.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { exactMoment } from "../../storage/postgres/rows.ts";
import { subscriptionLimits } from "../limits.ts";
import type { TargetType } from "../model.ts";
import type { Report } from "../report/model.ts";
import type { ReportRequest } from "../report/report.ts";
import type { Schedule } from "../schedule.ts";
import { ownZone } from "../store.ts";

export interface DueSubscription extends Schedule {
  id: number;
  next_delivery_date: Date;
}

/**
 * Turns subscriptions that are due by `now` into deliveries and sets their next dates to what `next` returns, in one
 * transaction. Resolves to how many there were, at most subscriptionLimits.dueAtOnceMax.
 */
export async function enqueueDue(sql: Postgres, now: Date, next: (due: DueSubscription) => Date | null) {
  return await sql.begin(async (tx) => {
    const due = await tx<DueSubscription[]>`
      SELECT id, frequency, interval, byweekday, bysetpos, count, ${ownZone(tx)}, next_delivery_date,
        ${exactMoment(tx, "s", "start_date")}, ${exactMoment(tx, "s", "until_date")}
      FROM subscriptions s
      WHERE next_delivery_date <= ${now} AND NOT deleted AND disabled_at IS NULL
      ORDER BY next_delivery_date LIMIT ${subscriptionLimits.dueAtOnceMax}
      FOR UPDATE SKIP LOCKED`;
    if (due.length === 0) return 0;
    const ids = due.map(({ id }) => id);
    const nexts = due.map((item) => next(item)?.toISOString() ?? null);
    await tx`
      INSERT INTO subscription_deliveries (uuid, subscription_id, due_at, next_attempt_at, created_at)
      SELECT * FROM unnest(
        ${due.map(() => newUuid())}::uuid[], ${ids}::integer[],
        ${due.map(({ next_delivery_date }) => next_delivery_date.toISOString())}::text[]::timestamptz[],
        ${due.map(() => now.toISOString())}::text[]::timestamptz[],
        ${due.map(() => now.toISOString())}::text[]::timestamptz[])
      ON CONFLICT (subscription_id, due_at) WHERE NOT test DO NOTHING`;
    await tx`
      UPDATE subscriptions s SET next_delivery_date = moved.next
      FROM unnest(${ids}::integer[], ${nexts}::text[]::timestamptz[]) AS moved (id, next)
      WHERE s.id = moved.id`;
    return due.length;
  });
}

/**
 * The state of one recipient. `sending` is stored before the send: when a later attempt finds it, it is unknown whether
 * the message arrived.
 */
export interface Recipient {
  state: "sending" | "sent" | "again" | "refused" | "doubt";
  error?: string;
  /** The side at fault. */
  blame?: "target" | "server";
}

export type Recipients = Record<string, Recipient>;

export interface ClaimedDelivery extends ReportRequest {
  id: number;
  uuid: string;
  claim: string;
  test: boolean;
  /** Including this one. */
  attempts: number;
  report: Report | null;
  recipients: Recipients;
  /** null: it tells what an alert's check found. */
  subscription_id: number | null;
  alert_id: string | null;
  alert_state: string | null;
  target_type: TargetType;
  target_value: string;
  deleted: boolean;
}

/** The queue of deliveries: a claim on one counts as an attempt. */
export function leasedDeliveries(sql: Postgres, now: number): LeasedRows {
  return {
    table: "subscription_deliveries",
    claim: "claim",
    until: "claimed_until",
    ids: sql`integer[]`,
    joins: sql`
      LEFT JOIN subscriptions s ON s.id = q.subscription_id
      LEFT JOIN alert_checks k ON k.id = q.alert_check_id LEFT JOIN alerts a ON a.id = k.alert_id`,
    project: sql`coalesce(s.project_id, a.project_id)`,
    weight: sql`1`,
    due: sql`q.next_attempt_at <= ${new Date(now)}`,
    order: sql`next_attempt_at, id`,
    kept: sql`true`,
    set: sql`, attempts = q.attempts + 1`,
    shown: sql`
      q.id, q.uuid, q.due_at, q.test, q.attempts, q.report, q.recipients, q.subscription_id,
      a.id AS alert_id, k.state AS alert_state, coalesce(s.project_id, a.project_id) AS project_id,
      s.dashboard_id, coalesce(s.insight_id, a.insight_id) AS insight_id, s.dashboard_export_insights,
      coalesce(s.target_type, q.target_type) AS target_type, coalesce(s.target_value, q.target_value) AS target_value,
      s.title, s.invite_message, coalesce(s.deleted, false) AS deleted,
      s.frequency, s.interval, s.byweekday, s.bysetpos, ${ownZone(sql)},
      (SELECT p.report FROM subscription_deliveries p
       WHERE p.subscription_id = q.subscription_id AND NOT p.test AND p.status = 'delivered' AND p.id <> q.id
       ORDER BY p.id DESC LIMIT 1) AS before`,
  };
}

type Claimed = Pick<ClaimedDelivery, "id" | "claim">;

/**
 * Stores that a message is about to be sent, and extends the claim to `until`. False when the claim was lost: then
 * nothing may be sent.
 */
export async function recordSending(
  sql: Postgres,
  { id, claim }: Claimed,
  sending: { report: Report; recipients: Recipients; now: Date; until: Date },
): Promise<boolean> {
  const rows = await sql`
    UPDATE subscription_deliveries
    SET recipients = ${sql.json(sending.recipients as never)}, claimed_until = ${sending.until},
      report = coalesce(report, ${sql.json(sending.report as never)})
    WHERE id = ${id} AND claim = ${claim} AND claimed_until > ${sending.now}
    RETURNING id`;
  return rows.length > 0;
}

export interface DeliveryResult {
  status: "delivered" | "failed" | "retrying";
  error: string | null;
  recipients: Recipients;
  /** When it is retried; null for other states. */
  next_attempt_at: Date | null;
  delivered_at: Date | null;
  /** Whether it counts towards disabling the subscription. */
  counts: boolean;
}

/** Stores the end of an attempt and its effect on the subscription. True when the subscription is disabled by it. */
export async function endAttempt(
  sql: Postgres,
  { id, claim, subscription_id, test }: Claimed & Pick<ClaimedDelivery, "subscription_id" | "test">,
  { status, error, recipients, next_attempt_at, delivered_at, counts }: DeliveryResult,
  now: Date,
): Promise<boolean> {
  const { deliveryFailuresMax: failuresMax, deliveriesKeptMax } = subscriptionLimits;
  const failed = status === "failed" && counts && !test;
  const reset = status === "delivered" && !test;
  const disabled =
    ` The subscription is disabled after ${failuresMax} failed deliveries in a row; ` +
    "change it to try again.";
  const [row] = await sql<{ disabled: boolean }[]>`
    WITH ended AS (
      UPDATE subscription_deliveries
      SET status = ${status}, recipients = ${sql.json(recipients as never)}, next_attempt_at = ${next_attempt_at},
        delivered_at = ${delivered_at}, claim = NULL, claimed_until = NULL,
        error = CASE WHEN ${failed} AND (SELECT failures + 1 >= ${failuresMax}
                                         FROM subscriptions WHERE id = ${subscription_id})
                THEN ${error}::text || ${disabled} ELSE ${error}::text END
      WHERE id = ${id} AND claim = ${claim}
      RETURNING id
    ), judged AS (
      UPDATE subscriptions s
      SET failures = CASE WHEN ${failed} THEN s.failures + 1 ELSE 0 END,
        disabled_at = CASE WHEN ${failed} AND s.failures + 1 >= ${failuresMax}
                      THEN ${now}::timestamptz ELSE s.disabled_at END,
        next_delivery_date = CASE WHEN ${failed} AND s.failures + 1 >= ${failuresMax} THEN NULL
                             ELSE s.next_delivery_date END
      WHERE s.id = ${subscription_id} AND EXISTS (SELECT FROM ended) AND (${failed} OR (${reset} AND s.failures > 0))
      RETURNING s.disabled_at IS NOT NULL AS disabled
    ), forgotten AS (
      DELETE FROM subscription_deliveries
      WHERE subscription_id = ${subscription_id} AND next_attempt_at IS NULL AND ${status !== "retrying"}
        AND id <= (SELECT id FROM subscription_deliveries WHERE subscription_id = ${subscription_id}
                   ORDER BY id DESC OFFSET ${deliveriesKeptMax} LIMIT 1)
    )
    SELECT disabled FROM judged`;
  return row?.disabled ?? false;
}

/** Releases an unfinished delivery: another process, or the next start, continues it. */
export async function releaseDelivery(sql: Postgres, { id, claim }: Claimed, recipients: Recipients) {
  await sql`
    UPDATE subscription_deliveries
    SET recipients = ${sql.json(recipients as never)}, claim = NULL, claimed_until = NULL, attempts = attempts - 1
    WHERE id = ${id} AND claim = ${claim}`;
}

/** The report of a delivery; undefined when none was made, or it is no longer kept. */
export async function findReport(sql: Postgres, id: number): Promise<Report | undefined> {
  const [row] = await sql<{ report: Report | null }[]>`
    SELECT report FROM subscription_deliveries WHERE id = ${id}`;
  return row?.report ?? undefined;
}
