// Answers a StickinessQuery: how many persons did something in one interval of the range, in two of them, and so on.

import { addIntervals, bucketsOf, clickhouseTime, type DateSpan, startOf } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { actionOf, refuseNumbers } from "../parts/lines.ts";
import type { Interval } from "../parts/model.ts";
import { filtersOf, onlyPersons, seriesOf, shownName } from "../parts/series.ts";
import type { TrendLine } from "../result.ts";
import { type QueryAnswer, type QueryContext, spanOf } from "../store.ts";
import { stickinessModel, type StickinessQuery } from "./model.ts";
import { stickinessRows } from "./store.ts";

export const stickinessKind = queryKind({
  schema: stickinessModel,
  result: "series",
  check,
  title: ({ series }) => `Stickiness of users who did ${series.map(shownName).join(" & ")}`,
  answer,
});

function check(query: StickinessQuery, attr: string) {
  const series = query.series.map((node, i) => {
    const one = seriesOf(node, `${attr}__series__${i}`);
    onlyPersons(one, `${attr}__series__${i}`);
    return one;
  });
  return {
    attr,
    query,
    interval: (query.interval ?? "day") as Interval,
    series,
    filters: filtersOf(query, attr),
  };
}

async function answer(
  context: QueryContext,
  checked: ReturnType<typeof check>,
): Promise<QueryAnswer<TrendLine>> {
  const { interval, series, query } = checked;
  const asked = await spanOf(context, checked, interval === "hour");
  const starts = bucketsOf(interval, asked);
  const first = starts[0]!;
  const count = starts.length;
  const explicit = query.dateRange?.explicitDate === true;
  const span = explicit ? asked : { ...asked, from: startOf(interval, asked.from) };
  const earlier = addIntervals(interval, first, -count);
  const back = { [`${interval}s`]: count };
  const before = explicit
    ? { from: span.from.subtract(back), to: span.to.subtract(back) }
    : { from: earlier, to: first };
  const compares = query.compareFilter?.compare === true;
  const periods: { label?: "current" | "previous"; span: DateSpan; first: Temporal.ZonedDateTime }[] =
    compares
      ? [
          { label: "current", span, first },
          { label: "previous", span: before, first: earlier },
        ]
      : [{ span, first }];
  refuseNumbers(series.length * periods.length * count, checked.attr);
  const numbers = starts.map((_, i) => i + 1);
  const labels = numbers.map((times) => `${times} ${interval}${times > 1 ? "s" : ""}`);
  const results: TrendLine[] = [];
  for (const [order, one] of series.entries()) {
    for (const period of periods) {
      const data = numbers.map(() => 0);
      const rows = await stickinessRows(context, { ...checked, series: one }, period.first, period.span);
      for (const row of rows) if (row.times - 1 in data) data[row.times - 1] = Number(row.persons);
      if (query.stickinessFilter?.computedAs === "cumulative") {
        for (let i = count - 2; i >= 0; i--) data[i]! += data[i + 1]!;
      }
      results.push({
        action: actionOf(one, order),
        label: one.custom_name ?? one.name,
        count: data.reduce((sum, persons) => sum + persons, 0),
        data,
        labels,
        days: numbers,
        ...(period.label && { compare: true as const, compare_label: period.label }),
        filter: { date_from: clickhouseTime(period.span.from), date_to: clickhouseTime(period.span.to) },
      });
    }
  }
  return { interval, span, results };
}
