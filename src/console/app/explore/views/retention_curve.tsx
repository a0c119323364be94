// How many per cent came back after each interval, as a curve.

import type { RetentionCohort } from "../../../../query/result.ts";
import { countReturned, daySeconds } from "../../../../query/results/figures.ts";
import { Chart } from "../../ui/chart.tsx";
import type { Line } from "../../ui/chart/series.ts";
import { shownValue } from "../results.ts";

interface CurveProps {
  /** The names of the intervals, from the first after the start. */
  names: readonly string[];
  lines: readonly Line[];
  height?: number;
}

export function RetentionCurve({ names, lines, height = 180 }: CurveProps) {
  const labels = lines.map((line) => line.label).join(", ");
  return (
    <Chart
      label={`Lines from ${names[0]} to ${names.at(-1)}: ${labels}`}
      times={names.map((_, i) => i * daySeconds)}
      isOfTimes={false}
      named
      {...{ names, lines, height }}
    />
  );
}

/**
 * A line of all rows where an interval is over and, with a breakdown, one of each value; undefined where these are no
 * two points.
 */
export function drawCurves(
  cohorts: readonly RetentionCohort[],
  count: number,
  now: number,
): Line[] | undefined {
  const draw = (label: string, rows: readonly RetentionCohort[]) => ({
    label,
    values: Array.from({ length: Math.max(0, count - 1) }, (_, i) => {
      const { began, back } = countReturned(rows, i + 1, now);
      return began === 0 ? null : Math.round((back / began) * 1000) / 10;
    }),
  });
  const whole = draw("All rows, %", cohorts);
  if (whole.values.filter((value) => value !== null).length < 2) return undefined;
  const byValue = Map.groupBy(cohorts, ({ breakdown_value }) => breakdown_value);
  const others = byValue.size > 1 ? [...byValue] : [];
  return [whole, ...others.map(([value, rows]) => draw(`${shownValue(value)}, %`, rows))];
}
