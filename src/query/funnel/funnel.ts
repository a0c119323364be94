// Answers a FunnelsQuery: how many persons did one thing after the other.

import { queryKind } from "../kind.ts";
import { filtersOf, refuseBreakdown, seriesOf, shownName, unsupportedField } from "../parts/series.ts";
import type { FunnelStep } from "../result.ts";
import { type QueryAnswer, type QueryContext, spanOf } from "../store.ts";
import { funnelsModel, type FunnelsQuery } from "./model.ts";
import { funnelRow } from "./store.ts";

export const funnelsKind = queryKind({
  schema: funnelsModel,
  result: "steps",
  check,
  title: ({ series }) => `${series.map(shownName).join(" → ")} user conversion rate`,
  answer,
});

function check(query: FunnelsQuery, attr: string) {
  refuseBreakdown(query, attr);
  const series = query.series.map((node, i) => seriesOf(node, `${attr}__series__${i}`));
  for (const [i, { math }] of series.entries()) {
    if (math !== "total") throw unsupportedField("Math on a funnel's step", `${attr}__series__${i}__math`);
  }
  return { attr, query, series, filters: filtersOf(query, attr) };
}

const unitSeconds: Record<string, number> = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  // The mean month of a year.
  month: 2_629_746,
};

/** The window of a funnel, unless the query has another. */
const windowDefault = { count: 14, unit: "day" };

async function answer(
  context: QueryContext,
  checked: ReturnType<typeof check>,
): Promise<QueryAnswer<FunnelStep>> {
  const span = await spanOf(context, checked);
  const { funnelWindowInterval: count, funnelWindowIntervalUnit: unit } = checked.query.funnelsFilter ?? {};
  const seconds = (count ?? windowDefault.count) * (unitSeconds[unit ?? windowDefault.unit] ?? 0);
  const row = await funnelRow(context, checked, span, seconds * 1_000_000);
  const results = checked.series.map(({ event, name, custom_name }, order): FunnelStep => ({
    action_id: event ?? null,
    name,
    custom_name,
    order,
    people: [],
    count: Number(row.persons[order] ?? 0),
    type: "events",
    average_conversion_time: order === 0 ? null : (row.average_seconds[order] ?? null),
    median_conversion_time: order === 0 ? null : (row.median_seconds[order] ?? null),
  }));
  return { span, results };
}
