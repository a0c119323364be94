// Questions as the explore page puts them together, and the addresses and queries that they become.

export type Kind = "trend" | "funnel" | "retention";

/** What is counted of one kind of event. */
export interface Series {
  /** Its name; "" is any event. */
  event: string;
  /** The API's name of the math. Groups have the index of their type, too: `unique_group:0`. */
  math: string;
  /** The property that the math is about, where it needs one. */
  property: string;
}

export interface Question {
  kind: Kind;
  series: Series[];
  interval: string;
  range: string;
  breakdown: string;
  /** How many values of the breakdown are shown apart; the others are one line. */
  values: number;
  compare: boolean;
  /** Of retention: whether only the first time of a person counts. */
  first: boolean;
}

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
  ["unique", "Different values of a property"],
];

const mathsOfProperty = new Set(["sum", "avg", "median", "min", "max", "p75", "p90", "p95", "p99", "unique"]);

export function needsProperty(math: string): boolean {
  return mathsOfProperty.has(math);
}

export const ranges: readonly (readonly [string, string])[] = [
  ["-24h", "24 hours"],
  ["-7d", "7 days"],
  ["-14d", "14 days"],
  ["-30d", "30 days"],
  ["-90d", "90 days"],
  ["-12m", "12 months"],
  ["all", "All time"],
];

export const intervals: readonly (readonly [string, string])[] = [
  ["hour", "Hour"],
  ["day", "Day"],
  ["week", "Week"],
  ["month", "Month"],
];

/** Series of one question: more are hard to tell apart. */
export const seriesMax = 6;
export const valuesDefault = 6;

export const anyEvent: Series = { event: "", math: "total", property: "" };

export function questionOf(query: URLSearchParams): Question {
  const kind = query.get("kind");
  const [maths, properties] = [query.getAll("math"), query.getAll("property")];
  const series = query
    .getAll("event")
    .slice(0, seriesMax)
    .map((event, i) => ({ event, math: maths[i] || "total", property: properties[i] ?? "" }));
  const values = Number(query.get("values") ?? valuesDefault);
  return {
    kind: kind === "funnel" || kind === "retention" ? kind : "trend",
    series: series.length > 0 ? series : [anyEvent],
    interval: query.get("interval") ?? "day",
    range: query.get("range") ?? "-14d",
    breakdown: query.get("breakdown") ?? "",
    values: Number.isInteger(values) && values > 0 ? values : valuesDefault,
    compare: query.get("compare") === "true",
    first: query.get("first") === "true",
  };
}

/** The query of the address of a page that shows it. */
export function addressOf({ series, compare, first, values, ...rest }: Question): string {
  const query = new URLSearchParams(Object.entries(rest));
  for (const { event, math, property } of series) {
    query.append("event", event);
    query.append("math", math);
    query.append("property", property);
  }
  if (values !== valuesDefault) query.set("values", String(values));
  if (compare) query.set("compare", "true");
  if (first) query.set("first", "true");
  return query.toString();
}

export type QueryBody = { kind: string } & Record<string, unknown>;

/** As the API takes it. */
export function queryOf(question: Question): QueryBody {
  const { kind, series, interval, range, breakdown, values, compare } = question;
  const dateRange = { date_from: range };
  if (kind === "funnel") {
    const steps = series.map(({ event }) => ({ kind: "EventsNode", event: event || null }));
    return { kind: "FunnelsQuery", series: steps, dateRange };
  }
  if (kind === "retention") return retentionQueryOf(question);
  return {
    kind: "TrendsQuery",
    series: series.map(nodeOf),
    interval,
    dateRange,
    breakdownFilter: breakdown ? { breakdown, breakdown_type: "event", breakdown_limit: values } : null,
    compareFilter: compare ? { compare: true } : null,
  };
}

function nodeOf({ event, math: chosen, property }: Series) {
  const [math, groupType] = chosen.split(":");
  return {
    kind: "EventsNode",
    event: event || null,
    math,
    ...(needsProperty(chosen) && { math_property: property }),
    ...(groupType !== undefined && { math_group_type_index: Number(groupType) }),
  };
}

export const periods: Readonly<Record<string, string>> = {
  hour: "Hour",
  day: "Day",
  week: "Week",
  month: "Month",
};

/** Periods of retention: as many columns as fit a page. */
export const retentionIntervals = 8;

function retentionQueryOf({ series, interval, first }: Question): QueryBody {
  const [target, returning = target] = series;
  const of = (one: Series | undefined) => ({ id: one?.event || null, type: "events" });
  return {
    kind: "RetentionQuery",
    retentionFilter: {
      retentionType: first ? "retention_first_time" : "retention_recurring",
      period: periods[interval] ?? "Day",
      totalIntervals: retentionIntervals,
      targetEntity: of(target),
      returningEntity: of(returning),
    },
  };
}
