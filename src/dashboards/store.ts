// The table of dashboards. Every statement is limited to one project.

import { Fault } from "../core/fault.ts";
import { shownRow, type Stored } from "../http/fields/field_time.ts";
import type { Page } from "../http/pages/page.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { containing, countedPage, userJson } from "../storage/postgres/rows.ts";
import { dashboardLimits } from "./limits.ts";
import type { Dashboard, DashboardInput, DashboardUpdate } from "./model.ts";
import { changeTiles, copyTiles, deleteInsights } from "./tile_store.ts";

const { dashboardsPerProjectMax } = dashboardLimits;

type DashboardRow = Stored<Dashboard, "created_at" | "updated_at">;

function columns(sql: Postgres) {
  return sql`
    d.id, d.name, d.description, d.pinned, d.tags, d.deleted, d.created_at, d.updated_at,
    ${userJson(sql, "u")} AS created_by`;
}

function source(sql: Postgres) {
  return sql`FROM dashboards d LEFT JOIN users u ON u.id = d.created_by`;
}

/**
 * A page of a project's dashboards, pinned first, then newest first, and how many there are.
 * @param filter absent fields do not filter.
 */
export async function listDashboards(
  sql: Postgres,
  project_id: number,
  filter: {
    search?: string | undefined;
    tags?: string[] | undefined;
    pinned?: boolean | undefined;
    created_by?: number[] | undefined;
  },
  page: Page,
) {
  const { tags = null, pinned = null, created_by: createdBy = null } = filter;
  const pattern = containing(filter.search);
  const from = sql`
    ${source(sql)} WHERE d.project_id = ${project_id} AND NOT d.deleted
    AND (${pattern}::text IS NULL OR d.name ILIKE ${pattern} OR d.description ILIKE ${pattern}
      OR EXISTS (SELECT FROM unnest(d.tags) AS tag WHERE tag ILIKE ${pattern}))
    AND (${tags}::text[] IS NULL OR d.tags && ${tags})
    AND (${pinned}::boolean IS NULL OR d.pinned = ${pinned})
    AND (${createdBy}::integer[] IS NULL OR d.created_by = ANY(${createdBy}))`;
  const order = sql`d.pinned DESC, d.id DESC`;
  return await countedPage(sql, { columns: columns(sql), from, order, page, show: shownRow<DashboardRow> });
}

/** A dashboard of the project; a deleted one only with `deletedToo`. */
export async function getDashboard(sql: Postgres, project_id: number, id: number, deletedToo = false) {
  const [row] = await sql<DashboardRow[]>`
    SELECT ${columns(sql)} ${source(sql)}
    WHERE d.project_id = ${project_id} AND d.id = ${id} AND (${deletedToo} OR NOT d.deleted)`;
  return row && shownRow(row);
}

/**
 * Resolves to the new dashboard's id.
 * @throws Fault invalid_input when the project has dashboardsPerProjectMax dashboards, and as copyTiles.
 */
export async function createDashboard(
  sql: Postgres,
  { name, description, pinned, tags, deleted, use_dashboard: original }: DashboardInput,
  { project_id, user_id }: { project_id: number; user_id: number },
): Promise<number> {
  return await sql.begin(async (tx) => {
    const [dashboard] = await tx<{ id: number }[]>`
      INSERT INTO dashboards (project_id, name, description, pinned, tags, deleted, created_by)
      SELECT ${project_id}, ${name}, ${description}, ${pinned}, ${tags}, ${deleted}, ${user_id}
      WHERE (SELECT count(*) FROM dashboards WHERE project_id = ${project_id} AND NOT deleted)
        < ${dashboardsPerProjectMax}
      RETURNING id`;
    if (!dashboard)
      throw new Fault("invalid_input", `A project can have at most ${dashboardsPerProjectMax} dashboards.`);
    if (original) await copyTiles(tx, { original, id: dashboard.id, project_id, user_id });
    return dashboard.id;
  });
}

/**
 * Changes fields and tiles, of a deleted dashboard too. Without changes nothing is written.
 * @throws Fault as changeTiles.
 */
export async function updateDashboard(
  sql: Postgres,
  { project_id, id, user_id }: { project_id: number; id: number; user_id: number },
  { tiles = [], delete_insights, ...changes }: DashboardUpdate,
): Promise<void> {
  if (Object.keys(changes).length === 0 && tiles.length === 0) return;
  await sql.begin(async (tx) => {
    if (changes.deleted && delete_insights) await deleteInsights(tx, { id, user_id });
    const set = { ...changes, updated_at: tx`now()` };
    await tx`UPDATE dashboards SET ${tx(set as never)} WHERE id = ${id} AND project_id = ${project_id}`;
    await changeTiles(tx, { id, user_id }, tiles);
  });
}

/** Marks a dashboard as deleted; false when it was already. Its tiles remain, and return when it is restored. */
export async function removeDashboard(sql: Postgres, project_id: number, id: number): Promise<boolean> {
  const rows = await sql`
    UPDATE dashboards SET deleted = true, updated_at = now()
    WHERE id = ${id} AND project_id = ${project_id} AND NOT deleted RETURNING id`;
  return rows.length > 0;
}
