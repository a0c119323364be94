// The statement of a retention table: persons by the interval they began in and the interval they returned in.

import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import type { DateSpan } from "../date_range.ts";
import type { Entity, PersonStatement } from "../parts/figure.ts";
import type { Interval } from "../parts/model.ts";
import { Draft, type QueryContext } from "../store.ts";

/** Persons who began in interval `start`, and how many intervals later each returned; 0 for the first. */
export function retentionPersons({ text, params }: PersonStatement, start: number): PersonStatement {
  return {
    text: `SELECT person_id, arraySort(groupUniqArray(later)) AS appearances
       FROM (${text}) WHERE start = {at_start:Int32} GROUP BY person_id`,
    params: { ...params, at_start: start },
    adds: "appearances",
  };
}

interface RetentionScope extends Record<"target" | "returning", Entity> {
  query: {
    retentionFilter: {
      retentionType?: string | null;
      minimumOccurrences?: number | null;
      cumulative?: boolean | null;
    };
  };
  filters: readonly PropertyFilter[];
}

/** Rows of `person_id`, who began in interval `start` and returned `later` intervals after it; 0: all who began. */
export function returnsText(
  context: QueryContext,
  { query, target, returning, filters }: RetentionScope,
  interval: Interval,
  { from, to }: DateSpan,
): PersonStatement {
  const { retentionType, minimumOccurrences: least, cumulative } = query.retentionFilter;
  const firstTime = retentionType === "retention_first_time";
  const draft = new Draft(context);
  const span = draft.spanCondition({ from, to });
  const every = draft.filterCondition(filters);
  const begins = draft.entityCondition(target);
  const returns = draft.entityCondition(returning);
  const index = `toInt32(${draft.bucketIndex(interval, from)})`;
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
  const laters = "arrayConcat([0], arrayMap(i -> i - start, arrayFilter(i -> i > start, returned)))";
  // Who returned in an interval or after it was there until the last one in which they returned.
  const counted = cumulative ? `range(toInt32(arrayMax(${laters})) + 1)` : laters;
  const inIntervals = `${returns} AND ${inSpan}`;
  draft.params["least"] = least ?? 1;
  const times = `sumMapIf([${index}], [1], ${inIntervals}) AS times`;
  const returned =
    (least ?? 1) > 1
      ? `arrayFilter((i, count) -> count >= {least:UInt32}, (${times}).1, times.2)`
      : `groupUniqArrayIf(${index}, ${inIntervals})`;
  const text = `SELECT person_id, start, arrayJoin(${counted}) AS later
       FROM (
         SELECT person_id, arrayJoin(starts) AS start, returned FROM (
           SELECT person_id, ${starts} AS starts, ${returned} AS returned
           FROM ${draft.eventTable(filters, true)} WHERE ${where} AND ${every} GROUP BY person_id))`;
  return { text, params: draft.params };
}
