// The statement of a retention table: persons by the interval they began in and the interval they came back in.

import type { QueryContext } from "../answer.ts";
import type { Entity } from "../checked.ts";
import type { Interval } from "../model.ts";
import {
  type EventsScope,
  bucketIndex,
  newDraft,
  filterCondition,
  entityCondition,
  spanCondition,
} from "../store.ts";

interface RetentionParams extends EventsScope, Pick<QueryContext, "run"> {
  target: Entity;
  returning: Entity;
  interval: Interval;
  first: Temporal.ZonedDateTime;
  /** Only persons who did the target event for the first time in that interval. */
  firstTime: boolean;
}

/** `persons` began in interval `start` and came back `later` intervals after it; 0: all who began. */
interface RetentionRow {
  start: number;
  later: number;
  persons: string | number;
}

export async function retentionRows(params: RetentionParams): Promise<RetentionRow[]> {
  const { target, returning, filters, firstTime } = params;
  const draft = newDraft(params);
  const span = spanCondition(draft, params.span);
  const every = filterCondition(draft, filters);
  const begins = entityCondition(draft, target);
  const returns = entityCondition(draft, returning);
  const index = `toInt32(${bucketIndex(draft, params.interval, params.first)})`;
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
  return await params.run<RetentionRow>(
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
