// The statement of a retention table: persons or groups by the interval they began in, and those they returned in.

import type { Breakdown } from "../parts/breakdown.ts";
import { breakdownLine, type BreakdownLines, breakdownRows, needsPersons } from "../parts/breakdown_store.ts";
import type { PersonStatement } from "../parts/figure.ts";
import { Draft, type QueryContext } from "../store.ts";
import {
  amountParts,
  laterText,
  type RetentionRows,
  type RetentionScope,
  rollingUnits,
  selectReturned,
} from "./columns_store.ts";

/** Persons who began in interval `start`, and how many intervals later each returned; 0 for the first. */
export function retentionPersons(
  { text, params }: PersonStatement,
  start: number,
  line?: number,
): PersonStatement {
  const ofLine = line === undefined ? "" : ` AND line = ${line}`;
  return {
    text: `SELECT person_id, arraySort(groupUniqArray(later)) AS appearances
       FROM (${text}) WHERE start = {at_start:Int32}${ofLine} GROUP BY person_id`,
    params: { ...params, at_start: start },
    adds: "appearances",
  };
}

/** The values of a breakdown with the most who began, and whether there are more. */
export async function retentionValues(
  context: QueryContext,
  scope: RetentionScope,
  rows: RetentionRows,
  breakdown: Breakdown,
) {
  const { text, params } = returnsText(context, scope, rows, { ...breakdown, values: [] });
  const values = await context.run<{ value: string | null }>(
    `SELECT own AS value FROM (${text}) WHERE later = 0 GROUP BY own ORDER BY count() DESC, own LIMIT {most:UInt32}`,
    { ...params, most: breakdown.limit + 1 },
  );
  return {
    values: values.slice(0, breakdown.limit).map(({ value }) => value),
    more: values.length > breakdown.limit,
  };
}

/**
 * Rows of `person_id`, who began in interval `start` and returned `later` intervals after it; 0: all who began. With a
 * breakdown each has its value, `own`, and the `line` of it: with one, persons begin and return with it.
 */
export function returnsText(
  context: QueryContext,
  scope: RetentionScope,
  { interval, span: { from, to }, count, columns }: RetentionRows,
  breakdown?: BreakdownLines,
): PersonStatement {
  const { target, returning, filters, isFirstTime, isFirstEver, groupIndex } = scope;
  const { isRolling, brackets } = scope;
  const draft = new Draft(context);
  const span = draft.spanCondition({ from, to });
  const every = draft.filterCondition(filters);
  const begins = draft.entityCondition(target);
  // Equal conditions have one text: what is counted under them, the engine then counts once.
  const isSame = target.event === returning.event && Bun.deepEquals(target.filters, returning.filters);
  const returns = isSame ? begins : draft.entityCondition(returning);
  const beginsOrReturns = isSame ? begins : `((${begins}) OR (${returns}))`;
  const [unit, size] = isRolling ? rollingUnits[interval]! : [interval, 1];
  const index = `toInt32(${draft.bucketIndex(unit, from)})`;
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
  const first = `arraySlice(arraySort(${begun}), 1, 1)`;
  const starts = isFirstTime
    ? `if(countIf(${candidate} AND NOT (${inSpan})) > 0${isOther}, [], ${first})`
    : isRolling
      ? first
      : begun;
  const inIntervals = isFirstTime ? `${returns} AND ${inSpan}` : returns;
  Object.assign(draft.params, { least: scope.least, count, columns, size });
  const returned = selectReturned(scope, index, inIntervals);
  const actor = groupIndex === undefined ? "person_id" : draft.groupKey(groupIndex);
  const isOfPersons = groupIndex === undefined;
  const withPersons = isOfPersons || (breakdown !== undefined && needsPersons(breakdown));
  const known = isOfPersons ? "" : ` AND ${actor} IS NOT NULL`;
  const rows = `${draft.eventTable(filters, withPersons)} WHERE ${where} AND ${filtered}${known}`;
  const { from: source, value } = breakdown
    ? breakdownRows(draft, rows, breakdown)
    : { from: rows, value: "" };
  // Who is first there ever counts for the value of that event; else for each value, with its events.
  const ownFirst = `tupleElement(argMinIf(tuple(${value}), timestamp, ${candidate}), 1)`;
  const own = breakdown ? `${isFirstEver ? ownFirst : value} AS own, ` : "";
  const conditions = { index, begins, inIntervals, isSame };
  const amounts = scope.amount === undefined ? undefined : amountParts(draft, scope, conditions);
  const kept = ["actor", ...(breakdown ? ["own"] : []), "returned"];
  if (brackets.length > 0) kept.push("starts");
  if (amounts) kept.push("begun", "came");
  const shown = [
    "actor AS person_id",
    ...(breakdown ? ["own", `toInt32(${breakdownLine(draft, "own", breakdown)}) AS line`] : []),
    `${isRolling ? "intDiv(began, {size:Int32})" : "began"} AS start`,
    "later",
    ...(amounts ? [`${amounts.sum} AS amount`] : []),
  ];
  const within = "start >= 0 AND start < {count:Int32} AND later < {columns:Int32}";
  const text = `SELECT ${shown.join(", ")} FROM (
         SELECT ${kept.join(", ")}, began, arrayJoin(${laterText(scope)}) AS later FROM (
           SELECT ${kept.join(", ")}, arrayJoin(starts) AS began FROM (
             SELECT ${actor} AS actor, ${own}${starts} AS starts,
               ${returned} AS returned${amounts?.columns ?? ""}
             FROM ${source} GROUP BY actor${breakdown && !isFirstEver ? ", own" : ""})))
       WHERE ${within}`;
  return { text, params: draft.params };
}

/** Persons of a line who began in `start` and were there `later` intervals after it, with their sum. */
interface ReturnsRow {
  line?: number;
  start: number;
  later: number;
  persons: string | number;
  amount?: number;
}

/** How many persons there are in each cell. @throws Fault when the query is too heavy. */
export async function countReturns(
  context: QueryContext,
  scope: RetentionScope,
  rows: RetentionRows,
  lines: BreakdownLines | undefined,
): Promise<ReturnsRow[]> {
  const { text, params } = returnsText(context, scope, rows, lines);
  const columns = lines ? "line, start, later" : "start, later";
  const amount = scope.amount === undefined ? "" : ", sum(amount) AS amount";
  const counts = `SELECT ${columns}, count() AS persons${amount} FROM (${text}) GROUP BY ${columns}`;
  return await context.run<ReturnsRow>(counts, params);
}
