// Lines of all kinds: their series in the format of older insights, and the names of their intervals.

import { clickhouseTime, timed } from "../../core/dates.ts";
import { refuseInput } from "../../core/fault.ts";
import { queryLimits } from "../limits.ts";
import type { TrendLine } from "../result.ts";
import { readNodeFilters, readSeries, refuseField, type Series } from "./figure.ts";
import type { DateRange, EventsNode, Interval, Math } from "./model.ts";
import type { Period } from "./periods.ts";

/** A line of a series in a period; its sum is its count. */
export function seriesLine(
  series: Series,
  order: number,
  { span, label: compare_label }: Pick<Period, "span" | "label">,
  line: Pick<TrendLine, "label" | "data" | "labels" | "days">,
) {
  return {
    action: toAction(series, order),
    count: line.data.reduce((sum, value) => sum + value, 0),
    ...line,
    ...(compare_label && { compare: true as const, compare_label }),
    filter: { date_from: clickhouseTime(span.from), date_to: clickhouseTime(span.to) },
  };
}

/** The series in the format of PostHog's older insights, which clients still read. */
function toAction({ node, math, event, name, custom_name }: Series, order: number) {
  return {
    days: [],
    id: event ?? null,
    type: "events",
    order,
    name,
    custom_name,
    math,
    math_property: node.math_property ?? null,
    math_hogql: node.math_hogql ?? null,
    math_group_type_index: node.math_group_type_index ?? null,
    properties: node.properties ?? {},
  };
}

/** @throws Fault when a reply would have more numbers than queryLimits.queryNumbersMax. */
export function refuseNumbers(count: number, attr: string): void {
  if (count <= queryLimits.queryNumbersMax) return;
  const detail =
    `The reply would hold up to ${count} numbers, more than ${queryLimits.queryNumbersMax}. ` +
    "Ask for fewer series, breakdown values or intervals.";
  refuseInput(detail, attr);
}

/** The intervals' starts, as words and as dates. */
export function nameStarts(starts: readonly Temporal.ZonedDateTime[], interval: Interval) {
  return {
    labels: starts.map((at) => timeLabel(at, interval)),
    days: starts.map((at) => {
      const time = timed.has(interval) ? ` ${at.toPlainTime().toString({ smallestUnit: "second" })}` : "";
      return `${at.toPlainDate().toString()}${time}`;
    }),
  };
}

const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

function timeLabel(at: Temporal.ZonedDateTime, interval: Interval): string {
  const day = `${at.day}-${months[at.month - 1]}`;
  if (interval === "month") return `${months[at.month - 1]} ${at.year}`;
  if (!timed.has(interval)) return `${day}-${at.year}`;
  const smallestUnit = interval === "second" ? interval : "minute";
  return `${day} ${at.toPlainTime().toString({ smallestUnit })}`;
}

export interface PersonsQuery {
  series: EventsNode[];
  interval?: string | null;
  dateRange?: DateRange;
  properties?: unknown;
}

export type CheckedPersons<Query extends PersonsQuery = PersonsQuery> = ReturnType<
  typeof checkPersons<Query>
>;

/** @throws Fault for math that is not the number of persons, or one of `more`: these kinds count nothing else. */
export function checkPersons<Query extends PersonsQuery>(query: Query, attr: string, more: Math[] = []) {
  const series = query.series.map((node, i) => {
    const item = readSeries(node, `${attr}__series__${i}`);
    if (item.math === "total" || item.math === "dau" || more.includes(item.math)) return item;
    return refuseField(
      `The math "${item.math}" in a query that counts persons`,
      `${attr}__series__${i}__math`,
    );
  });
  const interval = (query.interval ?? "day") as Interval;
  return { attr, query, interval, series, entities: series, filters: readNodeFilters(query, attr) };
}
