// Tiles arranged in an order, in a grid of twelve columns, as PostHog arranges them.

import type { Tile } from "./model.ts";

export type Arrangement = "preserve" | "two_column" | "full_width";

const columns = 12;
/** Columns and rows of a tile without a size of its own. */
const usual = { w: 6, h: 5 };

/** Each tile goes to the highest place that is wide enough, the leftmost of equal ones. */
export function arrangeTiles(tiles: readonly Pick<Tile, "id" | "layouts">[], arrangement: Arrangement) {
  const filled = Array.from({ length: columns }, () => 0);
  let below = 0;
  return tiles.map(({ id, layouts }) => {
    const size = arrangement === "preserve" ? (layouts.sm ?? usual) : usual;
    const w = arrangement === "full_width" ? columns : Math.min(Math.max(size.w, 1), columns);
    const h = Math.max(size.h, 1);
    const tops = filled.slice(w - 1).map((_, x) => Math.max(...filled.slice(x, x + w)));
    const y = Math.min(...tops);
    const x = tops.indexOf(y);
    filled.fill(y + h, x, x + w);
    below += h;
    return { id, layouts: { sm: { x, y, w, h }, xs: { x: 0, y: below - h, w: 1, h } } };
  });
}
