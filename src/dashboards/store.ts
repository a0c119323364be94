// The table of dashboards. Every statement is limited to one project.

import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { missingReference } from "../http/fields/field_fault.ts";
import { shownRow, type Stored } from "../http/fields/field_time.ts";
import type { Page } from "../http/pages/page.ts";
import type { Postgres, PostgresTransaction } from "../storage/postgres/postgres.ts";
import { type Counted, countedPage, userJson } from "../storage/postgres/rows.ts";
import type { Dashboard, DashboardUpdate, DashboardInput, TileLayouts } from "./model.ts";

/** Dashboards of one project, without deleted ones. */
const dashboardsPerProjectMax = 2000;

type DashboardRow = Stored<Dashboard, "created_at" | "updated_at">;

function columns(sql: Postgres) {
  return sql`
    d.id, d.name, d.description, d.pinned, d.tags, d.deleted, d.created_at, d.updated_at,
    ${userJson(sql, "u")} AS created_by`;
}

function source(sql: Postgres) {
  return sql`FROM dashboards d LEFT JOIN users u ON u.id = d.created_by`;
}

/** A page of a project's dashboards, pinned first, then newest first, and how many there are. */
export async function listDashboards(
  sql: Postgres,
  project_id: number,
  page: Page,
): Promise<Counted<Dashboard>> {
  const seen = sql`${source(sql)} WHERE d.project_id = ${project_id} AND NOT d.deleted`;
  const listing = { columns: columns(sql), seen, order: sql`d.pinned DESC, d.id DESC`, page };
  return await countedPage(sql, { ...listing, show: shownRow<DashboardRow> });
}

/** A dashboard of the project; a deleted one only with `deletedToo`. */
export async function getDashboard(
  sql: Postgres,
  project_id: number,
  id: number,
  { deletedToo = false }: { deletedToo?: boolean } = {},
): Promise<Dashboard | undefined> {
  const [row] = await sql<DashboardRow[]>`
    SELECT ${columns(sql)} ${source(sql)}
    WHERE d.project_id = ${project_id} AND d.id = ${id} AND (${deletedToo} OR NOT d.deleted)`;
  return row && shownRow(row);
}

interface Tile {
  id: number;
  insight_id: number;
  layouts: TileLayouts;
}

/** The dashboard's tiles, oldest first, without those of deleted insights. */
export async function listTiles(sql: Postgres, dashboard_id: number): Promise<Tile[]> {
  return await sql<Tile[]>`
    SELECT t.id, t.insight_id, t.layouts FROM dashboard_tiles t
    JOIN insights i ON i.id = t.insight_id AND NOT i.deleted
    WHERE t.dashboard_id = ${dashboard_id} ORDER BY t.id LIMIT ${limits.insightsPerDashboardMax}`;
}

/**
 * Resolves to the new dashboard's id.
 * @throws Fault invalid_input when the project has dashboardsPerProjectMax dashboards.
 */
export async function createDashboard(
  sql: Postgres,
  { name, description, pinned, tags, deleted }: DashboardInput,
  { project_id, user_id }: { project_id: number; user_id: number },
): Promise<number> {
  const [made] = await sql<{ id: number }[]>`
    INSERT INTO dashboards (project_id, name, description, pinned, tags, deleted, created_by)
    SELECT ${project_id}, ${name}, ${description}, ${pinned}, ${tags}, ${deleted}, ${user_id}
    WHERE (SELECT count(*) FROM dashboards WHERE project_id = ${project_id} AND NOT deleted)
      < ${dashboardsPerProjectMax}
    RETURNING id`;
  if (made) return made.id;
  const detail = `A project can have at most ${dashboardsPerProjectMax} dashboards.`;
  throw new Fault("invalid_input", detail);
}

/**
 * Changes the given fields, of a deleted dashboard too. Without changes nothing is written.
 * @throws Fault does_not_exist for a tile that the dashboard does not have.
 */
export async function updateDashboard(
  sql: Postgres,
  project_id: number,
  id: number,
  { tiles = [], ...changes }: DashboardUpdate,
): Promise<void> {
  if (Object.keys(changes).length === 0 && tiles.length === 0) return;
  await sql.begin(async (tx) => {
    const set = { ...changes, updated_at: tx`now()` };
    await tx`UPDATE dashboards SET ${tx(set as never)} WHERE id = ${id} AND project_id = ${project_id}`;
    await moveTiles(tx, id, new Map(tiles.map((tile) => [tile.id, tile.layouts])));
  });
}

async function moveTiles(
  sql: PostgresTransaction,
  dashboard_id: number,
  layouts: ReadonlyMap<number, TileLayouts>,
): Promise<void> {
  if (layouts.size === 0) return;
  const named = [...layouts].map(([id, layout]) => ({ id, layouts: layout }));
  const moved = await sql<{ id: number }[]>`
    UPDATE dashboard_tiles t SET layouts = named.layouts
    FROM jsonb_to_recordset(${sql.json(named as never)}) AS named (id integer, layouts jsonb)
    WHERE t.id = named.id AND t.dashboard_id = ${dashboard_id} RETURNING t.id`;
  const missing = named.find(({ id }) => !moved.some((one) => one.id === id));
  if (missing) throw missingReference("tiles", missing.id);
}

/** Marks a dashboard as deleted; false when it was already. Its tiles remain, and return when it is restored. */
export async function removeDashboard(sql: Postgres, project_id: number, id: number): Promise<boolean> {
  const rows = await sql`
    UPDATE dashboards SET deleted = true, updated_at = now()
    WHERE id = ${id} AND project_id = ${project_id} AND NOT deleted RETURNING id`;
  return rows.length > 0;
}
