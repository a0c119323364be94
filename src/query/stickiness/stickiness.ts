// Answers a StickinessQuery: how many persons did something in one interval of the range, in two of them, and so on.

import { addIntervals, clickhouseTime, type DateSpan } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { figureDay, type AskedFigure, noFigure, type PersonStatement, figurePlace } from "../parts/figure.ts";
import { actionOf, refuseNumbers } from "../parts/lines.ts";
import { checkPersons, intervalsOf } from "../parts/person_series.ts";
import { shownName } from "../parts/series.ts";
import type { TrendLine } from "../result.ts";
import type { QueryAnswer, QueryContext } from "../store.ts";
import { stickinessModel, type StickinessQuery } from "./model.ts";
import { stickinessPersonsText, stickinessRows } from "./store.ts";

export const stickinessKind = queryKind({
  schema: stickinessModel,
  result: "series",
  check: checkPersons,
  title: ({ series }) => `Stickiness of users who did ${series.map(shownName).join(" & ")}`,
  answer,
  persons: { takes: ["day", "series", "compare"], of: persons },
});

type CheckedStickiness = ReturnType<typeof checkPersons<StickinessQuery>>;

interface Period {
  label?: "current" | "previous";
  span: DateSpan;
  first: Temporal.ZonedDateTime;
}

async function periodsOf(context: QueryContext, checked: CheckedStickiness) {
  const { interval, query } = checked;
  const { starts, span, isExplicit } = await intervalsOf(context, checked);
  const first = starts[0]!;
  const count = starts.length;
  const earlier = addIntervals(interval, first, -count);
  const back = { [`${interval}s`]: count };
  const before = isExplicit
    ? { from: span.from.subtract(back), to: span.to.subtract(back) }
    : { from: earlier, to: first };
  const compares = query.compareFilter?.compare === true;
  const periods: Period[] = compares
    ? [
        { label: "current", span, first },
        { label: "previous", span: before, first: earlier },
      ]
    : [{ span, first }];
  return { span, periods, numbers: starts.map((_, i) => i + 1) };
}

async function answer(context: QueryContext, checked: CheckedStickiness): Promise<QueryAnswer<TrendLine>> {
  const { interval, series, query } = checked;
  const { span, periods, numbers } = await periodsOf(context, checked);
  const count = numbers.length;
  refuseNumbers(series.length * periods.length * count, checked.attr);
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

async function persons(
  context: QueryContext,
  checked: CheckedStickiness,
  figure: AskedFigure,
): Promise<PersonStatement> {
  const series = checked.series[figurePlace(figure, "series", checked.series, 0)]!;
  const { periods, numbers } = await periodsOf(context, checked);
  const period = periods.find(({ label }) => (label ?? "current") === (figure.compare ?? "current"));
  if (!period) return noFigure(figure, "compare", "This query does not compare with the time before.");
  const times = numbers[figureDay(figure, numbers)]!;
  return stickinessPersonsText(context, { ...checked, series }, period, times);
}
