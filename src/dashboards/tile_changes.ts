// The changes of a request to a dashboard's tiles: removed, changed and added ones.

import { Fault } from "../core/fault.ts";
import { fieldFault, missingReference } from "../http/fields/field_fault.ts";
import { dashboardLimits } from "./limits.ts";
import type { DashboardUpdate, Tile } from "./model.ts";

/** A tile as it is stored. One without a text shows an insight. */
export interface StoredTile extends Pick<Tile, "id" | "layouts" | "color" | "show_description"> {
  text_body: string | null;
}

export type TileRequest = NonNullable<DashboardUpdate["tiles"]>[number];

interface TileChanges {
  removed: number[];
  changed: Map<number, StoredTile>;
  added: Omit<StoredTile, "id">[];
}

const empty = { layouts: {}, color: null, show_description: null, text_body: "" };

/**
 * Tiles that are not named stay as they are.
 * @throws Fault for a tile that the dashboard does not have, a text for a tile that shows an insight, a new tile
 *   without a text, and too many texts.
 */
export function tileChanges(stored: readonly StoredTile[], requested: readonly TileRequest[]): TileChanges {
  const tiles = new Map(stored.map((tile) => [tile.id, tile]));
  const changes: TileChanges = { removed: [], changed: new Map(), added: [] };
  for (const [i, request] of requested.entries()) {
    const { id, deleted } = request;
    if (id === undefined) {
      changes.added.push(newTile(request, String(i)));
      continue;
    }
    const tile = tiles.get(id);
    if (!tile) throw missingReference("tiles", id);
    tiles.delete(id);
    if (deleted) {
      changes.removed.push(id);
      changes.changed.delete(id);
      continue;
    }
    const changed = changedTile(tile, request, String(i));
    tiles.set(id, changed);
    if (!Bun.deepEquals(changed, tile)) changes.changed.set(id, changed);
  }
  checkTexts([...tiles.values(), ...changes.added]);
  return changes;
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

function checkTexts(tiles: readonly { text_body: string | null }[]): void {
  const texts = tiles.filter(({ text_body }) => text_body !== null).length;
  if (texts <= dashboardLimits.textTilesMax) return;
  const detail = `A dashboard can have at most ${dashboardLimits.textTilesMax} texts.`;
  throw new Fault("invalid_input", detail, { attr: "tiles" });
}
