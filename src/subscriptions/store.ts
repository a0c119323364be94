// The SQL of subscriptions.

import { parseRowId, present } from "../http/fields/field_fault.ts";
import { shownRow } from "../http/fields/field_time.ts";
import { checkFits, type Page } from "../http/pages/page.ts";
import type { Postgres, PostgresTransaction } from "../storage/postgres/postgres.ts";
import { containing, type Counted, countedPage, exactMoment, userJson } from "../storage/postgres/rows.ts";
import { withoutAddress } from "./channels/address_list.ts";
import { subscriptionLimits } from "./limits.ts";
import type { Subscription, SubscriptionInput, SubscriptionUpdate } from "./model.ts";
import { summarize } from "./schedule.ts";

/** A subscription as stored, with the columns that replies do not show. */
export type StoredSubscription = Omit<Subscription, "created_at" | "next_delivery_date"> & {
  project_id: number;
  created_at: Date;
  next_delivery_date: Date | null;
  disabled_at: Date | null;
};

function columns(sql: Postgres | PostgresTransaction) {
  return sql`
    s.id, s.project_id, s.dashboard_id AS dashboard, s.insight_id AS insight, s.dashboard_export_insights,
    s.target_type, s.target_value,
    s.frequency, s.interval, s.byweekday, s.bysetpos, s.count,
    ${exactMoment(sql, "s", "start_date")}, ${exactMoment(sql, "s", "until_date")},
    s.created_at, ${userJson(sql, "u")} AS created_by, s.deleted, s.title, '' AS summary, s.next_delivery_date,
    s.invite_message, s.timezone, s.disabled_at, s.disabled_at IS NULL AS enabled`;
}

const orderKeys = {
  created_at: "s.id",
  next_delivery_date: "s.next_delivery_date",
  title: "s.title",
  created_by__email: "u.email",
};
export const subscriptionOrders = Object.keys(orderKeys) as (keyof typeof orderKeys)[];

/**
 * A page of a project's subscriptions, newest first by default, and how many there are in all.
 * @throws Fault with `limit` as its attr when the page is longer than httpLimits.pageBytesMax.
 */
export async function listSubscriptions(
  sql: Postgres,
  filter: {
    project_id: number;
    deleted: boolean;
    insight?: number | undefined;
    dashboard?: number | undefined;
    resource_type?: "insight" | "dashboard" | undefined;
    target_type?: string | undefined;
    /** The uuid of a user. */
    created_by?: string | undefined;
    search?: string | undefined;
    /** One of subscriptionOrders, with a minus before it for descending. */
    ordering?: string | undefined;
  },
  page: Page,
): Promise<Counted<Subscription>> {
  const { insight = null, dashboard = null, target_type = null, created_by = null } = filter;
  const { resource_type = null, ordering = "-created_at" } = filter;
  const pattern = containing(filter.search);
  const from = sql`
    FROM subscriptions s LEFT JOIN users u ON u.id = s.created_by
    LEFT JOIN insights i ON i.id = s.insight_id LEFT JOIN dashboards d ON d.id = s.dashboard_id
    WHERE s.project_id = ${filter.project_id} AND s.deleted = ${filter.deleted}
      AND (${insight}::integer IS NULL OR s.insight_id = ${insight})
      AND (${dashboard}::integer IS NULL OR s.dashboard_id = ${dashboard})
      AND (${resource_type}::text IS NULL OR (s.insight_id IS NOT NULL) = ${resource_type === "insight"})
      AND (${target_type}::text IS NULL OR s.target_type = ${target_type})
      AND (${created_by}::uuid IS NULL OR u.uuid = ${created_by})
      AND (${pattern}::text IS NULL OR s.title ILIKE ${pattern} OR d.name ILIKE ${pattern}
        OR coalesce(nullif(i.name, ''), i.derived_name) ILIKE ${pattern})`;
  const key = sql(orderKeys[ordering.replace("-", "") as keyof typeof orderKeys]);
  const order = ordering.startsWith("-") ? sql`${key} DESC NULLS LAST, s.id DESC` : sql`${key}, s.id`;
  const listing = { columns: columns(sql), from, order, page, check: checkFits };
  return await countedPage(sql, { ...listing, show: toSubscription });
}

/** The zone of the subscription `s`: its project's, unless it has one of its own. */
export function ownZone(sql: Postgres | PostgresTransaction) {
  return sql`coalesce(s.timezone, (SELECT timezone FROM projects WHERE id = s.project_id)) AS timezone`;
}

/** A subscription of the project, deleted or not; undefined when there is none. */
async function findSubscription(sql: Postgres | PostgresTransaction, project_id: number, id: number) {
  const [row] = await sql<StoredSubscription[]>`
    SELECT ${columns(sql)} FROM subscriptions s LEFT JOIN users u ON u.id = s.created_by
    WHERE s.id = ${id} AND s.project_id = ${project_id}`;
  return row;
}

/** The subscription that a path names. @throws Fault not_found */
export async function requireSubscription(
  sql: Postgres,
  { project, params }: { project: { id: number }; params: { id: string } },
): Promise<StoredSubscription> {
  return present(await findSubscription(sql, project.id, parseRowId(params.id)));
}

