// Answers a TrendsQuery: reads its numbers and makes the lines of the reply.

import { yieldToEventLoop } from "../../core/clock.ts";
import { queryKind } from "../kind.ts";
import { requireBreakdownScopes, shownBreakdown, valuesShown } from "../parts/breakdown.ts";
import { namesOf, refuseNumbers, seriesLine } from "../parts/lines.ts";
import type { Interval } from "../parts/model.ts";
import { type Period, periodsOf } from "../parts/periods.ts";
import type { Series } from "../parts/series.ts";
import type { TrendLine } from "../result.ts";
import type { QueryAnswer, QueryContext } from "../store.ts";
import { type CheckedTrends, checkTrends, trendsTitle } from "./check.ts";
import type { Formula } from "./formula.ts";
import { trendsModel } from "./model.ts";
import { trendPersons } from "./persons.ts";
import { trendByBreakdown, type TrendRow, trendRows, trendScope } from "./store.ts";

export const trendsKind = queryKind({
  schema: trendsModel,
  result: "series",
  check: checkTrends,
  title: trendsTitle,
  answer,
  persons: { takes: ["day", "series", "breakdown", "compare"], of: trendPersons },
});

/** @throws Fault when it would have more numbers than queryLimits.queryNumbersMax, or is too heavy. */
async function answer(context: QueryContext, checked: CheckedTrends): Promise<QueryAnswer<TrendLine>> {
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
}

/**
 * One line for each value of the breakdown and each period that any series has; a series without it counts 0. It yields
 * to the event loop after each line.
 */
async function formulaLines(
  formula: Formula,
  order: number,
  bySeries: readonly (readonly TrendLine[])[],
): Promise<TrendLine[]> {
  const keyOf = ({ breakdown_value, compare_label }: TrendLine) =>
    JSON.stringify([compare_label ?? null, breakdown_value ?? null]);
  const linesByKey = bySeries.map((lines) => new Map(lines.map((line) => [keyOf(line), line])));
  const firsts = new Map(
    bySeries
      .flat()
      .toReversed()
      .map((line) => [keyOf(line), line]),
  );
  const lines: TrendLine[] = [];
  for (const [key, first] of [...firsts].toReversed()) {
    const summands = linesByKey.map((ofSeries) => ofSeries.get(key));
    const data = first.data.map((_, i) => formula.of(summands.map((line) => line?.data[i] ?? 0)));
    lines.push({
      ...first,
      action: null,
      order,
      label: formula.custom_name || `Formula (${formula.text})`,
      data,
      count: data.reduce((sum, one) => sum + one, 0),
      ...(first.aggregated_value !== undefined && {
        aggregated_value: formula.of(summands.map((line) => line?.aggregated_value ?? 0)),
      }),
    });
    await yieldToEventLoop();
  }
  return lines;
}

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
