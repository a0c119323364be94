// The series that are drawn of a chart's lines: stacked, and with unfinished values as series of their own.

export interface Line {
  label: string;
  values: readonly (number | null)[];
  dashed?: boolean;
  /** An index into the colours; by default the line's index. */
  colour?: number;
}

/** How values are drawn: bars and areas are stacked; "beside" are bars side by side. */
export type Drawing = "line" | "bar" | "beside" | "area";

export interface DrawnSeries {
  line: Line;
  index: number;
  values: (number | null)[];
  colour: number;
  /** The interval that is not over, dashed, as a series of its own. */
  isTail?: boolean;
}

/** The series in the order of drawing: the top of a stack first, since the others are drawn over it. */
export function toDrawnSeries(lines: readonly Line[], drawing: Drawing, unfinished?: number): DrawnSeries[] {
  const all = lines.map((line, index) => ({
    line,
    index,
    values: [...line.values],
    colour: line.colour ?? index,
  }));
  const isStack = drawing === "bar" || drawing === "area";
  if (isStack) stack(all);
  const ordered = isStack ? all.toReversed() : all;
  const isOfBars = drawing === "bar" || drawing === "beside";
  if (unfinished === undefined || (unfinished === 0 && !isOfBars)) return ordered;
  // A line is connected to its unfinished value, a bar is not.
  const from = isOfBars ? unfinished : unfinished - 1;
  return ordered.flatMap((item) => {
    if (item.line.dashed && !isOfBars) return [item];
    const whole = item.values.map((value, i) => (i >= unfinished ? null : value));
    const tail = item.values.map((value, i) => (i < from ? null : value));
    return [
      { ...item, values: whole },
      { ...item, values: tail, isTail: true },
    ];
  });
}

/** Stacks values: positive ones upwards, negative ones downwards. */
function stack(all: readonly { values: (number | null)[] }[]): void {
  const [above, below]: [number[], number[]] = [[], []];
  for (const { values } of all) {
    for (const [j, value] of values.entries()) {
      if (value === null) continue;
      const side = value < 0 ? below : above;
      values[j] = side[j] = (side[j] ?? 0) + value;
    }
  }
}
