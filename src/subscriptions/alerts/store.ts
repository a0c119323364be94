// The SQL of alerts. A change of what is judged begins anew: not firing, and checked at once.

import { newUuid } from "../../core/id.ts";
import { parseUuid, present } from "../../http/fields/field_fault.ts";
import { shownRow, type Stored } from "../../http/fields/field_time.ts";
import { checkFits, type Page } from "../../http/pages/page.ts";
import type { Postgres, PostgresTransaction } from "../../storage/postgres/postgres.ts";
import { countedPage, userJson } from "../../storage/postgres/rows.ts";
import { pruneChecks } from "./check_store.ts";
import { alertLimits } from "./limits.ts";
import type { Alert, AlertInput } from "./model.ts";

type Moments = "created_at" | "last_notified_at" | "last_checked_at" | "next_check_at" | "snoozed_until";
export type StoredAlert = Stored<Omit<Alert, "checks">, Moments>;
export const showAlert = (row: StoredAlert) => shownRow(row);

function columns(sql: Postgres | PostgresTransaction) {
  return sql`
    a.id, ${userJson(sql, "u")} AS created_by, a.created_at, a.name, a.threshold, a.condition, a.enabled,
    json_build_object('id', i.id, 'short_id', i.short_id, 'name', i.name, 'derived_name', i.derived_name) AS insight,
    coalesce((SELECT json_agg(${userJson(sql, "r")} ORDER BY r.id) FROM users r WHERE r.id = ANY(a.subscribed_users)),
      '[]') AS subscribed_users,
    CASE WHEN a.snoozed_until IS NOT NULL THEN 'Snoozed' WHEN a.failures >= ${alertLimits.failuresToldAt} THEN 'Errored'
      WHEN a.firing THEN 'Firing' ELSE 'Not firing' END AS state,
    a.last_notified_at, a.last_checked_at, a.next_check_at, a.config, a.calculation_interval, a.snoozed_until,
    a.skip_weekend, a.target_type, a.target_value`;
}

const source = (sql: Postgres | PostgresTransaction) =>
  sql`FROM alerts a JOIN insights i ON i.id = a.insight_id LEFT JOIN users u ON u.id = a.created_by`;

/** A page of a project's alerts, newest first, and how many there are. */
export async function listAlerts(
  sql: Postgres,
  {
    project_id,
    insight = null,
    search = null,
  }: { project_id: number; insight?: number | null; search?: string | null },
  page: Page,
) {
  const from = sql`
    ${source(sql)} WHERE a.project_id = ${project_id} AND (${insight}::integer IS NULL OR a.insight_id = ${insight})
      AND (${search}::text IS NULL OR a.name ILIKE ${search})`;
  const listing = {
    columns: columns(sql),
    from,
    order: sql`a.created_at DESC, a.id DESC`,
    page,
    check: checkFits,
  };
  return await countedPage(sql, { ...listing, show: showAlert });
}

/** The alert that a path names. @throws Fault not_found */
export async function requireAlert(
  sql: Postgres | PostgresTransaction,
  { project, params }: { project: { id: number }; params: { id: string } },
) {
  const [row] = await sql<StoredAlert[]>`
    SELECT ${columns(sql)} ${source(sql)} WHERE a.project_id = ${project.id} AND a.id = ${parseUuid(params.id)}`;
  return present(row);
}

/** Finds the query of an insight of the project, if it is there, and which of the users are no members. */
export async function findReferences(
  sql: Postgres,
  project_id: number,
  insight: number,
  users: readonly number[],
) {
  const [row] = await sql<{ query: unknown; strangers: number[] }[]>`
    SELECT i.query, ARRAY(
      SELECT u FROM unnest(${[...users]}::integer[]) AS u WHERE u NOT IN (
        SELECT m.user_id FROM organization_memberships m JOIN projects p USING (organization_id)
        WHERE p.id = ${project_id})) AS strangers
    FROM insights i WHERE i.id = ${insight} AND i.project_id = ${project_id} AND NOT i.deleted`;
  return row;
}

export type AlertFields = Partial<Omit<AlertInput, "insight" | "subscribed_users" | "snoozed_until">> & {
  insight_id?: number | undefined;
  subscribed_users?: number[] | undefined;
  snoozed_until?: Date | null | undefined;
};

/** What makes another alert of it when it changes; null is the same as left out. */
function toJudged({ insight_id, threshold, condition, config }: AlertFields): unknown {
  const judged = [insight_id, threshold?.configuration, condition, config];
  return JSON.parse(JSON.stringify(judged, (_, item: unknown) => item ?? undefined));
}

function readSent(fields: AlertFields): AlertFields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Writes the fields as columns. */
function toColumns(
  sql: Postgres | PostgresTransaction,
  { threshold, condition, config, ...fields }: AlertFields,
) {
  const json = Object.entries({ threshold, condition, config }).filter(([, value]) => value !== undefined);
  const texts = json.map(([name, value]) => [name, value === null ? null : sql.json(value as never)]);
  return { ...readSent(fields), ...Object.fromEntries(texts) } as Record<string, unknown>;
}

/** Creates an alert, which is due at once; undefined when the project has alertsPerProjectMax of them. */
export async function createAlert(
  sql: Postgres,
  fields: AlertFields & { project_id: number; created_by: number; created_at: Date },
) {
  const id = newUuid();
  return await sql.begin(async (tx) => {
    await tx`SELECT id FROM projects WHERE id = ${fields.project_id} FOR UPDATE`;
    const [{ count } = { count: 0 }] = await tx<{ count: number }[]>`
      SELECT count(*)::integer AS count FROM alerts WHERE project_id = ${fields.project_id}`;
    if (count >= alertLimits.alertsPerProjectMax) return undefined;
    await tx`INSERT INTO alerts ${tx({ id, ...toColumns(tx, fields) } as never)}`;
    return await requireAlert(tx, { project: { id: fields.project_id }, params: { id } });
  });
}

/** Changes an alert. A check that is under way writes nothing then: its claim is gone. */
export async function updateAlert(
  sql: Postgres,
  { id, project_id, now }: { id: string; project_id: number; now: Date },
  changes: AlertFields,
) {
  return await sql.begin(async (tx) => {
    const [before = {}] = await tx<AlertFields[]>`
      SELECT insight_id, threshold, condition, config, calculation_interval, enabled, snoozed_until
      FROM alerts WHERE id = ${id} FOR UPDATE`;
    const after = { ...before, ...readSent(changes) };
    const anew = !Bun.deepEquals(toJudged(before), toJudged(after));
    const isOther = after.calculation_interval !== before.calculation_interval;
    const isDue = anew || isOther || (after.enabled && !before.enabled);
    const isSnooze = after.snoozed_until?.getTime() !== before.snoozed_until?.getTime();
    const set = {
      ...toColumns(tx, changes),
      ...((anew || isSnooze) && { firing: false, failures: 0 }),
      ...(anew && { last_value: null }),
      ...(isDue && { next_check_at: null }),
      claim: null,
      claimed_until: null,
    };
    await tx`UPDATE alerts SET ${tx(set as never)} WHERE id = ${id}`;
    if (isSnooze) {
      await tx`
        INSERT INTO alert_checks (id, alert_id, created_at, state)
        VALUES (${newUuid()}, ${id}, ${now}, ${after.snoozed_until ? "Snoozed" : "Not firing"})`;
      await pruneChecks(tx, id);
    }
    return await requireAlert(tx, { project: { id: project_id }, params: { id } });
  });
}

export async function removeAlert(sql: Postgres, id: string): Promise<void> {
  await sql`DELETE FROM alerts WHERE id = ${id}`;
}
