// Results as the API shapes them, for each kind of query, and as one table with numbers as they are.

import {
  type FunnelStep,
  type FunnelTrend,
  noValue,
  otherValues,
  type ResultType,
  type RetentionCohort,
  toFunnels,
  type TypedResults,
  type WebFigure,
} from "../../../query/result.ts";
import { nameColumns } from "../../../query/results/chart_rows.ts";
import {
  type DrawnLine,
  findEnd,
  guessInterval,
  isTotals,
  toTimes,
  trimCohorts,
} from "../../../query/results/figures.ts";
import { nameTimes, rangeName } from "../ui/chart/intervals.ts";
import type { Cell, TableData } from "../ui/csv.ts";
import { durationText, numberText, percentText } from "../ui/format.ts";
import { maths, needsProperty } from "./choices.ts";

/** The API's reply to a query. */
export interface QueryReply {
  result_type: ResultType;
  /** A list, except of the times of a funnel. */
  results: unknown;
}

/** The API's reply to a query in SQL. */
export interface RowsReply extends QueryReply {
  results: unknown[];
  columns: string[];
  types: [name: string, type: string][];
  hasMore: boolean;
  limit: number;
}

export function readResults({ result_type, results }: QueryReply): TypedResults {
  return { type: result_type, results: [results ?? []].flat() } as TypedResults;
}

export const nameStep = ({ custom_name, name }: FunnelStep): string => custom_name ?? name;

/** Conversions by interval, which have no name of their own, as lines. */
export function toLines(conversions: readonly FunnelTrend[]): DrawnLine[] {
  return conversions.map((line) => ({ ...line, label: "Conversion, %", action: null }));
}

/** A figure of a site; a dash where there were no visits. */
export function figureText(value: number | null, kind: WebFigure["kind"]): string {
  if (value === null) return "–";
  if (kind === "duration_s") return durationText(Math.round(value));
  return kind === "percentage" ? percentText(value, 100) : numberText(value);
}

/** The time of day until which a number of the time before is, as words; "" for the whole of it. */
export function untilText(until: { date_to: string } | undefined): string {
  return until ? ` until ${until.date_to.slice(11, 16)}` : "";
}

/** The name of each series. Different events with equal names get their letter, as in formulas. */
export function nameAllSeries(series: readonly DrawnLine[]): string[] {
  const names = series.map(nameSeries);
  const orders = Map.groupBy(
    series.map(({ action }) => action?.order),
    (_, i) => names[i]!,
  );
  return series.map(({ action }, i) => {
    const isAlike = new Set(orders.get(names[i]!)).size > 1;
    return isAlike ? `${String.fromCharCode(65 + (action?.order ?? 0))}. ${names[i]}` : names[i]!;
  });
}

export function nameSeries(series: DrawnLine): string {
  const { label, action, breakdown_value, compare_label, status } = series;
  const isOfPages = !action?.custom_name && (action?.name ?? label) === "$pageview";
  const isOfVisitors = isOfPages && action?.math === "dau";
  const event = isOfVisitors
    ? "Visitors"
    : isOfPages
      ? "Page views"
      : (action?.custom_name ?? action?.name ?? label);
  const counted = action && !action.custom_name && !isOfVisitors ? countedText(action) : "";
  const value = breakdown_value === undefined ? "" : ` · ${shownValue(breakdown_value)}`;
  const before = compare_label === "previous" ? " (before)" : "";
  return `${event || "All events"}${counted}${status ? ` · ${status}` : ""}${value}${before}`;
}

/** The days of a line that is compared, up to `now`, the last interval whole; "" for others. Times as of toTimes(). */
export function nameDays({ compare_label, days }: DrawnLine, now: number, interval?: string): string {
  const times = toTimes(days);
  const [from, last] = [times[0], times.at(-1)];
  if (compare_label === undefined || from === undefined || last === undefined) return "";
  const end = findEnd(last, interval ?? guessInterval(times)) - 1;
  return `, ${rangeName(from, Math.max(from, Math.min(end, now)))}`;
}

/** The math in words; "" for a count of events. */
function countedText({ math, math_property: property }: NonNullable<DrawnLine["action"]>): string {
  if (!math || math === "total") return "";
  if (math === "unique_group") return " · Groups";
  const title = maths.find(([name]) => name === math)?.[1] ?? math;
  return ` · ${needsProperty(math) ? title.replace("a property", property ?? "") : title}`;
}

/** A value of a breakdown in words. No event has an empty one: it is shown as none. */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(shownValue).join(" · ");
  const text = String(value);
  if (text === noValue || text === "") return "(none)";
  return text === otherValues ? "(other)" : text;
}

/** @param columns of rows. */
export function toTable({ type, results }: TypedResults, columns: readonly string[] = []): TableData {
  switch (type) {
    case "series":
      return isTotals(results) ? totalsTable(results) : trendTable(results);
    case "conversions":
      return trendTable(toLines(results));
    case "grid":
      return cohortsTable(results);
    case "steps":
      return funnelTable(toFunnels(results));
    case "times":
      return { name: "times", columns: ["Seconds", "Persons"], rows: results[0]!.bins };
    case "flow": {
      const rows = results.map(({ source, target, value, average_conversion_time: ms }) => [
        source,
        target,
        value,
        ms / 1000,
      ]);
      return { name: "paths", columns: ["From", "To", "Times", "Average seconds"], rows };
    }
    case "figures": {
      const rows = results.map(({ key, value, previous, until }) => [
        key,
        value,
        previous,
        until?.value ?? null,
      ]);
      return { name: "figures", columns: ["Figure", "Value", "Before", "Before, as far as now"], rows };
    }
    default:
      return { name: "query", columns: nameColumns(results, columns), rows: results as Cell[][] };
  }
}

function trendTable(series: readonly DrawnLine[]): TableData {
  const days = series[0]?.days ?? [];
  const isOfTimes = typeof days[0] === "string";
  const names = isOfTimes ? nameTimes(days) : (series[0]?.labels ?? days.map(String));
  return {
    name: "trend",
    columns: [isOfTimes ? "Time" : "Active in", ...nameAllSeries(series)],
    rows: names.map((name, i) => [name, ...series.map(({ data }) => data[i])]),
  };
}

function totalsTable(series: readonly DrawnLine[]): TableData {
  const names = nameAllSeries(series);
  const rows = series.map((item, i) => [names[i], item.aggregated_value]);
  return { name: "totals", columns: ["Series", "Number"], rows };
}

function funnelTable(funnels: readonly FunnelStep[][]): TableData {
  const isBrokenDown = funnels.some(([first]) => first?.breakdown_value !== undefined);
  const columns = ["Step", "Name", "Persons", "Median seconds since the step before"];
  const rows = funnels.flat().map((step): Cell[] => {
    const cells = [step.order + 1, nameStep(step), step.count, step.median_conversion_time];
    return isBrokenDown ? [shownValue(step.breakdown_value), ...cells] : cells;
  });
  return { name: "funnel", columns: isBrokenDown ? ["Value", ...columns] : columns, rows };
}

function cohortsTable(all: readonly RetentionCohort[]): TableData {
  const cohorts = trimCohorts(all);
  const labels = all[0]?.values.map(({ label }) => label) ?? [];
  const isBroken = all[0]?.breakdown_value !== undefined;
  return {
    name: "retention",
    columns: [...(isBroken ? ["Value"] : []), "Interval", ...labels],
    rows: cohorts.map(({ date, values, breakdown_value }) => [
      ...(isBroken ? [breakdown_value] : []),
      date,
      ...labels.map((_, i) => values[i]?.count),
    ]),
  };
}
