// Tiles that are copied or moved, within a dashboard or to another one.

import { Fault } from "../core/fault.ts";
import { newShortId } from "../core/id.ts";
import { limits } from "../core/limits.ts";
import { missingReference, notFound } from "../http/fields/field_fault.ts";
import type { PostgresTransaction } from "../storage/postgres/postgres.ts";
import { dashboardLimits } from "./limits.ts";
import type { Tile } from "./model.ts";

interface Copy {
  project_id: number;
  user_id: number;
  /** The dashboard whose tiles are copied. */
  from: number;
  /** The dashboard that gets the copies. */
  to: number;
  /** Only these tiles, at these positions; all by default. */
  tiles?: readonly { id: number; layouts?: Tile["layouts"] | undefined }[];
  /** Whether insights are copied, too; else the copies show the same ones. */
  isDeep: boolean;
}

/**
 * Copies tiles: texts become the user's.
 * @throws Fault for a tile that the dashboard does not have, and as checkFull.
 */
export async function copyTiles(sql: PostgresTransaction, copy: Copy): Promise<void> {
  const { project_id, user_id, from, to, tiles, isDeep } = copy;
  const ids = tiles?.map(({ id }) => id) ?? null;
  const found = await sql<{ id: number; insight_id: number | null }[]>`
    SELECT t.id, t.insight_id FROM dashboard_tiles t LEFT JOIN insights i ON i.id = t.insight_id
    WHERE t.dashboard_id = ${from} AND (t.insight_id IS NULL OR NOT i.deleted)
      AND (${ids}::integer[] IS NULL OR t.id = ANY(${ids})) ORDER BY t.id`;
  const missing = ids?.find((id) => !found.some((tile) => tile.id === id));
  if (missing !== undefined) throw missingReference("duplicate_tiles", missing);
  const requestedTiles = tiles ?? found;
  const sources = requestedTiles.map((tile) => ({
    tile_id: tile.id,
    layouts: null,
    ...tile,
    insight_id: found.find(({ id }) => id === tile.id)?.insight_id,
    short_id: isDeep ? newShortId() : null,
  }));
  const source = sql`
    jsonb_to_recordset(${sql.json(sources as never)})
      AS n (tile_id integer, insight_id integer, short_id text, layouts jsonb)`;
  if (isDeep)
    await sql`
      INSERT INTO insights (project_id, short_id, name, derived_name, query, description, tags, favorited, saved,
        "order", created_by, last_modified_by)
      SELECT project_id, n.short_id, CASE WHEN name <> '' THEN left(name, 393) || ' (Copy)' ELSE name END,
        derived_name, query, description, tags, favorited, saved, "order", ${user_id}, ${user_id}
      FROM ${source} JOIN insights i ON i.id = n.insight_id`;
  await sql`
    INSERT INTO dashboard_tiles
      (dashboard_id, insight_id, layouts, color, show_description, text_body, text_created_by, text_modified_at)
    SELECT ${to}, coalesce(c.id, t.insight_id), coalesce(n.layouts, t.layouts), t.color, t.show_description,
      t.text_body, CASE WHEN t.text_body IS NOT NULL THEN ${user_id}::integer END,
      CASE WHEN t.text_body IS NOT NULL THEN now() END
    FROM ${source} JOIN dashboard_tiles t ON t.id = n.tile_id
    LEFT JOIN insights c ON c.project_id = ${project_id} AND c.short_id = n.short_id
    ORDER BY t.id ON CONFLICT (dashboard_id, insight_id) DO NOTHING`;
  await checkFull(sql, project_id, to);
}

/**
 * Transfers a tile of one dashboard to another: the tile itself, or a copy that shows the same insight.
 * @throws Fault not_found for a dashboard or tile that does not exist, and as checkFull.
 */
export async function transferTile(
  sql: PostgresTransaction,
  { id, isMoved, ...copy }: Omit<Copy, "tiles" | "isDeep"> & { id: number; isMoved: boolean },
): Promise<void> {
  const { project_id, from, to } = copy;
  if (from === to)
    throw new Fault("invalid_input", "Destination must be a different dashboard than the source.");
  const locked = await sql`
    SELECT FROM dashboards WHERE project_id = ${project_id} AND id = ANY(${[from, to]}::integer[]) AND NOT deleted
    ORDER BY id FOR UPDATE`;
  const [tile] = await sql<{ is_shown: boolean }[]>`
    SELECT EXISTS (
      SELECT FROM dashboard_tiles o WHERE o.dashboard_id = ${to} AND o.insight_id = t.insight_id) AS is_shown
    FROM dashboard_tiles t WHERE t.dashboard_id = ${from} AND t.id = ${id}`;
  if (locked.length < 2 || !tile) throw notFound();
  if (tile.is_shown)
    throw new Fault("invalid_input", "This insight is already on the destination dashboard.");
  if (!isMoved) return await copyTiles(sql, { ...copy, tiles: [{ id }], isDeep: false });
  await sql`UPDATE dashboard_tiles SET dashboard_id = ${to} WHERE id = ${id}`;
  await checkFull(sql, project_id, to);
}

/** @throws Fault for more than a project, a dashboard or an insight can have. */
async function checkFull(sql: PostgresTransaction, project_id: number, id: number): Promise<void> {
  const [counts] = await sql<{ insights: number; shown: number; texts: number; dashboards: number | null }[]>`
    SELECT (SELECT count(*)::integer FROM insights WHERE project_id = ${project_id} AND NOT deleted) AS insights,
      count(i.id)::integer AS shown, count(t.text_body)::integer AS texts, max(
        (SELECT count(*)::integer FROM dashboard_tiles o JOIN dashboards d ON d.id = o.dashboard_id AND NOT d.deleted
         WHERE o.insight_id = i.id)) AS dashboards
    FROM dashboard_tiles t LEFT JOIN insights i ON i.id = t.insight_id AND NOT i.deleted WHERE t.dashboard_id = ${id}`;
  const { insights = 0, shown = 0, texts = 0, dashboards } = counts ?? {};
  const bounds = [
    [insights, limits.insightsPerProjectMax, "A project can have at most N insights."],
    [shown, limits.insightsPerDashboardMax, "A dashboard can show at most N insights."],
    [texts, dashboardLimits.textTilesMax, "A dashboard can have at most N texts."],
    [dashboards ?? 0, limits.dashboardsOfInsightMax, "An insight can be on at most N dashboards."],
  ] as const;
  for (const [count, most, detail] of bounds)
    if (count > most) throw new Fault("invalid_input", detail.replace("N", String(most)));
}
