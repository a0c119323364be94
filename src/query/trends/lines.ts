// The lines of a trend: of each series in each period, by value of the breakdown.

import { zonedIso } from "../date_range.ts";
import { shownBreakdown, valuesShown } from "../parts/breakdown.ts";
import type { BreakdownLines } from "../parts/breakdown_store.ts";
import type { Series } from "../parts/figure.ts";
import { nameStarts, seriesLine } from "../parts/lines.ts";
import { partUntil, type Period } from "../parts/periods.ts";
import { noValue, type TrendLine } from "../result.ts";
import type { QueryContext } from "../store.ts";
import { type CheckedTrends, isAddedUp } from "./check.ts";
import type { Formula } from "./formula.ts";
import { trendScope } from "./scope.ts";
import { type BreakdownTrend, trendByBreakdown, type TrendRow, trendRows, withRanges } from "./store.ts";

/** The lines of a series, and the values of the breakdown that have one, as the store has them. */
interface SeriesLines extends Pick<BreakdownTrend, "values" | "more"> {
  lines: TrendLine[];
}

/** The series' lines. Where a formula combines them, the values that rank first by its numbers have lines in each. */
export async function readLines(context: QueryContext, checked: CheckedTrends, period: Period) {
  const { breakdown, formulas } = checked;
  const found: SeriesLines[] = [];
  for (const order of checked.series.keys())
    found.push(await readSeriesLines(context, checked, order, period));
  if (!breakdown || !formulas[0]) return found;
  const topValues = rankValues(formulas[0], found).slice(0, breakdown.limit);
  for (const [order, { values, more }] of found.entries()) {
    const isKept = values.every((value) => topValues.includes(value));
    const isWhole = !more || topValues.every((value) => values.includes(value));
    if (!isKept || !isWhole) found[order] = await readSeriesLines(context, checked, order, period, topValues);
  }
  return found;
}

/** All values of the series, the largest number of the formula first; over time, those without a value last. */
function rankValues(formula: Formula, series: readonly SeriesLines[]): (string | null)[] {
  const numbers = series.map(
    ({ values, lines }) =>
      new Map(values.map((value, i) => [value, lines[i]!.aggregated_value ?? lines[i]!.count])),
  );
  const all = [...new Set(series.flatMap(({ values }) => values))];
  const isNone = ({ breakdown_value, aggregated_value }: TrendLine) =>
    aggregated_value === undefined && [breakdown_value].flat().includes(noValue);
  const nones = new Set(series.flatMap(({ values, lines }) => values.filter((_, i) => isNone(lines[i]!))));
  const ranks = new Map(all.map((value) => [value, formula.of(numbers.map((own) => own.get(value) ?? 0))]));
  const place = (value: string | null) => Number(nones.has(value));
  return all.toSorted((a, b) => place(a) - place(b) || ranks.get(b)! - ranks.get(a)!);
}

/** @param keptValues the breakdown's values that have a line; by default those that rank first. */
async function readSeriesLines(
  context: QueryContext,
  checked: CheckedTrends,
  order: number,
  period: Period,
  keptValues?: (string | null)[],
): Promise<SeriesLines> {
  const { series: all } = checked;
  const { starts } = period;
  const series = all[order]!;
  const scope = trendScope(context, checked, series, period);
  const breakdown = checked.breakdown && (await withRanges(scope, checked.breakdown));
  const byValue =
    breakdown &&
    (keptValues
      ? { values: keptValues, more: true, rows: await trendRows(scope, { ...breakdown, values: keptValues }) }
      : await trendByBreakdown(scope, breakdown));
  const rows = byValue?.rows ?? (await trendRows(scope, undefined));
  const values = breakdown && byValue ? valuesShown(breakdown, byValue) : [undefined];
  const byLine = Map.groupBy(rows, ({ line }) => line);
  const kept = breakdown && byValue && { ...breakdown, values: byValue.values };
  const readUntil = period.until && (await untilReader(context, checked, series, period, kept));
  const lines = values.map((value, i) => {
    const ofLine = byLine.get(i) ?? [];
    const numbers = toNumbers(ofLine, starts, checked);
    const line = seriesLine(series, order, period, {
      label: chooseLabel(series, value, all.length),
      ...numbers,
    });
    return {
      ...line,
      ...(value !== undefined && { breakdown_value: value }),
      ...(readUntil && { until: readUntil(i, ofLine) }),
    };
  });
  return { lines, values: byValue?.values ?? [], more: byValue?.more ?? false };
}

/** The numbers of a line of the period before, as far from its start as now is. Whole intervals are known already. */
async function untilReader(
  context: QueryContext,
  checked: CheckedTrends,
  series: Series,
  period: Period,
  breakdown: BreakdownLines | undefined,
) {
  // In a line that adds up, who is new in an interval depends on those before it.
  const { first, ...part } = partUntil(period, isAddedUp(checked.query) ? 0 : undefined);
  const rows = await trendRows(trendScope(context, checked, series, part), breakdown);
  const byLine = Map.groupBy(rows, ({ line }) => line);
  const starts = period.starts.slice(0, first + part.starts.length);
  return (line: number, whole: readonly TrendRow[]): NonNullable<TrendLine["until"]> => {
    const last = (byLine.get(line) ?? []).map((row) => ({ ...row, bucket: first + row.bucket }));
    const all = [...whole.filter(({ bucket }) => bucket < first), ...last];
    const { data, count, aggregated_value } = toNumbers(all, starts, checked);
    return {
      date_to: zonedIso(period.until!),
      data,
      count,
      ...(aggregated_value !== undefined && { aggregated_value }),
    };
  };
}

function toNumbers(
  rows: readonly TrendRow[],
  starts: readonly Temporal.ZonedDateTime[],
  { query: { trendsFilter: filter }, interval }: CheckedTrends,
): Pick<TrendLine, "count" | "data" | "labels" | "days" | "aggregated_value"> {
  if (starts.length === 0)
    return { count: 0, data: [], labels: [], days: [], aggregated_value: rows[0]?.value ?? 0 };
  const each = starts.map(() => 0);
  for (const { bucket, value } of rows) if (bucket in each) each[bucket] = value ?? 0;
  const data = smooth(each, filter?.smoothingIntervals ?? 1);
  const count = data.reduce((sum, item) => sum + item, 0);
  if (filter?.display === "ActionsLineGraphCumulative")
    for (let i = 1; i < data.length; i++) data[i] = (data[i] ?? 0) + (data[i - 1] ?? 0);
  return { count, data, ...nameStarts(starts, interval) };
}

/** Each number as the mean of so many until it, rounded down, as at PostHog. */
function smooth(data: number[], count: number): number[] {
  if (count === 1) return data;
  return data.map((_, i) => {
    const part = data.slice(Math.max(0, i + 1 - count), i + 1);
    return Math.floor(part.reduce((sum, item) => sum + item, 0) / part.length);
  });
}

function chooseLabel({ name, custom_name }: Series, value: string | string[] | undefined, series: number) {
  const seriesName = custom_name ?? name;
  if (value === undefined) return seriesName;
  const valueText = shownBreakdown(value);
  return series > 1 ? `${seriesName} - ${valueText}` : valueText;
}
