// Answers a FunnelsQuery: how many persons did one thing after the other.

import { queryKind } from "../kind.ts";
import { breakdownValue, requireBreakdownScopes } from "../parts/breakdown.ts";
import { type Series, shownName } from "../parts/series.ts";
import type { FunnelStep } from "../result.ts";
import { type QueryAnswer, type QueryContext, spanOf } from "../store.ts";
import { type CheckedFunnel, checkFunnel } from "./check.ts";
import { funnelsModel } from "./model.ts";
import { type FunnelRow, funnelRows, funnelValues } from "./store.ts";

export const funnelsKind = queryKind({
  schema: funnelsModel,
  result: "steps",
  check: checkFunnel,
  title: ({ series }) => `${series.map(shownName).join(" → ")} user conversion rate`,
  answer,
});

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
  checked: CheckedFunnel,
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

function stepsOf({ series, order }: CheckedFunnel, row: FunnelRow | undefined): FunnelStep[] {
  return series.map((step, i): FunnelStep => ({
    ...(order === "unordered" ? completed(i + 1) : shownStep(step)),
    order: i,
    people: [],
    count: Number(row?.persons[i] ?? 0),
    type: "events",
    average_conversion_time: i === 0 ? null : (row?.average_seconds[i] ?? null),
    median_conversion_time: i === 0 ? null : (row?.median_seconds[i] ?? null),
  }));
}

const shownStep = ({ event, name, custom_name }: Series) => ({ action_id: event ?? null, name, custom_name });

/** A step of a funnel without order is a number of its steps, in PostHog's words. */
const completed = (steps: number) => ({
  action_id: null,
  name: `Completed ${steps} step${steps === 1 ? "" : "s"}`,
  custom_name: null,
});
