// Results as the API shapes them, for each kind of query.

import { maths, needsProperty } from "./choices.ts";

export interface TrendSeries {
  label: string;
  data: number[];
  /** Of stickiness: in how many intervals. */
  days: (string | number)[];
  labels?: string[];
  aggregated_value?: number;
  breakdown_value?: unknown;
  compare_label?: string;
  /** Of a lifecycle. */
  status?: string;
  action?: {
    order?: number;
    custom_name?: string | null;
    name?: string | null;
    math?: string | null;
    math_property?: string | null;
  } | null;
}

export interface FunnelStep {
  name: string | null;
  custom_name: string | null;
  count: number;
  order: number;
  breakdown_value?: unknown;
  median_conversion_time: number | null;
}

export const nameOfStep = ({ custom_name, name }: FunnelStep): string => custom_name ?? name ?? "Any event";

export interface Cohort {
  label: string;
  date: string;
  values: { count: number; label: string }[];
}

export type Results = unknown[];

/** The API's reply to a query in SQL. */
export interface RowsReply {
  results: Results;
  columns: string[];
  types: [name: string, type: string][];
  hasMore: boolean;
  limit: number;
}

export function isCohorts(results: Results): results is Cohort[] {
  return Array.isArray((results[0] as Cohort | undefined)?.values);
}

/** Steps of one funnel, or of one for each value of a breakdown. */
export function funnelsIn(results: Results): FunnelStep[][] | undefined {
  const [first] = results;
  if (isStep(first)) return [results as FunnelStep[]];
  return Array.isArray(first) && isStep(first[0]) ? (results as FunnelStep[][]) : undefined;
}

function isStep(value: unknown): boolean {
  return typeof value === "object" && value !== null && "median_conversion_time" in value;
}

export function isTrends(results: Results): results is TrendSeries[] {
  return Array.isArray((results[0] as TrendSeries | undefined)?.data);
}

/** Whether each series is one number. */
export function isTotals(series: readonly TrendSeries[]): boolean {
  return series.some(({ data, aggregated_value }) => data.length === 0 && aggregated_value !== undefined);
}

/** Conversion of a funnel by interval: lines without names of their own. */
export function ratesIn(results: Results): TrendSeries[] | undefined {
  if (!isTrends(results) || "label" in results[0]!) return undefined;
  return results.map((one) => ({ ...one, label: "Conversion, %", action: null }));
}

/** How many persons completed a funnel in which time. */
export interface ConversionTimes {
  bins: [seconds: number, persons: number][];
  average_conversion_time: number | null;
}

export function isConversionTimes(results: Results): results is [ConversionTimes] {
  return Array.isArray((results[0] as ConversionTimes | undefined)?.bins);
}

/** How often one step of a path followed another. Names begin with the number of the step. */
export interface PathLink {
  source: string;
  target: string;
  value: number;
  average_conversion_time: number;
}

export function isPaths(results: Results): results is PathLink[] {
  const first = results[0];
  return typeof first === "object" && first !== null && "source" in first && "target" in first;
}

export interface Figure {
  key: string;
  kind: "unit" | "duration_s" | "percentage";
  value: number | null;
  previous: number | null;
  changeFromPreviousPct: number | null;
  isIncreaseBad: boolean | null;
}

export function isFigures(results: Results): results is Figure[] {
  const first = results[0];
  return typeof first === "object" && first !== null && "key" in first && "previous" in first;
}

/** The name of each series. Different events with equal names get their letter, as in formulas. */
export function namesOfSeries(series: readonly TrendSeries[]): string[] {
  const names = series.map(nameOfSeries);
  const orders = Map.groupBy(
    series.map(({ action }) => action?.order),
    (_, i) => names[i]!,
  );
  return series.map(({ action }, i) => {
    const isAlike = new Set(orders.get(names[i]!)).size > 1;
    return isAlike ? `${String.fromCharCode(65 + (action?.order ?? 0))}. ${names[i]}` : names[i]!;
  });
}

export function nameOfSeries(series: TrendSeries): string {
  const { label, action, breakdown_value, compare_label, status } = series;
  const event = action?.custom_name ?? action?.name ?? label;
  const counted = action && !action.custom_name ? countedText(action) : "";
  const value = breakdown_value === undefined ? "" : ` · ${shownValue(breakdown_value)}`;
  const before = compare_label === "previous" ? " (before)" : "";
  return `${event || "All events"}${counted}${status ? ` · ${status}` : ""}${value}${before}`;
}

/** The math in words; "" for a count of events. */
function countedText({ math, math_property: property }: NonNullable<TrendSeries["action"]>): string {
  if (!math || math === "total") return "";
  if (math === "unique_group") return " · Groups";
  const title = maths.find(([name]) => name === math)?.[1] ?? math;
  return ` · ${needsProperty(math) ? title.replace("a property", property ?? "") : title}`;
}

/** A value of a breakdown in words. No event has an empty one: it is shown as none. */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(shownValue).join(" · ");
  const text = String(value);
  if (text === "$$_posthog_breakdown_null_$$" || text === "") return "(none)";
  return text === "$$_posthog_breakdown_other_$$" ? "(other)" : text;
}

/** Maths whose intervals add up to the whole time, since each event or person is in one interval. */
const summableMaths = new Set(["total", "sum", "first_time_for_user", "first_matching_event_for_user"]);

export function isSummable({ action, days, status }: TrendSeries, display: string): boolean {
  const isOfTimes = typeof days[0] === "string" && !status && display !== "ActionsLineGraphCumulative";
  return isOfTimes && action !== null && summableMaths.has(action?.math ?? "total");
}