/** Counts the insights among these that the dashboard does not show. */
export async function countStrangers(sql: Postgres, dashboard: number, insights: readonly number[]) {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*)::integer FROM unnest(${[...new Set(insights)]}::integer[]) AS chosen WHERE NOT EXISTS (
      SELECT FROM dashboard_tiles t JOIN insights i ON i.id = t.insight_id AND NOT i.deleted
      WHERE t.dashboard_id = ${dashboard} AND t.insight_id = chosen)`;
  return row?.count ?? 0;
}

/** Creates a subscription; undefined when the project has subscriptionLimits.subscriptionsPerProjectMax of them. */
export async function createSubscription(
  sql: Postgres,
  input: SubscriptionInput & {
    project_id: number;
    user_id: number;
    created_at: Date;
    next_delivery_date: Date | null;
  },
): Promise<Subscription | undefined> {
  const { byweekday } = input;
  const [row] = await sql<{ id: number }[]>`
    INSERT INTO subscriptions (
      project_id, dashboard_id, insight_id, dashboard_export_insights, target_type, target_value, frequency, interval,
      byweekday, bysetpos,
      count, start_date, until_date, timezone, title, invite_message, deleted, created_by, created_at,
      next_delivery_date, disabled_at)
    SELECT ${input.project_id}, ${input.dashboard}::integer, ${input.insight}::integer,
      ${input.dashboard_export_insights}::integer[], ${input.target_type}, ${input.target_value}, ${input.frequency},
      ${input.interval}::integer, ${byweekday}::text[],
      ${input.bysetpos}::integer, ${input.count}::integer, ${input.start_date}::text::timestamptz,
      ${input.until_date}::text::timestamptz, ${input.timezone}, ${input.title}, ${input.invite_message},
      ${input.deleted}::boolean, ${input.user_id}::integer, ${input.created_at}::timestamptz,
      ${input.next_delivery_date}::timestamptz, ${input.enabled ? null : input.created_at}::timestamptz
    WHERE (SELECT count(*) FROM subscriptions WHERE project_id = ${input.project_id})
      < ${subscriptionLimits.subscriptionsPerProjectMax}
    RETURNING id`;
  const subscription = row && (await findSubscription(sql, input.project_id, row.id));
  return subscription && toSubscription(subscription);
}

type Revision = { changes: SubscriptionUpdate; next?: Date | null };

/**
 * Reads a subscription, and stores the changes that `decide` returns, in one transaction with a lock; `next` is set
 * only when the next date changes. A change also enables a subscription again that was disabled after failures, and has
 * some. Undefined when there is none.
 */
export async function reviseSubscription(
  sql: Postgres,
  project_id: number,
  id: number,
  decide: (now: StoredSubscription) => Revision | Promise<Revision>,
): Promise<Subscription | undefined> {
  return await sql.begin(async (tx) => {
    await tx`SELECT id FROM subscriptions WHERE id = ${id} AND project_id = ${project_id} FOR UPDATE`;
    const now = await findSubscription(tx, project_id, id);
    if (!now) return undefined;
    const { changes, next } = await decide(now);
    if (Object.keys(changes).length === 0) return toSubscription(now);
    const { dashboard, insight, enabled, ...others } = changes;
    const set = { ...others, dashboard_id: dashboard, insight_id: insight, next_delivery_date: next };
    const known = Object.entries(set).filter(([, value]) => value !== undefined);
    const kept = enabled ? tx`NULL` : tx`CASE WHEN failures = 0 THEN disabled_at END`;
    const disabled = enabled === false ? tx`coalesce(disabled_at, now())` : kept;
    await tx`
      UPDATE subscriptions SET ${tx({ ...Object.fromEntries(known), failures: 0 } as never)}, disabled_at = ${disabled}
      WHERE id = ${id}`;
    if (enabled === false)
      await tx`
        UPDATE subscription_deliveries SET status = 'failed', next_attempt_at = NULL, claim = NULL,
          claimed_until = NULL, error = 'The subscription was paused.'
        WHERE next_attempt_at IS NOT NULL AND NOT test AND subscription_id = ${id}`;
    const changed = await findSubscription(tx, project_id, id);
    return changed && toSubscription(changed);
  });
}

/** The subscription as replies show it. The summary is computed here. */
export function toSubscription(row: StoredSubscription): Subscription {
  const { project_id: _project, disabled_at: _disabled, ...shown } = row;
  return { ...shownRow(shown), summary: summarize(row) };
}

/** Removes a recipient from an e-mail subscription, and deletes it with the last one. False when nothing changed. */
export async function removeAddress(sql: Postgres, id: number, address: string): Promise<boolean> {
  return await sql.begin(async (tx) => {
    const [row] = await tx<{ target_value: string }[]>`
      SELECT target_value FROM subscriptions WHERE id = ${id} AND target_type = 'email' FOR UPDATE`;
    const otherAddresses = row && withoutAddress(row.target_value, address);
    if (!row || otherAddresses === undefined || otherAddresses === row.target_value) return false;
    // A deleted subscription keeps its last address, so that it can be restored.
    if (otherAddresses === "") await tx`UPDATE subscriptions SET deleted = true WHERE id = ${id}`;
    else await tx`UPDATE subscriptions SET target_value = ${otherAddresses} WHERE id = ${id}`;
    return true;
  });
}
