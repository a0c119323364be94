// A RetentionQuery: of those who did something, how many came back. Never holds SQL.

import type { QueryAnswer, QueryContext } from "../answer.ts";
import type { CheckedRetention } from "../checked.ts";
import { later, shownMoment, dateSpanOf, startOf } from "../date_range.ts";
import type { Interval } from "../model.ts";
import { retentionRows } from "./store.ts";

export interface RetentionCohort {
  /** `Day 0`, `Day 1`, … */
  label: string;
  /** When its interval begins. */
  date: string;
  /** Who began in it, and how many of them came back in it and in each interval after it. */
  values: { count: number; label: string }[];
}

/** Intervals, the one of date_to included, unless the query says how many. */
const usualIntervals = 8;

/** @throws Fault where it is too heavy. */
export async function answerRetention(asking: QueryContext, checked: CheckedRetention): Promise<QueryAnswer> {
  const { query, attr, target, returning, filters } = checked;
  const { retentionFilter: filter, dateRange } = query;
  const period = filter.period ?? "Day";
  const interval = period.toLowerCase() as Interval;
  const count = filter.totalIntervals ?? usualIntervals;
  const { project_id, now, timezone } = asking;
  // Where it ends is asked for, where it begins follows.
  const until = dateRange?.date_to ? { date_from: "1970-01-03", date_to: dateRange.date_to } : undefined;
  const { to } = dateSpanOf(
    until,
    { now, timezone },
    { attr: `${attr}__dateRange`, hourly: interval === "hour" },
  );
  const last = startOf(interval, to.subtract({ milliseconds: 1 }));
  const first = later(interval, last, 1 - count);
  const span = { from: first, to: later(interval, last, 1) };
  const rows = await retentionRows(asking.ask, {
    project_id,
    now,
    timezone,
    target,
    returning,
    filters,
    interval,
    first,
    span,
    firstTime: filter.retentionType === "retention_first_time",
  });
  const results = Array.from({ length: count }, (_, start): RetentionCohort => ({
    label: `${period} ${start}`,
    date: shownMoment(later(interval, first, start)),
    values: Array.from({ length: count - start }, (__, i) => ({ count: 0, label: `${period} ${i}` })),
  }));
  for (const { start, later: i, persons } of rows) {
    const cell = results[start]?.values[i];
    if (cell) cell.count = Number(persons);
  }
  return { kind: "RetentionQuery", interval, span, results };
}
