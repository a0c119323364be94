// Results as the API shapes them, for each kind of query.

import { fieldsOf, isFields } from "../values.ts";
import { maths, needsProperty } from "./choices.ts";

export interface TrendSeries {
  label: string;
  data: number[];
  /** Stickiness: numbers of intervals. */
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

/** How many persons completed a funnel in which time. */
export interface ConversionTimes {
  bins: [seconds: number, persons: number][];
  average_conversion_time: number | null;
}

/** How often one step of a path followed another. Names begin with the number of the step. */
export interface PathLink {
  source: string;
  target: string;
  value: number;
  average_conversion_time: number;
}

export interface Figure {
  key: string;
  kind: "unit" | "duration_s" | "percentage";
  value: number | null;
  previous: number | null;
  changeFromPreviousPct: number | null;
  isIncreaseBad: boolean | null;
}

type Recognized =
  | { of: "cohorts"; cohorts: Cohort[] }
  /** One funnel, or one for each value of a breakdown. */
  | { of: "funnels"; funnels: FunnelStep[][] }
  | { of: "times"; times: ConversionTimes }
  | { of: "paths"; links: PathLink[] }
  | { of: "figures"; figures: Figure[] }
  /** Of totals, each series is one number; of rates, a conversion by interval without a name of its own. */
  | { of: "trends" | "totals" | "rates"; series: TrendSeries[] }
  | { of: "rows"; rows: Results };

/** Recognizes results by the fields of the first. */
export function recognize(results: Results): Recognized {
  const [first] = results;
  const has = (...names: string[]) => isFields(first) && names.every((name) => name in first);
  if (has("values")) return { of: "cohorts", cohorts: results as Cohort[] };
  if (has("median_conversion_time")) return { of: "funnels", funnels: [results as FunnelStep[]] };
  if (Array.isArray(first) && "median_conversion_time" in fieldsOf(first[0]))
    return { of: "funnels", funnels: results as FunnelStep[][] };
  if (has("bins")) return { of: "times", times: first as ConversionTimes };
  if (has("source", "target")) return { of: "paths", links: results as PathLink[] };
  if (has("key", "previous")) return { of: "figures", figures: results as Figure[] };
  if (!has("data")) return { of: "rows", rows: results };
  const series = results as TrendSeries[];
  if (!has("label"))
    return { of: "rates", series: series.map((one) => ({ ...one, label: "Conversion, %", action: null })) };
  const isTotals = series.some(({ data, aggregated_value: one }) => data.length === 0 && one !== undefined);
  return { of: isTotals ? "totals" : "trends", series };
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
