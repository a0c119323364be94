// The statement of a lifecycle: persons by interval and status.

import { isBefore } from "../../core/dates.ts";
import { groupTypeAt } from "../../storage/events/event_columns.ts";
import { addIntervals, type DateSpan } from "../date_range.ts";
import { personCounts } from "../parts/behind_store.ts";
import type { PersonStatement } from "../parts/figure.ts";
import type { CheckedPersons, PersonsQuery } from "../parts/lines.ts";
import { Draft, type QueryContext } from "../store.ts";

export type CheckedLifecycle = CheckedPersons<
  PersonsQuery & { aggregation_group_type_index?: number | null }
>;

/** PostHog's order. */
export const statuses = ["new", "returning", "resurrecting", "dormant"] as const;

/**
 * Persons by `bucket` and `status`. The first events of visitors without a profile are in no list of persons: all
 * earlier events are read only where such a visitor came without having been there in the interval before.
 */
export async function countStatuses(...parts: Parameters<typeof statusText>) {
  const [context, checked, starts, span] = parts;
  const count = (readsFirsts: boolean) => {
    const statement = statusText(context, checked, starts, span, readsFirsts);
    const columns = "bucket, status, unborn";
    return personCounts<{ bucket: number; status: string; unborn: number }>(context, statement, columns);
  };
  const rows = await count(false);
  return rows.some(({ status, unborn }) => unborn && status === "resurrecting") ? await count(true) : rows;
}

/**
 * Rows of `person_id`, `bucket`, `status`, and whether their first event is `unborn`: unknown. A person is new in the
 * interval of their first event, of any name.
 * @param readsFirsts whether the first events of visitors without a profile are read.
 */
export function statusText(
  context: QueryContext,
  { interval, series: [series], filters, query }: CheckedLifecycle,
  starts: readonly Temporal.ZonedDateTime[],
  { from, to }: DateSpan,
  readsFirsts = true,
): PersonStatement {
  const first = starts[0]!;
  const before = addIntervals(interval, first, -1);
  const draft = new Draft(context);
  // The interval before the first one is read too: persons who were active in it return, or are missing, in the first.
  // With an explicit start within an interval, as much of the one before is read.
  const earlier = addIntervals(interval, from, -1);
  const span = draft.spanCondition({
    from: isBefore(first, from) ? earlier : before,
    to,
  });
  const which = draft.entityCondition(series!, filters);
  // Buckets are counted from the earlier one: ClickHouse's division rounds negative numbers up.
  const active = draft.bucketIndex(interval, before);
  const [born, came] = ["p.born_at", "f.first_at"].map((column) =>
    draft.bucketIndex(interval, before, column),
  );
  const none = "toDateTime64(0, 6, 'UTC')";
  const groupIndex = query.aggregation_group_type_index ?? undefined;
  const isOfPersons = groupIndex === undefined;
  const actor = isOfPersons ? "person_id" : draft.groupKey(groupIndex);
  const known = isOfPersons ? "" : ` AND ${actor} IS NOT NULL`;
  const births = isOfPersons
    ? `SELECT person_id AS own, min(created_at) AS born_at FROM person_distinct_ids
           WHERE project_id = {project_id:UInt32} GROUP BY own`
    : `SELECT group_key AS own, created_at AS born_at FROM groups
           WHERE project_id = {project_id:UInt32} AND group_type = ${groupTypeAt("{group_index:UInt8}")}`;
  const firsts =
    readsFirsts && isOfPersons
      ? {
          id: "any(distinct_id) AS own_id,",
          born: `f.first_at != ${none}, toInt32(${came}),`,
          joined: `LEFT ANY JOIN (
           SELECT distinct_id, min(timestamp) AS first_at FROM stored_events
           WHERE project_id = {project_id:UInt32} AND timestamp < toDateTime64({to:String}, 6, 'UTC')
             AND distinct_id GLOBAL IN (SELECT distinct_id FROM ${draft.eventTable(filters)} WHERE ${span} AND ${which})
           GROUP BY distinct_id
         ) AS f ON a.own_id = f.distinct_id`,
        }
      : { id: "", born: "", joined: "" };
  draft.params["count"] = starts.length;
  const text = `SELECT actor AS person_id, toInt32(one.1 - 1) AS bucket, one.2 AS status, born = -2 AS unborn FROM (
       SELECT actor, born, arrayJoin(arrayConcat(
         arrayMap(
           (at, before) -> (at, multiIf(at = born, 'new', at = before + 1, 'returning', 'resurrecting')),
           active, arrayPushFront(arrayPopBack(active), toInt32(-2))),
         arrayMap(
           at -> (at + 1, 'dormant'),
           arrayFilter((at, next) -> next != at + 1, active, arrayPushBack(arrayPopFront(active), toInt32(-2))))
       )) AS one
       FROM (
         SELECT a.actor AS actor, a.active AS active,
           multiIf(p.born_at != ${none}, toInt32(${born}), ${firsts.born} toInt32(-2)) AS born
         FROM (
           SELECT ${actor} AS actor, ${firsts.id} arraySort(groupUniqArray(toInt32(${active}))) AS active
           FROM ${draft.eventTable(filters, isOfPersons)} WHERE ${span} AND ${which}${known} GROUP BY actor
         ) AS a
         LEFT ANY JOIN (
           ${births}
         ) AS p ON a.actor = p.own
         ${firsts.joined}))
     WHERE bucket >= 0 AND bucket < {count:Int32}`;
  return { text, params: draft.params };
}
