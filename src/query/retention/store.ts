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
  filters: readonly PropertyFilter[];
  isFirstTime: boolean;
  /** Whether the first event of the name counts, or nothing where it has other properties. */
  isFirstEver: boolean;
  isCumulative: boolean;
  /** How often who returns does so in an interval, at least. */
  least: number;
}

/** Rows of `person_id`, who began in interval `start` and returned `later` intervals after it; 0: all who began. */
export function returnsText(
  context: QueryContext,
  { target, returning, filters, isFirstTime, isFirstEver, isCumulative, least }: RetentionScope,
  interval: Interval,
  { from, to }: DateSpan,
): PersonStatement {
  const draft = new Draft(context);
  const span = draft.spanCondition({ from, to });
  const every = draft.filterCondition(filters);
  const begins = draft.entityCondition(target);
  // Equal conditions have one text: what is counted under them, the engine then counts once.
  const isSame = target.event === returning.event && Bun.deepEquals(target.filters, returning.filters);
  const returns = isSame ? begins : draft.entityCondition(returning);
  const beginsOrReturns = isSame ? begins : `((${begins}) OR (${returns}))`;
  const index = `toInt32(${draft.bucketIndex(interval, from)})`;
  // For the first time, events before the span are read too: persons in them began earlier.
  const candidate = isFirstEver ? draft.entityCondition({ event: target.event, filters: [] }) : begins;
  const filtered = isFirstEver ? `(${every} OR ${candidate})` : every;
  const where = isFirstTime
    ? `project_id = {project_id:UInt32} AND timestamp < toDateTime64({to:String}, 6, 'UTC')
       AND ((${candidate}) OR (${span} AND (${returns})))`
    : `${span} AND ${beginsOrReturns}`;
  const inSpan = `timestamp >= toDateTime64({from:String}, 6, 'UTC')`;
  const begun = `groupUniqArrayIf(${index}, ${begins})`;
  const isOther = isFirstEver ? ` OR NOT argMinIf(${begins} AND ${every}, timestamp, ${candidate})` : "";
  const starts = isFirstTime
    ? `if(countIf(${candidate} AND NOT (${inSpan})) > 0${isOther}, [], arraySlice(arraySort(${begun}), 1, 1))`
    : begun;
  const laters = "arrayConcat([0], arrayMap(i -> i - start, arrayFilter(i -> i > start, returned)))";
  // Who returned in an interval or after it was there until the last one in which they returned.
  const counted = isCumulative ? `range(toInt32(arrayMax(${laters})) + 1)` : laters;
  const inIntervals = isFirstTime ? `${returns} AND ${inSpan}` : returns;
  draft.params["least"] = least;
  const times = `sumMapIf([${index}], [1], ${inIntervals}) AS times`;
  const returned =
    least > 1
      ? `arrayFilter((i, count) -> count >= {least:UInt32}, (${times}).1, times.2)`
      : `groupUniqArrayIf(${index}, ${inIntervals})`;
  const text = `SELECT person_id, start, arrayJoin(${counted}) AS later
       FROM (
         SELECT person_id, arrayJoin(starts) AS start, returned FROM (
           SELECT person_id, ${starts} AS starts, ${returned} AS returned
           FROM ${draft.eventTable(filters, true)} WHERE ${where} AND ${filtered} GROUP BY person_id))`;
  return { text, params: draft.params };
}
