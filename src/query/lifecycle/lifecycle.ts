// Answers a LifecycleQuery: of the persons of each interval, who is new, who was there in the one before, who came back
// after a while; and who of the one before did not come.

import { clickhouseTime } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { figureDay, type AskedFigure, noFigure, type PersonStatement } from "../parts/figure.ts";
import { actionOf, namesOf } from "../parts/lines.ts";
import { checkPersons, intervalsOf } from "../parts/person_series.ts";
import { shownName } from "../parts/series.ts";
import type { TrendLine } from "../result.ts";
import type { QueryAnswer, QueryContext } from "../store.ts";
import { lifecycleModel, type LifecycleQuery } from "./model.ts";
import { lifecyclePersonsText, lifecycleRows, statuses } from "./store.ts";

export const lifecycleKind = queryKind({
  schema: lifecycleModel,
  result: "series",
  check: checkPersons,
  title: ({ series }) => `Lifecycle of users who did ${shownName(series[0]!)}`,
  answer,
  persons: { takes: ["day", "status"], of: persons },
});

async function answer(
  context: QueryContext,
  checked: ReturnType<typeof checkPersons<LifecycleQuery>>,
): Promise<QueryAnswer<TrendLine>> {
  const { interval, filters } = checked;
  const series = checked.series[0]!;
  const { starts, span } = await intervalsOf(context, checked);
  const rows = await lifecycleRows(context, { interval, series, filters }, starts, span);
  const results = statuses.map((status): TrendLine => {
    const data = starts.map(() => 0);
    for (const { bucket, persons, ...row } of rows) {
      if (row.status === status && bucket in data) data[bucket] = Number(persons);
    }
    // Who did not come is below the line.
    const signed = status === "dormant" ? data.map((count) => 0 - count) : data;
    return {
      action: actionOf(series, 0),
      label: `${series.custom_name ?? series.name} - ${status}`,
      count: signed.reduce((sum, one) => sum + one, 0),
      data: signed,
      ...namesOf(starts, interval),
      status,
      filter: { date_from: clickhouseTime(span.from), date_to: clickhouseTime(span.to) },
    };
  });
  return { interval, span, results };
}

async function persons(
  context: QueryContext,
  checked: ReturnType<typeof checkPersons<LifecycleQuery>>,
  figure: AskedFigure,
): Promise<PersonStatement> {
  const { interval, filters } = checked;
  const series = checked.series[0]!;
  const { starts, span } = await intervalsOf(context, checked);
  const status = statuses.find((one) => one === figure.status);
  if (!status) return noFigure(figure, "status", `One of these is needed: ${statuses.join(", ")}.`);
  const bucket = figureDay(figure, namesOf(starts, interval).days);
  return lifecyclePersonsText(context, { interval, series, filters }, starts, { span, bucket, status });
}
