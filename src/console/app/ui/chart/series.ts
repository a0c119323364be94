// Lines of a chart as the series that are drawn: stacked, and with what is not over apart.

export interface Line {
  label: string;
  values: readonly (number | null)[];
  dashed?: boolean;
  /** An index into the colours; the line's own index unless it is given. */
  colour?: number;
}

/** How values are drawn: bars and areas stand on each other, unless bars stand beside each other. */
export type Drawing = "line" | "bar" | "beside" | "area";

/** A series as it is drawn. */
export interface DrawnSeries {
  line: Line;
  /** Of the line among all. */
  index: number;
  values: (number | null)[];
  colour: number;
  /** The interval that is not over, dashed, as a series of its own. */
  isTail?: boolean;
}

/** In the order of drawing: of a stack the highest first, since the others are drawn over it. */
export function seriesOf(lines: readonly Line[], drawing: Drawing, unfinished?: number): DrawnSeries[] {
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
  // A line leads to its unfinished value, a bar stands alone.
  const from = isOfBars ? unfinished : unfinished - 1;
  return ordered.flatMap((one) => {
    if (one.line.dashed && !isOfBars) return [one];
    const whole = one.values.map((value, i) => (i >= unfinished ? null : value));
    const tail = one.values.map((value, i) => (i < from ? null : value));
    return [
      { ...one, values: whole },
      { ...one, values: tail, isTail: true },
    ];
  });
}

/** Puts values on the ones before them: those above zero on each other, those below it under each other. */
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
