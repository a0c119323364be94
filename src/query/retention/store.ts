// Retention, asked of ClickHouse: who did one thing in one interval, and came back for another later. Never shapes
// a reply.

import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import type { Entity } from "../checked.ts";
import type { DateSpan } from "../date_range.ts";
import type { Interval } from "../model.ts";
import { type QueryAsk, bucketIndex, draftOf, filtering, matching, within } from "../store.ts";

export interface RetentionQuestion {
  project_id: number;
  now: number;
  timezone: string;
  target: Entity;
  returning: Entity;
  filters: PropertyFilter[];
  interval: Interval;
  first: Temporal.ZonedDateTime;
  span: DateSpan;
  /** Only persons who had never done it before the interval. */
  firstTime: boolean;
}

/** `persons` began in interval `start` and came back `later` intervals after; 0: those who began. */
export interface RetentionRow {
  start: number;
  later: number;
  persons: string | number;
}

export async function retentionRows(ask: QueryAsk, asked: RetentionQuestion): Promise<RetentionRow[]> {
  const { target, returning, filters, firstTime } = asked;
  const draft = draftOf(asked.project_id, asked.now, asked.timezone);
  const span = within(draft, asked.span);
  const every = filters.length > 0 ? filtering(draft, filters) : "1";
  const begins = matching(draft, target);
  const returns = matching(draft, returning);
  const index = `toInt32(${bucketIndex(draft, asked.interval, asked.first)})`;
  // Whoever began before the span began then, not in it: their history is read too.
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
  return await ask<RetentionRow>(
    `SELECT start, later, count() AS persons FROM (
       SELECT start, arrayJoin(arrayConcat([0], ${laters})) AS later
       FROM (
         SELECT arrayJoin(starts) AS start, returned FROM (
           SELECT ${starts} AS starts, groupUniqArrayIf(${index}, ${returns} AND ${inSpan}) AS returned
           FROM events WHERE ${where} AND ${every} GROUP BY person_id)))
     GROUP BY start, later`,
    draft.params,
  );
}
