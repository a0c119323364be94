// Answers a FunnelsQuery: how many persons did one thing after the other.

import type { CheckedFunnels } from "../check.ts";
import { type QueryAnswer, type QueryContext, spanOf } from "../store.ts";
import { funnelRow } from "./store.ts";

export interface FunnelStep {
  action_id: string | null;
  name: string;
  custom_name: string | null;
  order: number;
  people: never[];
  /** Persons who reached the step. */
  count: number;
  type: "events";
  /**
   * Seconds from the last time a person was at the step before to the first time at this one; null for the first
   * step and for a step that nobody reached.
   */
  average_conversion_time: number | null;
  median_conversion_time: number | null;
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

/** @throws Fault when it is too heavy. */
export async function answerFunnels(context: QueryContext, checked: CheckedFunnels): Promise<QueryAnswer> {
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
  return { kind: "FunnelsQuery", interval: undefined, span, results };
}
