// The layout of a dashboard: tiles in an order, each one or two columns wide, and low or tall. The API stores it as
// PostHog does, in a grid of twelve columns.

/** Columns and rows of the grid. */
interface GridArea {
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Layouts {
  sm?: GridArea | null;
  /** Its place in a narrow window. */
  xs?: GridArea | null;
}

export interface Shape {
  id: number;
  isWide: boolean;
  isTall: boolean;
}

const columns = 12;
const half = columns / 2;
/** Rows of a low tile; a tall one has twice as many. */
const rows = 5;

/** Tiles in reading order. Those without a position yet come last. */
export function toShapes(tiles: readonly { id: number; layouts: Layouts }[]): Shape[] {
  const nowhere = { x: 0, y: Infinity, w: half, h: rows };
  return tiles
    .map(({ id, layouts }) => ({ id, ...(layouts.sm ?? nowhere) }))
    .toSorted((left, right) => byNumber(left.y, right.y) || byNumber(left.x, right.x) || left.id - right.id)
    .map(({ id, w, h }) => ({ id, isWide: w > half, isTall: h > rows }));
}

function byNumber(left: number, right: number): number {
  return left === right ? 0 : left < right ? -1 : 1;
}

/** One tile changes places with the one before it or after it. */
export function withMoved(shapes: readonly Shape[], id: number, by: -1 | 1): Shape[] {
  const from = shapes.findIndex((shape) => shape.id === id);
  const [tile, neighbour] = [shapes[from], shapes[from + by]];
  if (!tile || !neighbour) return [...shapes];
  return shapes.map((shape) => (shape === tile ? neighbour : shape === neighbour ? tile : shape));
}

export function withChanged(shapes: readonly Shape[], id: number, change: Partial<Shape>): Shape[] {
  return shapes.map((shape) => (shape.id === id ? { ...shape, ...change } : shape));
}

/** The positions of the tiles: rows are filled from the left. */
export function toLayouts(shapes: readonly Shape[]): { id: number; layouts: Layouts }[] {
  let [x, y, rowHeight, below] = [0, 0, 0, 0];
  return shapes.map(({ id, isWide, isTall }) => {
    const [w, h] = [isWide ? columns : half, isTall ? 2 * rows : rows];
    if (x + w > columns) [x, y, rowHeight] = [0, y + rowHeight, 0];
    const sm = { x, y, w, h };
    const xs = { x: 0, y: below, w: 1, h };
    x += w;
    rowHeight = Math.max(rowHeight, h);
    below += h;
    return { id, layouts: { sm, xs } };
  });
}
