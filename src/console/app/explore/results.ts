// Results as the API shapes them, for each kind of query.

import { maths, needsProperty } from "./query.ts";

export interface TrendSeries {
  label: string;
  data: number[];
  /** Of stickiness: in how many intervals. */
  days: (string | number)[];
  labels?: string[];
  count: number;
  aggregated_value?: number;
  breakdown_value?: unknown;
  compare_label?: string;
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

export interface Cohort {
  label: string;
  date: string;
  values: { count: number; label: string }[];
}

export type Results = unknown[];

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

/** A figure of a site. */
export interface Figure {
  key: string;
  kind: "unit" | "duration_s" | "percentage";
  value: number | null;
  previous: number | null;
}

export function isFigures(results: Results): results is Figure[] {
  const first = results[0];
  return typeof first === "object" && first !== null && "key" in first && "previous" in first;
}

/** The name of a series. */
export function nameOfSeries({ label, action, breakdown_value, compare_label }: TrendSeries): string {
  const event = action?.custom_name ?? action?.name ?? label;
  const counted = action && !action.custom_name ? countedText(action) : "";
  const value = breakdown_value === undefined ? "" : ` · ${shownValue(breakdown_value)}`;
  return `${event || "All events"}${counted}${value}${compare_label === "previous" ? " (before)" : ""}`;
}

/** What is counted, unless it is events. */
function countedText({ math, math_property: property }: NonNullable<TrendSeries["action"]>): string {
  if (!math || math === "total") return "";
  if (math === "unique_group") return " · Groups";
  const title = maths.find(([name]) => name === math)?.[1] ?? math;
  return ` · ${needsProperty(math) ? title.replace("a property", property ?? "") : title}`;
}

function shownValue(value: unknown): string {
  const text = Array.isArray(value) ? value.join(" · ") : String(value);
  if (text === "$$_posthog_breakdown_null_$$") return "(none)";
  return text === "$$_posthog_breakdown_other_$$" ? "(other)" : text;
}

/** Seconds since 1970 of the starts of intervals, as the days of a series name them; none where these are no times. */
export function timesOfDays(series: readonly (string | number)[]): number[] {
  const days = series.filter((day) => typeof day === "string");
  return days.map((day) => new Date(day.includes(":") ? `${day.replace(" ", "T")}Z` : day).getTime() / 1000);
}
