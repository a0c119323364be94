// The tiles of dashboards: insights, and texts beside them; the changes of a request to them.

import { refuseInput } from "../core/fault.ts";
import { fieldFault, missingReference } from "../http/fields/field_fault.ts";
import { shownRow, type Stored } from "../http/fields/field_time.ts";
import type { Postgres, PostgresTransaction } from "../storage/postgres/postgres.ts";
import { userJson } from "../storage/postgres/rows.ts";
import { dashboardLimits } from "./limits.ts";
import type { DashboardUpdate, Tile } from "./model.ts";

/**
 * The tiles, each of an insight or a text, from the top, row by row; those without a position last, oldest first.
 * Deleted insights have none.
 */
export async function listTiles(sql: Postgres, dashboard_id: number) {
  type Text = Stored<NonNullable<Tile["text"]>, "last_modified_at">;
  type Row = StoredTile & { insight_id: number | null } & Omit<Text, "id" | "body">;
  const rows = await sql<Row[]>`
    SELECT t.id, t.insight_id, t.layouts, t.color, t.show_description, t.text_body,
      ${userJson(sql, "u")} AS created_by, ${userJson(sql, "m")} AS last_modified_by,
      t.text_modified_at AS last_modified_at, d.project_id AS team
    FROM dashboard_tiles t JOIN dashboards d ON d.id = t.dashboard_id
    LEFT JOIN insights i ON i.id = t.insight_id
    LEFT JOIN users u ON u.id = t.text_created_by
    LEFT JOIN users m ON m.id = t.text_modified_by
    WHERE t.dashboard_id = ${dashboard_id} AND (t.insight_id IS NULL OR NOT i.deleted)
    ORDER BY (t.layouts->'sm'->>'y')::integer, (t.layouts->'sm'->>'x')::integer, t.id
    LIMIT ${dashboardLimits.tilesMax}`;
  return rows.map(({ text_body: body, created_by, last_modified_by, last_modified_at, team, ...tile }) => {
    const written = { created_by, last_modified_by, last_modified_at, team };
    return { ...tile, text: body === null ? null : shownRow({ id: tile.id, body, ...written }) };
  });
}

/** Marks insights as deleted that only this dashboard shows. */
export async function deleteInsights(
  sql: PostgresTransaction,
  { id, user_id }: { id: number; user_id: number },
): Promise<void> {
  await sql`
    UPDATE insights i SET deleted = true, updated_at = now(), last_modified_at = now(), last_modified_by = ${user_id}
    FROM dashboard_tiles t WHERE t.dashboard_id = ${id} AND t.insight_id = i.id AND NOT i.deleted
    AND NOT EXISTS (
      SELECT FROM dashboard_tiles o JOIN dashboards d ON d.id = o.dashboard_id AND NOT d.deleted
      WHERE o.insight_id = i.id AND d.id <> ${id})`;
}

/**
 * Makes, changes and removes tiles, and resolves to the ids of new ones. The dashboard's row is locked by the
 * transaction, so that two changes count the texts one after the other.
 * @throws Fault as tileChanges.
 */
export async function changeTiles(
  sql: PostgresTransaction,
  { id: dashboard_id, user_id }: { id: number; user_id: number },
  requested: readonly TileRequest[],
): Promise<number[]> {
  if (requested.length === 0) return [];
  await restoreTiles(
    sql,
    dashboard_id,
    requested.flatMap(({ id, deleted }) => (deleted === false && id !== undefined ? [id] : [])),
  );
  const stored = await sql<StoredTile[]>`
    SELECT id, layouts, color, show_description, text_body FROM dashboard_tiles
    WHERE dashboard_id = ${dashboard_id}`;
  const { removed, changed, added } = tileChanges(stored, requested);
  await removeTiles(sql, dashboard_id, removed);
  await sql`
    UPDATE dashboard_tiles t
    SET layouts = n.layouts, color = n.color, show_description = n.show_description, text_body = n.text_body,
      text_modified_by = CASE WHEN t.text_body = n.text_body THEN t.text_modified_by
        WHEN n.text_body IS NOT NULL THEN ${user_id}::integer END,
      text_modified_at = CASE WHEN t.text_body = n.text_body THEN t.text_modified_at
        WHEN n.text_body IS NOT NULL THEN now() END
    FROM jsonb_to_recordset(${sql.json(changed as never)})
      AS n (id integer, layouts jsonb, color text, show_description boolean, text_body text)
    WHERE t.id = n.id AND t.dashboard_id = ${dashboard_id}`;
  const rows = await sql<{ id: number }[]>`
    INSERT INTO dashboard_tiles
      (dashboard_id, layouts, color, show_description, text_body, text_created_by, text_modified_at)
    SELECT ${dashboard_id}, n.layouts, n.color, n.show_description, n.text_body, ${user_id}, now()
    FROM jsonb_to_recordset(${sql.json(added.map((tile, place) => ({ ...tile, place })) as never)})
      AS n (layouts jsonb, color text, show_description boolean, text_body text, place integer)
    ORDER BY n.place RETURNING id`;
  return rows.map(({ id }) => id);
}

