// Answers a LifecycleQuery: of the persons of each interval, who is new, who was there in the one before, who came back
// after a while; and who of the one before did not come.

import { bucketsOf, clickhouseTime, startOf } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { actionOf, namesOf } from "../parts/lines.ts";
import type { Interval } from "../parts/model.ts";
import { filtersOf, onlyPersons, seriesOf, shownName } from "../parts/series.ts";
import type { TrendLine } from "../result.ts";
import { type QueryAnswer, type QueryContext, spanOf } from "../store.ts";
import { lifecycleModel, type LifecycleQuery } from "./model.ts";
import { lifecycleRows, statuses } from "./store.ts";

export const lifecycleKind = queryKind({
  schema: lifecycleModel,
  result: "series",
  check,
  title: ({ series }) => `Lifecycle of users who did ${shownName(series)}`,
  answer,
});

function check(query: LifecycleQuery, attr: string) {
  const at = `${attr}__series__0`;
  const series = seriesOf(query.series[0]!, at);
  onlyPersons(series, at);
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
  const span = query.dateRange?.explicitDate ? asked : { ...asked, from: startOf(interval, asked.from) };
  const rows = await lifecycleRows(context, checked, starts, span);
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
