// A FunnelsQuery: how many persons did one thing after the other. Never holds SQL.

import type { QueryAnswer, QueryContext } from "../answer.ts";
import type { CheckedFunnels } from "../checked.ts";
import { dateSpanOf } from "../date_range.ts";
import { funnelRow } from "./store.ts";

export interface FunnelStep {
  action_id: string | null;
  name: string;
  custom_name: string | null;
  order: number;
  people: never[];
  /** Persons who got here. */
  count: number;
  type: "events";
  /**
   * Seconds from the latest time a person was at the step before to the first time they got here; null for the
   * first, and where nobody got.
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
  // As long as the mean month of a year.
  month: 2_629_746,
};

/** Without a window of its own a funnel may take 14 days. */
const usual = { count: 14, unit: "day" };

/** @throws Fault where it is too heavy. */
export async function answerFunnels(asking: QueryContext, checked: CheckedFunnels): Promise<QueryAnswer> {
  const { query, attr, series, filters } = checked;
  const today = { now: asking.now, timezone: asking.timezone };
  const first = query.dateRange?.date_from === "all" ? await asking.first() : undefined;
  const span = dateSpanOf(query.dateRange, today, { first, attr: `${attr}__dateRange` });
  const { funnelWindowInterval, funnelWindowIntervalUnit } = query.funnelsFilter ?? {};
  const seconds =
    (funnelWindowInterval ?? usual.count) * (unitSeconds[funnelWindowIntervalUnit ?? usual.unit] ?? 0);
  const { project_id, now, timezone } = asking;
  const row = await funnelRow(asking.ask, {
    project_id,
    now,
    timezone,
    steps: series,
    filters,
    span,
    windowMicros: seconds * 1_000_000,
  });
  const results = series.map(({ event, name, custom_name }, order): FunnelStep => ({
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
