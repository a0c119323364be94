// Answers a TrendsQuery: reads its numbers and makes the lines of the reply.

import { queryKind } from "../kind.ts";
import {
  type Breakdown,
  compareLines,
  requireBreakdownScopes,
  toStoredValue,
  valuesShown,
} from "../parts/breakdown.ts";
import type { BreakdownLines } from "../parts/breakdown_store.ts";
import {
  figureIndex,
  figureLine,
  type FigureRef,
  noFigure,
  type Series,
  shownName,
} from "../parts/figure.ts";
import { refuseNumbers } from "../parts/lines.ts";
import { figureBucket, figurePeriod, readPeriods } from "../parts/periods.ts";
import type { TrendLine } from "../result.ts";
import { type CheckedTrends, checkTrends, countsGroups, trendsModel } from "./check.ts";
import { formulaLines } from "./formula.ts";
import { readLines } from "./lines.ts";
import { trendScope } from "./scope.ts";
import { breakdownValues, trendPersonsText, withRanges } from "./store.ts";

export const trendsKind = queryKind({
  schema: trendsModel,
  result: "series",
  check: checkTrends,
  title: trendsTitle,
  /** @throws Fault when it would have more numbers than queryLimits.queryNumbersMax, or is too heavy. */
  answer: async (context, checked) => {
    const { attr, interval, series, breakdown } = checked;
    if (breakdown) requireBreakdownScopes(context, breakdown);
    const { span, starts, periods } = await readPeriods(context, checked);
    const { formulas } = checked;
    const lines = series.length * (breakdown ? breakdown.limit + 1 : 1) * periods.length;
    refuseNumbers(lines * starts.length * Math.max(1, formulas.length), attr);
    const bySeries: TrendLine[][] = series.map(() => []);
    const results: TrendLine[] = [];
    for (const period of periods) {
      const lines = await readLines(context, checked, period);
      for (const [order, { lines: own }] of lines.entries()) {
        own.sort(compareLines);
        bySeries[order]!.push(...own);
        results.push(...own);
      }
    }
    if (formulas.length === 0) return { interval, span, results };
    results.length = 0;
    for (const [order, formula] of formulas.entries())
      results.push(...(await formulaLines(formula, order, bySeries)));
    return { interval, span, results };
  },
  persons: {
    takes: ["day", "series", "breakdown", "compare"],
    /** Without a breakdown value those of all values, without a day those of the whole time. */
    of: async (context, checked, figure) => {
      const { interval } = checked;
      const index = figureIndex(figure, "series", checked.series, 0);
      const series = checked.series[index]!;
      if (countsGroups(series.node)) noFigure(figure, "series", "The groups of a number are not supported.");
      const { periods } = await readPeriods(context, checked);
      const period = figurePeriod(figure, periods);
      const scope = trendScope(context, checked, series, period);
      const isGiven = (value: unknown) => value !== undefined && value !== null;
      const bucket = isGiven(figure.day) ? figureBucket(figure, interval, period, periods[0]) : undefined;
      if (!isGiven(figure.breakdown)) return trendPersonsText(scope, bucket);
      if (!checked.breakdown) return noFigure(figure, "breakdown", "This query has no breakdown.");
      requireBreakdownScopes(context, checked.breakdown);
      const breakdown = await withRanges(scope, checked.breakdown);
      const top = await breakdownValues(scope, breakdown);
      const line = figureLine(figure.breakdown, valuesShown(breakdown, top));
      const lines = line < 0 ? lineOfValue(figure, breakdown) : { ...breakdown, values: top.values };
      return trendPersonsText(scope, bucket, lines, Math.max(0, line));
    },
  },
});

const mathWords: Record<string, string> = {
  total: "count",
  dau: "unique users",
  weekly_active: "weekly active users",
  monthly_active: "monthly active users",
  unique_session: "unique sessions",
  unique_group: "unique groups",
  first_time_for_user: "first time",
  first_matching_event_for_user: "first matching event",
};

/** Like `signed up count & bought unique users`. */
function trendsTitle({ series, breakdown, formulas }: CheckedTrends): string {
  const named = formulas.map(({ text, custom_name }) => custom_name || text);
  const lines = named.length > 0 ? named : series.map(seriesTitle);
  return (
    lines.join(" & ") +
    (breakdown ? ` by ${breakdown.parts.map(({ property }) => property).join(" and ")}` : "")
  );
}

function seriesTitle(series: Series): string {
  const { math, node } = series;
  if (math === "hogql") return `${shownName(series)} ${node.math_hogql}`;
  const property = node.math_property ? ` of ${node.math_property}` : "";
  return `${shownName(series)} ${mathWords[math] ?? `${math}${property}`}`;
}

/** A line of a value that has none in the result: it may rank too low, or have no event. */
function lineOfValue(figure: FigureRef, breakdown: Breakdown): BreakdownLines {
  const value = toStoredValue(breakdown, [figure.breakdown].flat().map(String));
  if (value !== undefined) return { ...breakdown, values: [value] };
  return noFigure(figure, "breakdown", "The result has no line of this value.");
}
