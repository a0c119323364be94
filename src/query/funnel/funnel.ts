// Answers a FunnelsQuery: how many persons did one thing after the other.

import { queryKind } from "../kind.ts";
import {
  breakdownExpressions,
  breakdownOf,
  breakdownValue,
  requireBreakdownScopes,
} from "../parts/breakdown.ts";
import { entityExpressions, filtersOf, seriesOf, shownName, unsupportedField } from "../parts/series.ts";
import type { FunnelStep } from "../result.ts";
import { type QueryAnswer, type QueryContext, spanOf } from "../store.ts";
import { funnelsModel, type FunnelsQuery } from "./model.ts";
import { type FunnelRow, funnelRows, funnelValues } from "./store.ts";

export const funnelsKind = queryKind({
  schema: funnelsModel,
  result: "steps",
  check,
  title: ({ series }) => `${series.map(shownName).join(" → ")} user conversion rate`,
  answer,
});

function check(query: FunnelsQuery, attr: string) {
  const series = query.series.map((node, i) => seriesOf(node, `${attr}__series__${i}`));
  for (const [i, { math }] of series.entries()) {
    if (math !== "total") throw unsupportedField("Math on a funnel's step", `${attr}__series__${i}__math`);
  }
  const { funnelOrderType, breakdownAttributionType } = query.funnelsFilter ?? {};
  const breakdown = breakdownOf(query, attr);
  return {
    attr,
    query,
    series,
    filters: filtersOf(query, attr),
    isStrict: funnelOrderType === "strict",
    breakdown,
    expressions: [...entityExpressions(series), ...breakdownExpressions(breakdown)],
    touch: breakdownAttributionType === "last_touch" ? ("last" as const) : ("first" as const),
  };
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
): Promise<QueryAnswer<FunnelStep | FunnelStep[]>> {
  const span = await spanOf(context, checked);
  const { funnelWindowInterval: count, funnelWindowIntervalUnit: unit } = checked.query.funnelsFilter ?? {};
  const seconds = (count ?? windowDefault.count) * (unitSeconds[unit ?? windowDefault.unit] ?? 0);
  const { breakdown } = checked;
  const scope = { ...checked, span, windowMicros: seconds * 1_000_000 };
  if (!breakdown) return { span, results: stepsOf(checked, (await funnelRows(context, scope))[0]) };
  requireBreakdownScopes(context, breakdown);
  const { values, more } = await funnelValues(context, scope, breakdown);
  const rows = await funnelRows(context, scope, { ...breakdown, values });
  const lines = more && breakdown.other ? [...values, undefined] : values;
  const results = lines.map((value, line) => {
    const shown = [breakdownValue(breakdown, value)].flat();
    const row = rows.find((one) => one.line === line);
    return stepsOf(checked, row).map((step) => ({ ...step, breakdown: shown, breakdown_value: shown }));
  });
  return { span, results };
}

function stepsOf({ series }: ReturnType<typeof check>, row: FunnelRow | undefined): FunnelStep[] {
  return series.map(({ event, name, custom_name }, order): FunnelStep => ({
    action_id: event ?? null,
    name,
    custom_name,
    order,
    people: [],
    count: Number(row?.persons[order] ?? 0),
    type: "events",
    average_conversion_time: order === 0 ? null : (row?.average_seconds[order] ?? null),
    median_conversion_time: order === 0 ? null : (row?.median_seconds[order] ?? null),
  }));
}
