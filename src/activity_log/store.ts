// Recorded changes, read back. They are written in access/activity_store.ts.

import { accessLimits } from "../access/limits.ts";
import { toIso } from "../http/fields/field_time.ts";
import type { Page } from "../http/pages/page.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { countedPage, userJson } from "../storage/postgres/rows.ts";
import type { Activity } from "./model.ts";

interface ActivityRow extends Omit<Activity, "detail" | "created_at" | "is_system" | "was_impersonated"> {
  key_id: string;
  request_id: string;
  fields: string[];
  status: number | null;
  created_at: Date;
}

/**
 * A page, the newest first. Absent fields do not filter.
 * @param user the UUID of who did it.
 */
export async function listActivities(
  sql: Postgres,
  filter: { organization_id: string; project_id?: number; scopes: readonly string[] } & {
    [Name in "user" | "item_id" | "activity"]?: string | undefined;
  } & {
    /** Names of things, any of which a path may have had. */
    names?: readonly string[] | undefined;
    start_date?: string | undefined;
    end_date?: string | undefined;
  },
  { page, now }: { page: Page; now: number },
) {
  const { organization_id, project_id, user, scopes, item_id, names, activity, start_date, end_date } =
    filter;
  const oldest = new Date(now - accessLimits.activityAgeMsMax);
  const ofProject = sql`
    AND (a.project_id = ${project_id ?? null}
      OR (a.scope = 'Project' AND a.item_id = ${String(project_id)}))`;
  const from = sql`
    FROM activity_log a LEFT JOIN users u ON u.id = a.user_id
    WHERE a.organization_id = ${organization_id} AND a.created_at >= ${oldest}
      ${project_id === undefined ? sql`` : ofProject}
      ${user === undefined ? sql`` : sql`AND u.uuid = ${user}`}
      ${scopes.length === 0 ? sql`` : sql`AND a.scope = ANY(${[...scopes]}::text[])`}
      ${item_id === undefined ? sql`` : sql`AND a.item_id = ${item_id}`}
      ${names === undefined ? sql`` : sql`AND a.item_id = ANY(${[...names]}::text[])`}
      ${start_date === undefined ? sql`` : sql`AND a.created_at >= ${`${start_date}Z`}::text::timestamptz`}
      ${end_date === undefined ? sql`` : sql`AND a.created_at < ${`${end_date}Z`}::text::timestamptz`}
      ${activity === undefined ? sql`` : sql`AND a.activity = ${activity}`}`;
  return await countedPage(sql, {
    columns: sql`
      a.id::text AS id, a.activity, a.scope, a.item_id, a.project_id, a.organization_id, a.key_id, a.request_id,
      a.fields, a.status,
      a.created_at,
      ${userJson(sql, "u")} AS user`,
    from,
    order: sql`a.id DESC`,
    page,
    show: shown,
  });
}

function shown({ id, user, activity, scope, item_id, project_id, created_at, ...row }: ActivityRow) {
  const changes = row.fields.map((field) => ({ type: scope, action: "changed", field }));
  const { key_id, request_id, status } = row;
  const detail = { changes, key_id, request_id, is_complete: status !== null };
  const fixed = { is_system: false, was_impersonated: false, organization_id: row.organization_id };
  return { id, user, activity, scope, item_id, project_id, ...fixed, detail, created_at: toIso(created_at) };
}

/** The names of an insight or dashboard of the project, deleted ones too; undefined for one that never was. */
export async function findNames(
  sql: Postgres,
  project_id: number,
  things: "insights" | "dashboards",
  name: string,
) {
  const other = things === "insights" ? sql`short_id` : sql`id::text`;
  const [row] = await sql<{ names: string[] }[]>`
    SELECT ARRAY[id::text, ${other}] AS names FROM ${sql(things)}
    WHERE project_id = ${project_id} AND ${name} IN (id::text, ${other})`;
  return row?.names;
}
