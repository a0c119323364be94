// The choices that the fields of a query offer, by the API's names, and the defaults.

export const maths: readonly (readonly [string, string])[] = [
  ["total", "Events"],
  ["dau", "Persons"],
  ["weekly_active", "Persons of the last 7 days"],
  ["monthly_active", "Persons of the last 30 days"],
  ["unique_session", "Sessions"],
  ["first_time_for_user", "Persons, their first time ever"],
  ["first_matching_event_for_user", "Persons, their first time with these filters"],
  ["sum", "Sum of a property"],
  ["avg", "Average of a property"],
  ["median", "Median of a property"],
  ["min", "Smallest value of a property"],
  ["max", "Largest value of a property"],
  ["p75", "75th percentile of a property"],
  ["p90", "90th percentile of a property"],
  ["p95", "95th percentile of a property"],
  ["p99", "99th percentile of a property"],
  ["unique", "Distinct values of a property"],
];

const mathsOfProperty = new Set(["sum", "avg", "median", "min", "max", "p75", "p90", "p95", "p99", "unique"]);

export function needsProperty(math: string): boolean {
  return mathsOfProperty.has(math);
}

export const ranges: readonly (readonly [string, string])[] = [
  ["dStart", "Today"],
  ["-1dStart", "Yesterday"],
  ["-24h", "24 hours"],
  ["-7d", "7 days"],
  ["-14d", "14 days"],
  ["-30d", "30 days"],
  ["-90d", "90 days"],
  ["mStart", "This month"],
  ["-12m", "12 months"],
  ["all", "All time"],
];

/** The switch of every page with figures: the project's filters tell own visits from others. */
export const ownVisits = "Without own visits";

/** PostHog's compare_to. */
export const comparisons: readonly (readonly [string, string])[] = [
  ["", "The time directly before"],
  ["-1w", "The same days of the week before"],
  ["-1y", "The year before"],
];

export const trendDisplays: readonly (readonly [string, string])[] = [
  ["ActionsLineGraph", "Lines"],
  ["ActionsBar", "Bars"],
  ["ActionsAreaGraph", "Areas"],
  ["ActionsLineGraphCumulative", "Lines, cumulative"],
  ["BoldNumber", "One number"],
  ["ActionsTable", "Numbers side by side"],
  ["ActionsPie", "Pie"],
];

export const intervals: readonly (readonly [string, string])[] = [
  ["second", "Second"],
  ["minute", "Minute"],
  ["hour", "Hour"],
  ["day", "Day"],
  ["week", "Week"],
  ["month", "Month"],
  ["quarter", "Quarter"],
  ["year", "Year"],
];
/** The intervals that retention has. */
export const retentionIntervals = intervals.slice(2, 6);

/** Series of one query: more are hard to distinguish. */
export const seriesMax = 6;

/** Kinds of queries: how they and the API call them, and how many events they have, at least and at most. */
export const kinds = {
  trend: { title: "Trend", api: "TrendsQuery", events: [1, seriesMax] },
  funnel: { title: "Funnel", api: "FunnelsQuery", events: [2, seriesMax] },
  retention: { title: "Retention", api: "RetentionQuery", events: [2, 2] },
  lifecycle: { title: "Lifecycle", api: "LifecycleQuery", events: [1, 1] },
  stickiness: { title: "Stickiness", api: "StickinessQuery", events: [1, seriesMax] },
  paths: { title: "Paths", api: "PathsQuery", events: [0, 0] },
} as const;
export type Kind = keyof typeof kinds;
export const kindNames = Object.keys(kinds) as Kind[];

export const views: readonly (readonly [string, string])[] = [
  ["steps", "Steps"],
  ["trends", "Conversion over time"],
  ["time_to_convert", "Time to convert"],
];

export const windows: readonly (readonly [string, string])[] = [
  ["30 minute", "30 minutes"],
  ["1 hour", "1 hour"],
  ["1 day", "1 day"],
  ["7 day", "7 days"],
  ["14 day", "14 days"],
  ["30 day", "30 days"],
];

export const orders: readonly (readonly [string, string])[] = [
  ["ordered", "One after the other"],
  ["strict", "Nothing between them"],
  ["unordered", "In any order"],
];

/** Kinds of steps of paths, as PostHog calls them. */
export const pathTypes: readonly (readonly [string, string])[] = [
  ["$pageview", "Pages"],
  ["$screen", "Screens"],
  ["custom_event", "Other events"],
];

export const stepCounts = ["3", "5", "10"].map((count) => [count, `${count} steps`] as const);

/** The API's names of intervals of retention. */
export const periods: Readonly<Record<string, string>> = Object.fromEntries(retentionIntervals);
