// The columns of a retention table, as expressions: in which of them a person was there, and what is summed up.

import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import type { DateSpan } from "../date_range.ts";
import type { Entity } from "../parts/figure.ts";
import type { Interval } from "../parts/model.ts";
import type { Draft } from "../store.ts";

export interface RetentionScope extends Record<"target" | "returning", Entity> {
  filters: readonly PropertyFilter[];
  isFirstTime: boolean;
  /** Whether the first event of the name counts, or nothing where it has other properties. */
  isFirstEver: boolean;
  isCumulative: boolean;
  /** How often who returns does so in an interval, at least. */
  least: number;
  /** The type of groups that are counted instead of persons. */
  groupIndex: number | undefined;
  /** Whether intervals begin with each person's first event, instead of with the calendar's. */
  isRolling: boolean;
  /** How many intervals are one column, of columns of one's own. */
  brackets: readonly number[];
  /** The property whose sum is shown, and its number in SQL where it is no event's. */
  amount: string | undefined;
  amountText: string | undefined;
}

/** The intervals of the rows, and how many columns there are. */
export interface RetentionRows {
  interval: Interval;
  span: DateSpan;
  count: number;
  columns: number;
}

/** PostHog's windows that begin with a person's first event: of which unit, and of how many. */
export const rollingUnits: Readonly<Record<string, [Interval, number]>> = {
  hour: ["hour", 1],
  day: ["hour", 24],
  week: ["day", 7],
  month: ["day", 30],
};

/** The columns in which who `began` in an interval was there, the first among them. */
export function laterText({ brackets, isCumulative, isRolling, least }: RetentionScope): string {
  let sum = 0;
  const ends = brackets.map((size) => (sum += size));
  // As at PostHog, brackets are counted from the first of a person's beginnings.
  const placed = ends.map((end, i) => `i - starts[1] <= ${end}, ${i + 1}`).join(", ");
  const columns =
    brackets.length > 0
      ? `arrayFilter(i -> i > 0, arrayMap(i -> multiIf(i <= starts[1], 0, ${placed}, 0), returned))`
      : `arrayMap(i -> ${isRolling ? "intDiv(i - began, {size:Int32})" : "i - began"},
          arrayFilter(i -> i > began, returned))`;
  const kept =
    isRolling && least > 1
      ? `arrayFilter(at -> countEqual(${columns}, at) >= {least:UInt32}, ${columns})`
      : columns;
  const all = `arrayConcat([0], ${kept})`;
  // Who returned in an interval or after it was there until the last one in which they returned.
  if (isCumulative) return `range(toInt32(arrayMax(${all})) + 1)`;
  return isRolling || brackets.length > 0 ? `arrayDistinct(${all})` : all;
}

/** The intervals of events that count as returns; of windows of a person's own each event's. */
export function selectReturned({ least, isRolling }: RetentionScope, index: string, returns: string): string {
  if (least <= 1) return `groupUniqArrayIf(${index}, ${returns})`;
  if (isRolling) return `groupArrayIf(${index}, ${returns})`;
  const times = `sumMapIf([${index}], [1], ${returns}) AS times`;
  return `arrayFilter((i, count) -> count >= {least:UInt32}, (${times}).1, times.2)`;
}

interface AmountConditions {
  index: string;
  begins: string;
  inIntervals: string;
  isSame: boolean;
}

/**
 * Columns with the numbers of a property by interval, and their sum where it `began` and `later`: of the first column
 * those of the events that began it and, where returns are other events, of those after the first of them.
 */
export function amountParts(
  draft: Draft,
  { amount = "", amountText }: RetentionScope,
  { index, begins, inIntervals, isSame }: AmountConditions,
) {
  const value =
    amountText === undefined ? draft.propertyNumber(amount) : draft.expressions!.number(amountText);
  const number = `ifNull(${value}, 0)`;
  const events = (condition: string) => `groupArrayIf((${index}, ${number}, timestamp), ${condition})`;
  const sum = (list: string, at: string) =>
    `arraySum(arrayMap(one -> if(one.1 = ${at}, one.2, 0.), ${list}))`;
  const firstAt = "arrayMin(arrayMap(one -> one.3, arrayFilter(one -> one.1 = began, begun)))";
  const after = isSame ? "" : ` + ${sum(`arrayFilter(one -> one.3 > ${firstAt}, came)`, "began")}`;
  return {
    columns: `, ${events(begins)} AS begun, ${events(inIntervals)} AS came`,
    sum: `if(later = 0, ${sum("begun", "began")}${after}, ${sum("came", "began + later")})`,
  };
}
