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

/** Shares of a funnel by interval: lines without names of their own. */
export function ratesIn(results: Results): TrendSeries[] | undefined {
  if (!isTrends(results) || "label" in results[0]!) return undefined;
  return results.map((one) => ({ ...one, label: "Conversion, %", action: null }));
}

/** How many persons came through a funnel in which time. */
export interface Times {
  bins: [seconds: number, persons: number][];
  average_conversion_time: number | null;
}

export function isTimes(results: Results): results is [Times] {
  return Array.isArray((results[0] as Times | undefined)?.bins);
}

/** How often a step of a path followed another; their names have their numbers before them. */
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

/** A figure of a site. */
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

/** The name of a series. */
export function nameOfSeries(series: TrendSeries): string {
  const { label, action, breakdown_value, compare_label, status } = series;
  const event = action?.custom_name ?? action?.name ?? label;
  const counted = action && !action.custom_name ? countedText(action) : "";
  const value = breakdown_value === undefined ? "" : ` · ${shownValue(breakdown_value)}`;
  const before = compare_label === "previous" ? " (before)" : "";
  return `${event || "All events"}${counted}${status ? ` · ${status}` : ""}${value}${before}`;
}

/** What is counted, unless it is events. */
function countedText({ math, math_property: property }: NonNullable<TrendSeries["action"]>): string {
  if (!math || math === "total") return "";
  if (math === "unique_group") return " · Groups";
  const title = maths.find(([name]) => name === math)?.[1] ?? math;
  return ` · ${needsProperty(math) ? title.replace("a property", property ?? "") : title}`;
}

/** A value of a breakdown. No event has an empty one: that counts as none. */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(shownValue).join(" · ");
  const text = String(value);
  if (text === "$$_posthog_breakdown_null_$$" || text === "") return "(none)";
  return text === "$$_posthog_breakdown_other_$$" ? "(other)" : text;
}

/** Maths whose numbers of all intervals add up to the one of all the time: each event or person is in one interval. */
const summed = new Set(["total", "sum", "first_time_for_user", "first_matching_event_for_user"]);

export function isSummable({ action, days, status }: TrendSeries, display: string): boolean {
  const isOfTimes = typeof days[0] === "string" && !status && display !== "ActionsLineGraphCumulative";
  return isOfTimes && action !== null && summed.has(action?.math ?? "total");
}

/**
 * Seconds since 1970 of the starts of intervals, as the days of a series name them; none where these are no times. What
 * clocks show twice is half an interval apart.
 */
export function timesOfDays(series: readonly (string | number)[]): number[] {
  const texts = series.filter((day) => typeof day === "string");
  const times = texts.map((day) => shownTime(day) / 1000);
  const isTwice = (i: number) => i > 0 && texts[i] === texts[i - 1];
  return times.map((time, i) => (isTwice(i) ? (time + (times[i + 1] ?? time + 3600)) / 2 : time));
}

/** What a text of a moment shows, as if it were in UTC: without its offset. */
function shownTime(text: string): number {
  return new Date(text.includes(":") ? `${text.slice(0, 19).replace(" ", "T")}Z` : text).getTime();
}

/** What intervals are called: an hour that clocks show twice says so. */
export function namesOfTimes(days: readonly (string | number)[]): string[] {
  return days.map((day, i) =>
    i > 0 && day === days[i - 1] ? `${day} (again, clocks went back)` : String(day),
  );
}

const daySeconds = 86_400;

/** Whether the last interval is not over. @param now by shownNow(). */
export function isUnfinished(times: readonly number[], now: number): boolean {
  const [before, last] = times.slice(-2);
  if (before === undefined || last === undefined) return false;
  const step = last - before;
  // Months differ in their days.
  const next = new Date(last * 1000);
  const end = step >= 28 * daySeconds ? next.setUTCMonth(next.getUTCMonth() + 1) / 1000 : last + step;
  return last <= now && now < end;
}
