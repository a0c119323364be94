// Answers a TrendsQuery: reads its numbers and makes the lines of the reply.

import { queryKind } from "../kind.ts";
import { requireBreakdownScopes, shownBreakdown, valuesShown } from "../parts/breakdown.ts";
import { figureDay, figureIndex, figureLine, noFigure } from "../parts/figure.ts";
import { namesOf, refuseNumbers, seriesLine } from "../parts/lines.ts";
import type { Interval } from "../parts/model.ts";
import { figurePeriod, type Period, periodsOf } from "../parts/periods.ts";
import type { Series } from "../parts/series.ts";
import type { TrendLine } from "../result.ts";
import type { QueryContext } from "../store.ts";
import { type CheckedTrends, checkTrends, trendsTitle } from "./check.ts";
import { formulaLines } from "./formula.ts";
import { trendsModel } from "./model.ts";
import {
  breakdownValues,
  trendByBreakdown,
  trendPersonsText,
  type TrendRow,
  trendRows,
  trendScope,
} from "./store.ts";

export const trendsKind = queryKind({
  schema: trendsModel,
  result: "series",
  check: checkTrends,
  title: trendsTitle,
  /** @throws Fault when it would have more numbers than queryLimits.queryNumbersMax, or is too heavy. */
  answer: async (context, checked) => {
    const { attr, interval, series, breakdown } = checked;
    if (breakdown) requireBreakdownScopes(context, breakdown);
    const { span, starts, periods } = await periodsOf(context, checked);
    const { formulas } = checked;
    const lines = series.length * (breakdown ? breakdown.limit + 1 : 1) * periods.length;
    refuseNumbers(lines * starts.length * Math.max(1, formulas.length), attr);
    const bySeries: TrendLine[][] = [];
    for (const [order, one] of series.entries()) {
      const ofSeries: TrendLine[] = [];
      for (const period of periods) ofSeries.push(...(await linesOf(context, checked, one, order, period)));
      bySeries.push(ofSeries);
    }
    if (formulas.length === 0) return { interval, span, results: bySeries.flat() };
    const results: TrendLine[] = [];
    for (const [order, formula] of formulas.entries()) {
      results.push(...(await formulaLines(formula, order, bySeries)));
    }
    return { interval, span, results };
  },
  persons: {
    takes: ["day", "series", "breakdown", "compare"],
    /** Without a breakdown value those of all values, without a day those of the whole time. */
    of: async (context, checked, figure) => {
      const { interval, breakdown } = checked;
      const index = figureIndex(figure, "series", checked.series, 0);
      const series = checked.series[index]!;
      if (series.math === "unique_group")
        noFigure(figure, "series", "The groups of a number are not supported.");
      const { periods } = await periodsOf(context, checked);
      const period = figurePeriod(figure, periods);
      const scope = trendScope(context, checked, series, period);
      const isGiven = (value: unknown) => value !== undefined && value !== null;
      const { days } = namesOf(period.starts, interval);
      const bucket = isGiven(figure.day) ? figureDay(figure, days) : undefined;
      if (!isGiven(figure.breakdown)) return trendPersonsText(scope, { bucket });
      if (!breakdown) return noFigure(figure, "breakdown", "This query has no breakdown.");
      requireBreakdownScopes(context, breakdown);
      const top = await breakdownValues(scope, breakdown);
      const line = figureLine(figure, "breakdown", valuesShown(breakdown, top));
      return trendPersonsText(scope, { bucket, line, breakdown: { ...breakdown, values: top.values } });
    },
  },
});

async function linesOf(
  context: QueryContext,
  checked: CheckedTrends,
  series: Series,
  order: number,
  period: Period,
): Promise<TrendLine[]> {
  const { breakdown, query, series: all, interval } = checked;
  const { starts } = period;
  const scope = trendScope(context, checked, series, period);
  const byValue = breakdown && (await trendByBreakdown(scope, breakdown));
  const rows = byValue?.rows ?? (await trendRows(scope, undefined));
  const values = breakdown && byValue ? valuesShown(breakdown, byValue) : [undefined];
  const byLine = Map.groupBy(rows, ({ line }) => line);
  return values.map((value, i) => {
    const numbers = numbersOf(byLine.get(i) ?? [], starts, interval, query.trendsFilter?.display);
    const line = seriesLine(series, order, period, { label: labelOf(series, value, all.length), ...numbers });
    return value === undefined ? line : { ...line, breakdown_value: value };
  });
}

function numbersOf(
  rows: readonly TrendRow[],
  starts: readonly Temporal.ZonedDateTime[],
  interval: Interval,
  display: string | null | undefined,
): Pick<TrendLine, "count" | "data" | "labels" | "days" | "aggregated_value"> {
  if (starts.length === 0) {
    return { count: 0, data: [], labels: [], days: [], aggregated_value: rows[0]?.value ?? 0 };
  }
  const data = starts.map(() => 0);
  for (const { bucket, value } of rows) if (bucket in data) data[bucket] = value ?? 0;
  const count = data.reduce((sum, one) => sum + one, 0);
  if (display === "ActionsLineGraphCumulative") {
    for (let i = 1; i < data.length; i++) data[i] = (data[i] ?? 0) + (data[i - 1] ?? 0);
  }
  return { count, data, ...namesOf(starts, interval) };
}

function labelOf(
  { name, custom_name }: Series,
  value: string | string[] | undefined,
  series: number,
): string {
  const seriesName = custom_name ?? name;
  if (value === undefined) return seriesName;
  const valueText = shownBreakdown(value);
  return series > 1 ? `${seriesName} - ${valueText}` : valueText;
}
