// Answers a StickinessQuery: how many persons did something in one interval of the range, in two of them, and so on.

import { zonedIso } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { personCounts, personsWhere } from "../parts/behind_store.ts";
import { figureDay, figureIndex, type Series, shownName } from "../parts/figure.ts";
import { type CheckedPersons, checkPersons, refuseNumbers, seriesLine } from "../parts/lines.ts";
import { figurePeriod, partUntil, type Period, periodsOf } from "../parts/periods.ts";
import type { TrendLine } from "../result.ts";
import type { QueryContext } from "../store.ts";
import { stickinessModel, type StickinessQuery } from "./model.ts";
import { timesText } from "./store.ts";

export const stickinessKind = queryKind({
  schema: stickinessModel,
  result: "series",
  check: checkPersons<StickinessQuery>,
  title: ({ series }) => `Stickiness of users who did ${series.map(shownName).join(" & ")}`,
  answer: async (context, checked) => {
    const { interval, series } = checked;
    const { span, periods, starts } = await periodsOf(context, checked);
    const count = starts.length;
    const numbers = timesOf(starts);
    refuseNumbers(series.length * periods.length * count, checked.attr);
    const labels = numbers.map((times) => `${times} ${interval}${times > 1 ? "s" : ""}`);
    const results: TrendLine[] = [];
    for (const [order, one] of series.entries()) {
      for (const period of periods) {
        const data = await countTimes(context, checked, one, period, count);
        const label = one.custom_name ?? one.name;
        const line = seriesLine(one, order, period, { label, data, labels, days: numbers });
        results.push(line);
        if (!period.until) continue;
        const part = await countTimes(context, checked, one, partUntil(period, 0), count);
        const sum = part.reduce((total, persons) => total + persons, 0);
        Object.assign(line, { until: { date_to: zonedIso(period.until), data: part, count: sum } });
      }
    }
    return { interval, span, results };
  },
  persons: {
    takes: ["day", "series", "compare"],
    of: async (context, checked, figure) => {
      const series = checked.series[figureIndex(figure, "series", checked.series, 0)]!;
      const { periods, starts } = await periodsOf(context, checked);
      const at_times = figureDay(figure, timesOf(starts)) + 1;
      const sign = checked.query.stickinessFilter?.computedAs === "cumulative" ? ">=" : "=";
      const statement = timesText(context, checked, series, figurePeriod(figure, periods));
      return personsWhere(statement, `times ${sign} {at_times:Int32}`, { at_times });
    },
  },
});

/** By the number of intervals, how many persons were there in so many. */
async function countTimes(
  context: QueryContext,
  checked: CheckedPersons<StickinessQuery>,
  series: Series,
  period: Period,
  count: number,
): Promise<number[]> {
  const data = Array.from({ length: count }, () => 0);
  const statement = timesText(context, checked, series, period);
  const rows = await personCounts<{ times: number }>(context, statement, "times");
  for (const row of rows) if (row.times - 1 in data) data[row.times - 1] = Number(row.persons);
  if (checked.query.stickinessFilter?.computedAs === "cumulative") {
    for (let i = count - 2; i >= 0; i--) data[i]! += data[i + 1]!;
  }
  return data;
}

/** The `days` of its lines: in how many intervals. */
const timesOf = (starts: readonly unknown[]): number[] => starts.map((_, i) => i + 1);
