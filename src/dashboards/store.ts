// The table of dashboards. Every statement is limited to one project.

import { Fault } from "../core/fault.ts";
import { cleanTags } from "../core/words.ts";
import { missingReference } from "../http/fields/field_fault.ts";
import { shownRow, type Stored } from "../http/fields/field_time.ts";
import type { Page } from "../http/pages/page.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { containing, countedPage, userJson } from "../storage/postgres/rows.ts";
import { copyTiles, transferTile } from "./copy_store.ts";
import { dashboardLimits } from "./limits.ts";
import {
  type Dashboard,
  type DashboardInput,
  type dashboardOrders,
  type DashboardUpdate,
  fixedValues,
} from "./model.ts";
import { changeTiles, deleteInsights } from "./tile_store.ts";

const { dashboardsPerProjectMax } = dashboardLimits;

type DashboardRow = Stored<
  Omit<Dashboard, keyof typeof fixedValues>,
  "created_at" | "updated_at" | "last_accessed_at"
>;

const toDashboard = (row: DashboardRow) => ({ ...shownRow(row), ...fixedValues });

function columns(sql: Postgres) {
  return sql`
    d.id, d.name, d.description, d.pinned, d.tags, d.deleted, d.created_at, d.updated_at,
    d.creation_mode, d.project_id AS team_id, d.last_accessed_at, ${userJson(sql, "u")} AS created_by,
    EXISTS (
      SELECT FROM sharing_configurations
      WHERE project_id = d.project_id AND kind = 'dashboard' AND target = d.id::text AND enabled) AS is_shared`;
}

function source(sql: Postgres) {
  return sql`FROM dashboards d LEFT JOIN users u ON u.id = d.created_by`;
}

/**
 * A page of a project's dashboards, pinned first, then by name, and how many there are.
 * @param filter absent fields do not filter.
 */
export async function listDashboards(
  sql: Postgres,
  project_id: number,
  filter: {
    search?: string | undefined;
    tags?: string[] | undefined;
    pinned?: boolean | undefined;
    creation_mode?: string | undefined;
    created_by?: number[] | undefined;
    ordering?: (typeof dashboardOrders)[number] | undefined;
  },
  page: Page,
) {
  const tags = filter.tags ? [...filter.tags, ...cleanTags(filter.tags)] : null;
  const { pinned = null, creation_mode: mode = null, created_by: createdBy = null } = filter;
  const pattern = containing(filter.search);
  const from = sql`
    ${source(sql)} WHERE d.project_id = ${project_id} AND NOT d.deleted
    AND (${pattern}::text IS NULL OR d.name ILIKE ${pattern} OR d.description ILIKE ${pattern}
      OR EXISTS (SELECT FROM unnest(d.tags) AS tag WHERE tag ILIKE ${pattern}))
    AND (${tags}::text[] IS NULL OR d.tags && ${tags})
    AND (${pinned}::boolean IS NULL OR d.pinned = ${pinned})
    AND (${mode}::text IS NULL OR d.creation_mode = ${mode})
    AND (${createdBy}::integer[] IS NULL OR d.created_by = ANY(${createdBy}))`;
  const [column, isDescending] = [filter.ordering?.replace("-", ""), filter.ordering?.startsWith("-")];
  const direction = isDescending ? sql`DESC NULLS LAST` : sql`ASC NULLS FIRST`;
  const field = column === "name" ? sql`lower(d.name)` : sql`d.${sql(column ?? "pinned")}`;
  const order = column ? sql`${field} ${direction}, d.id` : sql`d.pinned DESC, lower(d.name), d.id`;
  return await countedPage(sql, { columns: columns(sql), from, order, page, show: toDashboard });
}

/** A dashboard of the project; a deleted one only with `deletedToo`. */
export async function getDashboard(sql: Postgres, project_id: number, id: number, deletedToo = false) {
  const [row] = await sql<DashboardRow[]>`
    SELECT ${columns(sql)} ${source(sql)}
    WHERE d.project_id = ${project_id} AND d.id = ${id} AND (${deletedToo} OR NOT d.deleted)`;
  return row && toDashboard(row);
}

/**
 * Resolves to the new dashboard's id.
 * @throws Fault invalid_input when the project has dashboardsPerProjectMax dashboards, and as copyTiles.
 */
export async function createDashboard(
  sql: Postgres,
  { name, description, pinned, tags, deleted, use_dashboard: from, duplicate_tiles }: DashboardInput,
  { project_id, user_id }: { project_id: number; user_id: number },
): Promise<number> {
  return await sql.begin(async (tx) => {
    const [dashboard] = await tx<{ id: number }[]>`
      INSERT INTO dashboards (project_id, name, description, pinned, tags, deleted, created_by, creation_mode)
      SELECT ${project_id}, ${name}, ${description}, ${pinned}, ${cleanTags(tags)}, ${deleted}, ${user_id},
        ${from ? "duplicate" : "default"}
      WHERE (SELECT count(*) FROM dashboards WHERE project_id = ${project_id} AND NOT deleted)
        < ${dashboardsPerProjectMax}
      RETURNING id`;
    if (!dashboard)
      throw new Fault("invalid_input", `A project can have at most ${dashboardsPerProjectMax} dashboards.`);
    if (!from) return dashboard.id;
    const found =
      await tx`SELECT FROM dashboards WHERE id = ${from} AND project_id = ${project_id} AND NOT deleted`;
    if (found.length === 0) throw missingReference("use_dashboard", from);
    await copyTiles(tx, { project_id, user_id, from, to: dashboard.id, isDeep: duplicate_tiles ?? false });
    return dashboard.id;
  });
}

/**
 * Changes fields and tiles, of a deleted dashboard too. Without changes nothing is written. Resolves to the ids of
 * new texts.
 * @throws Fault as changeTiles.
 */
export async function updateDashboard(
  sql: Postgres,
  { project_id, id, user_id }: { project_id: number; id: number; user_id: number },
  { tiles = [], duplicate_tiles: copied = [], delete_insights, ...changes }: DashboardUpdate,
): Promise<number[]> {
  if (Object.keys(changes).length === 0 && tiles.length + copied.length === 0) return [];
  return await sql.begin(async (tx) => {
    if (changes.deleted && delete_insights) await deleteInsights(tx, { id, user_id });
    const tags = changes.tags && { tags: cleanTags(changes.tags) };
    const set = { ...changes, ...tags, updated_at: tx`now()` };
    await tx`UPDATE dashboards SET ${tx(set as never)} WHERE id = ${id} AND project_id = ${project_id}`;
    const added = await changeTiles(tx, { id, user_id }, tiles);
    const placedTiles = copied.map(({ id: tile, layouts = {} }) => ({ id: tile, layouts }));
    if (copied.length > 0)
      await copyTiles(tx, { project_id, user_id, from: id, to: id, tiles: placedTiles, isDeep: true });
    return added;
  });
}

/** Transfers a tile of one dashboard to another, in one transaction; see transferTile. */
export const transferTileBetween = async (sql: Postgres, move: Parameters<typeof transferTile>[1]) =>
  await sql.begin(async (tx) => {
    await transferTile(tx, move);
  });

/** Marks a dashboard as deleted; false when it was already. Its tiles remain, and return when it is restored. */
export async function removeDashboard(sql: Postgres, project_id: number, id: number): Promise<boolean> {
  const rows = await sql`
    UPDATE dashboards SET deleted = true, updated_at = now()
    WHERE id = ${id} AND project_id = ${project_id} AND NOT deleted RETURNING id`;
  return rows.length > 0;
}
