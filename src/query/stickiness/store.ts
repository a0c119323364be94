// The statement of stickiness: persons by the number of intervals in which they did something.

import type { PersonStatement, Series } from "../parts/figure.ts";
import type { CheckedPersons } from "../parts/lines.ts";
import type { Period } from "../parts/periods.ts";
import { Draft, type QueryContext } from "../store.ts";
import type { StickinessQuery } from "./model.ts";

const operators = { gte: ">=", lte: "<=", exact: "=" } as const;

/** Rows of `person_id` and `times`: in how many intervals. */
export function timesText(
  context: QueryContext,
  { query, interval, filters }: CheckedPersons<StickinessQuery>,
  series: Series,
  { span, starts: [first] }: Period,
): PersonStatement {
  const draft = new Draft(context);
  const inSpan = draft.spanCondition(span);
  const which = draft.entityCondition(series, filters);
  const bucket = draft.bucketIndex(interval, first!);
  const criteria = query.stickinessFilter?.stickinessCriteria;
  const having = criteria ? `HAVING count() ${operators[criteria.operator]} {criteria:UInt32}` : "";
  if (criteria) draft.params["criteria"] = criteria.value;
  const text = `SELECT person_id, toInt32(count()) AS times FROM (
      SELECT person_id, ${bucket} AS bucket FROM ${draft.eventTable(filters, true)} WHERE ${inSpan} AND ${which}
      GROUP BY person_id, bucket ${having})
    GROUP BY person_id`;
  return { text, params: draft.params };
}
