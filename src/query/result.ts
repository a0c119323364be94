// Types of results, in PostHog's format: every kind of query answers in one of them, and results are drawn by type.
// The pages of the console read this file, too: it imports nothing.

/** The members of `results`, by type. */
export interface ResultShapes {
  series: TrendLine;
  /** Steps; with a breakdown those of each value. */
  steps: FunnelStep | FunnelStep[];
  conversions: FunnelTrend;
  times: FunnelTimes;
  grid: RetentionCohort;
  flow: PathLink;
  figures: WebFigure;
  /** Cells in the order of `columns`. */
  table: unknown[];
}

export type ResultType = keyof ResultShapes;

export type TypedResults = {
  [Type in ResultType]: { type: Type; results: ResultShapes[Type][] };
}[ResultType];

export interface TrendLine {
  /** The series it belongs to, as PostHog's older insights have it; null for a formula. */
  action: {
    order?: number;
    name?: string | null;
    custom_name?: string | null;
    math?: string | null;
    math_property?: string | null;
  } | null;
  /** Index of a formula. */
  order?: number;
  label: string;
  /** The sum of `data`. */
  count: number;
  data: number[];
  labels: string[];
  /** The starts of the intervals; of stickiness how many intervals they are. */
  days: (string | number)[];
  /** Lifecycle only: new, returning, resurrecting or dormant. */
  status?: string;
  /** When the display shows one number. */
  aggregated_value?: number;
  /** Values of several properties, one of each. */
  breakdown_value?: string | string[];
  compare?: true;
  compare_label?: "current" | "previous";
  /**
   * Numbers of the time before one that has not ended: its numbers as far from its start as now is from the current
   * one's.
   */
  until?: { date_to: string; data: number[]; count: number; aggregated_value?: number };
  filter: { date_from: string; date_to: string };
}

/** The breakdown_value of events without the property, and of all values without a line of their own. */
export const noValue = "$$_posthog_breakdown_null_$$";
export const otherValues = "$$_posthog_breakdown_other_$$";

export interface FunnelStep {
  action_id: string | null;
  name: string;
  custom_name: string | null;
  order: number;
  people: never[];
  /** Persons who reached the step. */
  count: number;
  type: "events";
  /** Seconds from the step before, in each person's best attempt; null for the first step and without persons. */
  average_conversion_time: number | null;
  median_conversion_time: number | null;
  /** The values of its breakdown, in PostHog's two names: noValue for none, "Other" for all others. */
  breakdown?: string | string[];
  breakdown_value?: string | string[];
}

/** The share of persons who began a funnel in each interval and finished it, in percent with two decimals. */
export interface FunnelTrend {
  /** Number of the intervals. */
  count: number;
  data: number[];
  labels: string[];
  days: string[];
  breakdown_value?: string | string[];
}

/** How many persons finished a funnel in which time; the only member of its results. */
export interface FunnelTimes {
  /** The seconds at which each begins, and its persons. */
  bins: [seconds: number, persons: number][];
  /** Seconds; null when nobody finished. */
  average_conversion_time: number | null;
}

/** How often one step of a path followed another, `1_` before the name of the first. */
export interface PathLink {
  source: string;
  target: string;
  value: number;
  /** Milliseconds from the one to the other. */
  average_conversion_time: number;
}

export interface RetentionCohort {
  /** `Day 0`, `Day 1`, … */
  label: string;
  /** The start of its interval. */
  date: string;
  /** First the persons of the cohort, then how many of them returned in each later interval. */
  values: { count: number; label: string; aggregation_value?: number }[];
  breakdown_value?: string;
}

export interface WebFigure {
  key: string;
  kind: "unit" | "duration_s" | "percentage";
  /** null: of no visits. */
  value: number | null;
  /** Figure of the time before; null where nothing is compared, too. */
  previous: number | null;
  changeFromPreviousPct: number | null;
  isIncreaseBad: boolean | null;
  /** Figure of the time before, as far as now; only where the current time has not ended. */
  until?: { date_to: string; value: number | null };
}

/** Results as PostHog shows them: those of times are no list. */
export function shownResults({ type, results }: { type: ResultType | null; results: Iterable<unknown> }) {
  const [times] = type === "times" ? results : [];
  return times ?? results;
}

/** One funnel, or one for each value of a breakdown. */
export function toFunnels(results: readonly (FunnelStep | FunnelStep[])[]): FunnelStep[][] {
  return Array.isArray(results[0]) ? (results as FunnelStep[][]) : [results as FunnelStep[]];
}

/** The parts of a query that decide how its results are drawn. */
export interface QueryDrawing {
  /** PostHog's name of the drawing. */
  display?: string;
  /** The interval of results over time; SQL has none. */
  interval?: string;
  retentionType?: string;
}

/** @param query as it was saved, with the nodes around it. */
export function readDrawing(query: unknown): QueryDrawing {
  const outer = toFields(query);
  const source = unwrapQuery(query);
  const { display } = "display" in outer ? outer : toFields(source["trendsFilter"]);
  const { retentionType } = toFields(source["retentionFilter"]);
  return {
    ...(typeof display === "string" && { display }),
    ...(typeof source["interval"] === "string" && { interval: source["interval"] }),
    ...(source["kind"] === "RetentionQuery" && {
      retentionType: typeof retentionType === "string" ? retentionType : "retention_recurring",
    }),
  };
}

type JsonFields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is JsonFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of an object; none of what is none. */
export function toFields(value: unknown): JsonFields {
  return isFields(value) ? value : {};
}

/** A saved query without the nodes around it. */
export function unwrapQuery(query: unknown): JsonFields {
  const outer = toFields(query);
  return "source" in outer ? toFields(outer["source"]) : outer;
}
