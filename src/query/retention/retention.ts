// Answers a RetentionQuery: of the persons who did something, how many came back.

import type { CheckedRetention } from "../check.ts";
import { addIntervals, zonedIso, dateSpanOf, earliest, startOf } from "../date_range.ts";
import type { Interval } from "../model.ts";
import type { QueryAnswer, QueryContext } from "../store.ts";
import { retentionRows } from "./store.ts";

export interface RetentionCohort {
  /** `Day 0`, `Day 1`, … */
  label: string;
  /** The start of its interval. */
  date: string;
  /** First the persons of the cohort, then how many of them came back in each later interval. */
  values: { count: number; label: string }[];
}

/** The number of intervals, the one of date_to included, unless the query has another. */
const intervalsDefault = 8;

/** @throws Fault when it is too heavy. */
export async function answerRetention(
  context: QueryContext,
  checked: CheckedRetention,
): Promise<QueryAnswer> {
  const { retentionFilter: filter, dateRange } = checked.query;
  const period = filter.period ?? "Day";
  const interval = period.toLowerCase() as Interval;
  const count = filter.totalIntervals ?? intervalsDefault;
  // The end comes from the query, and the start follows from the number of intervals.
  const until = { ...dateRange, date_from: earliest };
  const { to } = dateSpanOf(until, context, {
    attr: `${checked.attr}__dateRange`,
    hourly: interval === "hour",
  });
  const last = startOf(interval, to.subtract({ milliseconds: 1 }));
  const first = addIntervals(interval, last, 1 - count);
  const span = { from: first, to: addIntervals(interval, last, 1) };
  const rows = await retentionRows(context, checked, interval, span);
  const results = Array.from({ length: count }, (_, start): RetentionCohort => ({
    label: `${period} ${start}`,
    date: zonedIso(addIntervals(interval, first, start)),
    values: Array.from({ length: count - start }, (__, i) => ({ count: 0, label: `${period} ${i}` })),
  }));
  for (const { start, later: i, persons } of rows) {
    const cell = results[start]?.values[i];
    if (cell) cell.count = Number(persons);
  }
  return { kind: "RetentionQuery", interval, span, results };
}
