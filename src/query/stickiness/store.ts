// The statement of stickiness: persons by the number of intervals in which they did something.

import type { PersonStatement, Series } from "../parts/figure.ts";
import type { CheckedPersons } from "../parts/lines.ts";
import type { Period } from "../parts/periods.ts";
import { Draft, type QueryContext } from "../store.ts";

export const comparisons = { gte: ">=", lte: "<=", exact: "=" } as const;

export interface CheckedStickiness extends CheckedPersons {
  /** How many intervals count as one. */
  size: number;
  /** How many events a person needs in one. */
  criteria: { operator: keyof typeof comparisons; value: number } | null | undefined;
}

/** Rows of `person_id` and `times`: in how many intervals. */
export function timesText(
  context: QueryContext,
  { interval, filters, size, criteria }: CheckedStickiness,
  series: Series,
  { span, starts }: Period,
): PersonStatement {
  const draft = new Draft(context);
  const inSpan = draft.spanCondition(span);
  const which = draft.entityCondition(series, filters);
  // Counted back from the last one, as at PostHog.
  const bucket = `intDiv(${starts.length - 1} - ${draft.bucketIndex(interval, starts[0]!)}, ${size})`;
  const having = criteria ? `HAVING count() ${comparisons[criteria.operator]} {criteria:UInt32}` : "";
  if (criteria) draft.params["criteria"] = criteria.value;
  const { math, node } = series;
  // Persons, groups, or the values of an expression.
  const value = math === "hogql" ? draft.expressions!.value(node.math_hogql ?? "") : "person_id";
  const actor = math === "unique_group" ? draft.groupKey(node.math_group_type_index ?? 0) : value;
  const text = `SELECT actor AS person_id, toInt32(count()) AS times FROM (
      SELECT ${actor} AS actor, ${bucket} AS bucket
      FROM ${draft.eventTable(filters, actor === "person_id")} WHERE ${inSpan} AND ${which}
      GROUP BY actor, bucket ${having})
    WHERE actor IS NOT NULL GROUP BY actor`;
  return { text, params: draft.params };
}
