// The statement of a retention table: persons by the interval they began in and the interval they came back in.

import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import type { DateSpan } from "../date_range.ts";
import type { Interval } from "../parts/model.ts";
import type { PersonStatement } from "../parts/figure.ts";
import type { Entity } from "../parts/series.ts";
import {
  bucketIndex,
  eventTable,
  newDraft,
  filterCondition,
  entityCondition,
  type QueryContext,
  spanCondition,
} from "../store.ts";
import type { RetentionQuery } from "./model.ts";

interface RetentionScope {
  query: RetentionQuery;
  target: Entity;
  returning: Entity;
  filters: readonly PropertyFilter[];
}

/** `persons` began in interval `start` and came back `later` intervals after it; 0: all who began. */
interface RetentionRow {
  start: number;
  later: number;
  persons: string | number;
}

/** @throws Fault when the query is too heavy. */
export async function retentionRows(
  context: QueryContext,
  scope: RetentionScope,
  interval: Interval,
  span: DateSpan,
): Promise<RetentionRow[]> {
  const { text, params } = returnsText(context, scope, interval, span);
  return await context.run<RetentionRow>(
    `SELECT start, later, count() AS persons FROM (${text}) GROUP BY start, later`,
    params,
  );
}

/** All who began in interval `start`. */
export function retentionPersonsText(
  context: QueryContext,
  scope: RetentionScope,
  interval: Interval,
  { span, start }: { span: DateSpan; start: number },
): PersonStatement {
  const { text, params } = returnsText(context, scope, interval, span);
  return {
    text: `SELECT person_id FROM (${text}) WHERE start = {at_start:Int32} AND later = 0`,
    params: { ...params, at_start: start },
  };
}

/** Rows of `person_id`, `start` and `later`. */
function returnsText(
  context: QueryContext,
  { query, target, returning, filters }: RetentionScope,
  interval: Interval,
  { from, to }: DateSpan,
): PersonStatement {
  const firstTime = query.retentionFilter.retentionType === "retention_first_time";
  const draft = newDraft(context);
  const span = spanCondition(draft, { from, to });
  const every = filterCondition(draft, filters);
  const begins = entityCondition(draft, target);
  const returns = entityCondition(draft, returning);
  const index = `toInt32(${bucketIndex(draft, interval, from)})`;
  // For the first time, events before the span are read too: persons in them began earlier.
  const where = firstTime
    ? `project_id = {project_id:UInt32} AND timestamp < toDateTime64({to:String}, 6, 'UTC')
       AND ((${begins}) OR (${span} AND (${returns})))`
    : `${span} AND ((${begins}) OR (${returns}))`;
  const inSpan = `timestamp >= toDateTime64({from:String}, 6, 'UTC')`;
  const begun = `groupUniqArrayIf(${index}, ${begins})`;
  const starts = firstTime
    ? `if(countIf(${begins} AND NOT (${inSpan})) > 0, [], arraySlice(arraySort(${begun}), 1, 1))`
    : begun;
  const laters = "arrayMap(i -> i - start, arrayFilter(i -> i > start, returned))";
  const text = `SELECT person_id, start, arrayJoin(arrayConcat([0], ${laters})) AS later
       FROM (
         SELECT person_id, arrayJoin(starts) AS start, returned FROM (
           SELECT person_id, ${starts} AS starts, groupUniqArrayIf(${index}, ${returns} AND ${inSpan}) AS returned
           FROM ${eventTable(draft, filters, true)} WHERE ${where} AND ${every} GROUP BY person_id))`;
  return { text, params: draft.params };
}
