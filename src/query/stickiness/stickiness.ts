// Answers a StickinessQuery: how many persons did something in one interval of the range, in two of them, and so on.

import { refuseInput } from "../../core/fault.ts";
import { choice, integer, strictModel } from "../../http/fields/field.ts";
import { zonedIso } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { queryLimits } from "../limits.ts";
import { personCounts, personsWhere } from "../parts/behind_store.ts";
import { figureIndex, noFigure, type Series, shownName } from "../parts/figure.ts";
import { checkPersons, refuseNumbers, seriesLine } from "../parts/lines.ts";
import * as part from "../parts/model.ts";
import { figurePeriod, partUntil, type Period, readPeriods } from "../parts/periods.ts";
import type { TrendLine } from "../result.ts";
import type { QueryContext } from "../store.ts";
import { type CheckedStickiness, comparisons, timesText } from "./store.ts";

const stickinessModel = strictModel("StickinessQuery", {
  kind: choice(["StickinessQuery"]),
  series: part.seriesList(),
  interval: part.interval,
  /** How many intervals count as one. */
  intervalCount: part.maybe(integer({ minimum: 1, maximum: queryLimits.queryBucketsMax })),
  ...part.insightFields,
  compareFilter: part.compareFilter,
  stickinessFilter: part.maybe(
    strictModel("StickinessFilter", {
      computedAs: part.maybe(choice(["non_cumulative", "cumulative"])),
      stickinessCriteria: part.maybe(
        strictModel("StickinessCriteria", {
          operator: choice(["gte", "lte", "exact"]),
          value: integer({ minimum: 0, maximum: 1_000_000 }),
        }),
      ),
      ...part.unreadFields(
        part.drawing,
        `display hiddenLegendIndexes resultCustomizationBy resultCustomizations showLegend showMultipleYAxes
        showValuesOnSeries`,
      ),
    }),
  ),
});

export const stickinessKind = queryKind({
  schema: stickinessModel,
  result: "series",
  check: (query, attr) => {
    const checked = checkPersons(query, attr, ["unique_group", "hogql"]);
    const maths = checked.series.flatMap(({ math, node }, i) => {
      const at = `${attr}__series__${i}`;
      if (math === "hogql" && !node.math_hogql)
        refuseInput('The math "hogql" needs an expression.', `${at}__math_hogql`, "required");
      if (math === "unique_group" && typeof node.math_group_type_index !== "number")
        refuseInput("Counting groups needs a group type.", `${at}__math_group_type_index`, "required");
      return math === "hogql" ? [{ text: node.math_hogql!, attr: `${at}__math_hogql` }] : [];
    });
    const { computedAs, stickinessCriteria: criteria } = query.stickinessFilter ?? {};
    const isCumulative = computedAs === "cumulative";
    return { ...checked, maths, size: query.intervalCount ?? 1, criteria, isCumulative };
  },
  title: ({ series }) => `Stickiness of users who did ${series.map(shownName).join(" & ")}`,
  answer: async (context, checked) => {
    const { interval, series, isCumulative } = checked;
    const { span, periods, starts } = await readPeriods(context, checked);
    const numbers = numberStarts(starts, checked);
    const count = numbers.length;
    refuseNumbers(series.length * periods.length * count, checked.attr);
    const orMore = isCumulative ? " or more" : "";
    const labels = numbers.map((times) => `${times} ${interval}${times > 1 ? "s" : ""}${orMore}`);
    const sum = (data: readonly number[]) =>
      isCumulative ? data[0]! : data.reduce((total, persons) => total + persons, 0);
    const results: TrendLine[] = [];
    for (const [order, item] of series.entries()) {
      for (const period of periods) {
        const data = await countTimes(context, checked, item, period, count);
        const label = item.custom_name ?? item.name;
        const line = seriesLine(item, order, period, { label, data, labels, days: numbers });
        line.count = sum(data);
        results.push(line);
        if (!period.until) continue;
        const partial = await countTimes(context, checked, item, partUntil(period, 0), count);
        Object.assign(line, {
          until: { date_to: zonedIso(period.until), data: partial, count: sum(partial) },
        });
      }
    }
    return { interval, span, results };
  },
  persons: {
    takes: ["day", "series", "compare", "operator"],
    of: async (context, checked, figure) => {
      const series = checked.series[figureIndex(figure, "series", checked.series, 0)]!;
      if (series.math === "unique_group" || series.math === "hogql")
        noFigure(figure, "series", "Only the persons of a number are listed.");
      const { periods, starts } = await readPeriods(context, checked);
      const times = numberStarts(starts, checked);
      const at_times = times.find((count) => String(count) === String(figure.day));
      if (!at_times) noFigure(figure, "day", `A number of intervals is needed: 1 to ${times.length}.`);
      const sign = comparisons[figure.operator ?? (checked.isCumulative ? "gte" : "exact")];
      const statement = timesText(context, checked, series, figurePeriod(figure, periods));
      return personsWhere(statement, `times ${sign} {at_times:Int32}`, { at_times });
    },
  },
});

/** Keyed by the number of intervals, how many persons were there in so many. */
async function countTimes(
  context: QueryContext,
  checked: CheckedStickiness & { isCumulative: boolean },
  series: Series,
  period: Period,
  count: number,
): Promise<number[]> {
  const data = Array.from({ length: count }, () => 0);
  const statement = timesText(context, checked, series, period);
  const rows = await personCounts<{ times: number }>(context, statement, "times");
  for (const row of rows) if (row.times - 1 in data) data[row.times - 1] = Number(row.persons);
  if (checked.isCumulative) for (let i = count - 2; i >= 0; i--) data[i]! += data[i + 1]!;
  return data;
}

/** The `days` of its lines: in how many intervals. */
const numberStarts = (starts: readonly unknown[], { size }: CheckedStickiness): number[] =>
  Array.from({ length: Math.ceil(starts.length / size) }, (_, i) => i + 1);
