// The statement of stickiness: persons by the number of intervals in which they did something.

import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import type { DateSpan } from "../date_range.ts";
import type { Interval } from "../parts/model.ts";
import type { PersonStatement } from "../parts/figure.ts";
import type { Series } from "../parts/series.ts";
import {
  bucketIndex,
  entityCondition,
  eventTable,
  newDraft,
  type QueryContext,
  spanCondition,
} from "../store.ts";
import type { StickinessQuery } from "./model.ts";

interface StickinessScope {
  query: StickinessQuery;
  interval: Interval;
  series: Series;
  filters: readonly PropertyFilter[];
}

const operators = { gte: ">=", lte: "<=", exact: "=" } as const;

/**
 * `times`: in how many intervals.
 * @throws Fault when the query is too heavy.
 */
export async function stickinessRows(
  context: QueryContext,
  scope: StickinessScope,
  first: Temporal.ZonedDateTime,
  span: DateSpan,
): Promise<{ times: number; persons: string | number }[]> {
  const { text, params } = timesText(context, scope, first, span);
  return await context.run(`SELECT times, count() AS persons FROM (${text}) GROUP BY times`, params);
}

/** The persons of one number, with `cumulative` those of larger ones, too. */
export function stickinessPersonsText(
  context: QueryContext,
  scope: StickinessScope,
  { first, span }: { first: Temporal.ZonedDateTime; span: DateSpan },
  times: number,
): PersonStatement {
  const { text, params } = timesText(context, scope, first, span);
  const sign = scope.query.stickinessFilter?.computedAs === "cumulative" ? ">=" : "=";
  return {
    text: `SELECT person_id FROM (${text}) WHERE times ${sign} {at_times:Int32}`,
    params: { ...params, at_times: times },
  };
}

/** Rows of `person_id` and `times`. */
function timesText(
  context: QueryContext,
  { query, interval, series, filters }: StickinessScope,
  first: Temporal.ZonedDateTime,
  span: DateSpan,
): PersonStatement {
  const draft = newDraft(context);
  const inSpan = spanCondition(draft, span);
  const which = entityCondition(draft, { ...series, filters: [...filters, ...series.filters] });
  const bucket = bucketIndex(draft, interval, first);
  const criteria = query.stickinessFilter?.stickinessCriteria;
  const having = criteria ? `HAVING count() ${operators[criteria.operator]} {criteria:UInt32}` : "";
  if (criteria) draft.params["criteria"] = criteria.value;
  const text = `SELECT person_id, toInt32(count()) AS times FROM (
      SELECT person_id, ${bucket} AS bucket FROM ${eventTable(draft, filters, true)} WHERE ${inSpan} AND ${which}
      GROUP BY person_id, bucket ${having})
    GROUP BY person_id`;
  return { text, params: draft.params };
}
