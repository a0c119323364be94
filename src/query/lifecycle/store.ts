// The statement of a lifecycle: persons by interval and status.

import { addIntervals, type DateSpan } from "../date_range.ts";
import type { PersonStatement } from "../parts/figure.ts";
import type { CheckedPersons } from "../parts/person_series.ts";
import { Draft, type QueryContext } from "../store.ts";
import type { LifecycleQuery } from "./model.ts";

/** In PostHog's order. */
export const statuses = ["new", "returning", "resurrecting", "dormant"] as const;

/** Rows of `person_id`, `bucket` and `status`. A person is new in the interval of their first event, of any name. */
export function statusText(
  context: QueryContext,
  { interval, series: [series], filters }: CheckedPersons<LifecycleQuery>,
  starts: readonly Temporal.ZonedDateTime[],
  { from, to }: DateSpan,
): PersonStatement {
  const first = starts[0]!;
  const before = addIntervals(interval, first, -1);
  const draft = new Draft(context);
  // The interval before the first one is read too: persons who were active in it return, or are missing, in the first.
  // With an explicit start within an interval, as much of the one before is read.
  const earlier = addIntervals(interval, from, -1);
  const span = draft.spanCondition({
    from: Temporal.ZonedDateTime.compare(from, first) > 0 ? earlier : before,
    to,
  });
  const which = draft.entityCondition(series!, filters);
  // Buckets are counted from the earlier one: ClickHouse's division rounds negative numbers up.
  const active = draft.bucketIndex(interval, before);
  const born = draft.bucketIndex(interval, before, "born_at");
  draft.params["count"] = starts.length;
  const text = `SELECT person_id, toInt32(one.1 - 1) AS bucket, one.2 AS status FROM (
       SELECT person_id, arrayJoin(arrayConcat(
         arrayMap(
           (at, before) -> (at, multiIf(at = born, 'new', at = before + 1, 'returning', 'resurrecting')),
           active, arrayPushFront(arrayPopBack(active), toInt32(-2))),
         arrayMap(
           at -> (at + 1, 'dormant'),
           arrayFilter((at, next) -> next != at + 1, active, arrayPushBack(arrayPopFront(active), toInt32(-2))))
       )) AS one
       FROM (
         SELECT a.person_id AS person_id, a.active AS active,
           if(p.born_at = toDateTime64(0, 6, 'UTC'), toInt32(-2), toInt32(${born})) AS born
         FROM (
           SELECT person_id, arraySort(groupUniqArray(toInt32(${active}))) AS active
           FROM ${draft.eventTable(filters, true)} WHERE ${span} AND ${which} GROUP BY person_id
         ) AS a
         LEFT ANY JOIN (
           SELECT person_id, min(created_at) AS born_at FROM person_distinct_ids
           WHERE project_id = {project_id:UInt32} GROUP BY person_id
         ) AS p ON a.person_id = p.person_id))
     WHERE bucket >= 0 AND bucket < {count:Int32}`;
  return { text, params: draft.params };
}