/** Removes tiles, and keeps the newest removed ones: they may come back. */
async function removeTiles(sql: PostgresTransaction, dashboard_id: number, ids: readonly number[]) {
  if (ids.length === 0) return;
  await sql`
    WITH gone AS (
      DELETE FROM dashboard_tiles t WHERE dashboard_id = ${dashboard_id} AND id = ANY(${[...ids]}::integer[])
      RETURNING t.*
    )
    INSERT INTO removed_dashboard_tiles (id, dashboard_id, tile) SELECT id, dashboard_id, to_jsonb(gone) FROM gone`;
  await sql`
    DELETE FROM removed_dashboard_tiles WHERE id IN (
      SELECT id FROM removed_dashboard_tiles WHERE dashboard_id = ${dashboard_id}
      ORDER BY removed_at DESC, id DESC OFFSET ${dashboardLimits.tilesMax})`;
}

/** Puts removed tiles back where they stood; not one whose insight or user is gone, or whose insight has another. */
async function restoreTiles(sql: PostgresTransaction, dashboard_id: number, ids: readonly number[]) {
  if (ids.length === 0) return;
  await sql`
    WITH back AS (
      DELETE FROM removed_dashboard_tiles WHERE dashboard_id = ${dashboard_id} AND id = ANY(${[...ids]}::integer[])
      RETURNING tile
    )
    INSERT INTO dashboard_tiles OVERRIDING SYSTEM VALUE
    SELECT t.* FROM back, jsonb_populate_record(NULL::dashboard_tiles, back.tile) t
    WHERE (t.insight_id IS NULL OR EXISTS (SELECT FROM insights i WHERE i.id = t.insight_id))
      AND (SELECT count(*) FROM dashboard_tiles o WHERE o.dashboard_id = ${dashboard_id}) + ${ids.length}::integer
        <= ${dashboardLimits.tilesMax}::integer
      AND (t.text_created_by IS NULL OR EXISTS (SELECT FROM users u WHERE u.id = t.text_created_by))
      AND (t.text_modified_by IS NULL OR EXISTS (SELECT FROM users u WHERE u.id = t.text_modified_by))
    ON CONFLICT DO NOTHING`;
}

/** A tile as it is stored. One without a text shows an insight. */
interface StoredTile extends Pick<Tile, "id" | "layouts" | "color" | "show_description"> {
  text_body: string | null;
}

type TileRequest = NonNullable<DashboardUpdate["tiles"]>[number];

const empty = { layouts: {}, color: null, show_description: null, text_body: "" };

/**
 * Tiles that are not named stay as they are.
 * @throws Fault for a tile that the dashboard does not have, a text for a tile that shows an insight, a new tile
 *   without a text, and too many texts.
 */
function tileChanges(stored: readonly StoredTile[], requested: readonly TileRequest[]) {
  const tiles = new Map(stored.map((tile) => [tile.id, tile]));
  const added: Omit<StoredTile, "id">[] = [];
  for (const [i, request] of requested.entries()) {
    const { id, deleted } = request;
    const tile = tiles.get(id ?? 0);
    if (id === undefined) added.push(newTile(request, String(i)));
    else if (!tile) throw missingReference("tiles", id);
    else if (deleted) tiles.delete(id);
    else tiles.set(id, changedTile(tile, request, String(i)));
  }
  const texts = [...tiles.values(), ...added].filter(({ text_body }) => text_body !== null);
  if (texts.length > dashboardLimits.textTilesMax)
    refuseInput(`A dashboard can have at most ${dashboardLimits.textTilesMax} texts.`, "tiles");
  const before = new Map(stored.map((tile) => [tile.id, tile]));
  return {
    removed: [...before.keys()].filter((id) => !tiles.has(id)),
    changed: [...tiles.values()].filter((tile) => !Bun.deepEquals(tile, before.get(tile.id))),
    added,
  };
}

function newTile(request: TileRequest, i: string): Omit<StoredTile, "id"> {
  if (!request.text) throw fieldFault("required", "This field is required.", ["tiles", i, "text"]);
  if (request.deleted) throw fieldFault("required", "This field is required.", ["tiles", i, "id"]);
  const { id: _, ...made } = changedTile({ id: 0, ...empty }, request, i);
  return made;
}

/** The tile with the request's changes; a text that is null is an empty one. */
function changedTile(tile: StoredTile, request: TileRequest, i: string): StoredTile {
  const {
    layouts = tile.layouts,
    color = tile.color,
    show_description = tile.show_description,
    text,
  } = request;
  const changed = { ...tile, layouts, color, show_description };
  if (!text) return changed;
  if (tile.text_body === null) {
    const detail = "This tile shows an insight. Leave its text out, or make a tile for the text.";
    throw fieldFault("invalid_input", detail, ["tiles", i, "text"]);
  }
  if (text.id !== undefined && text.id !== tile.id) throw missingReference(`tiles__${i}__text`, text.id);
  return text.body === undefined ? changed : { ...changed, text_body: text.body ?? "" };
}
