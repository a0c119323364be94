// Questions as the explore page puts them together, and the addresses and queries that they become.

export type Kind = "trend" | "funnel" | "retention";

export interface Question {
  kind: Kind;
  /** Names of events; "" is any event. */
  events: string[];
  math: string;
  interval: string;
  range: string;
  breakdown: string;
  compare: boolean;
}

export const maths: readonly (readonly [string, string])[] = [
  ["total", "Events"],
  ["dau", "Persons"],
  ["unique_session", "Sessions"],
  ["weekly_active", "Persons of the last 7 days"],
  ["monthly_active", "Persons of the last 30 days"],
  ["first_time_for_user", "First time for a person"],
];

export const ranges: readonly (readonly [string, string])[] = [
  ["-24h", "24 hours"],
  ["-7d", "7 days"],
  ["-14d", "14 days"],
  ["-30d", "30 days"],
  ["-90d", "90 days"],
  ["-12m", "12 months"],
];

export const intervals: readonly (readonly [string, string])[] = [
  ["hour", "Hour"],
  ["day", "Day"],
  ["week", "Week"],
  ["month", "Month"],
];

/** Series of one picture: as many as there are colours to tell them apart. */
export const seriesMax = 6;

export function questionOf(query: URLSearchParams): Question {
  const kind = query.get("kind");
  const events = query.getAll("event").slice(0, seriesMax);
  return {
    kind: kind === "funnel" || kind === "retention" ? kind : "trend",
    events: events.length > 0 ? events : [""],
    math: query.get("math") ?? "total",
    interval: query.get("interval") ?? "day",
    range: query.get("range") ?? "-14d",
    breakdown: query.get("breakdown") ?? "",
    compare: query.get("compare") === "true",
  };
}

/** What stands in the address of a page that shows it. */
export function addressOf({ events, compare, ...rest }: Question): string {
  const query = new URLSearchParams(Object.entries(rest));
  for (const event of events) query.append("event", event);
  if (compare) query.set("compare", "true");
  return query.toString();
}

/** As the API takes it. */
export function queryOf(question: Question): { kind: string } & Record<string, unknown> {
  const { kind, events, math, interval, range, breakdown, compare } = question;
  const dateRange = { date_from: range };
  const series = events.map((event) => ({ kind: "EventsNode", event: event || null, math }));
  const breakdownFilter = breakdown
    ? { breakdown, breakdown_type: "event", breakdown_limit: seriesMax }
    : null;
  if (kind === "funnel") {
    const steps = series.map(({ event }) => ({ kind: "EventsNode", event }));
    return { kind: "FunnelsQuery", series: steps, dateRange, breakdownFilter };
  }
  if (kind === "retention") {
    const [target = "", returning = target] = events;
    const of = (id: string) => ({ id: id || null, type: "events" });
    const period = { hour: "Hour", day: "Day", week: "Week", month: "Month" }[interval] ?? "Day";
    return {
      kind: "RetentionQuery",
      retentionFilter: {
        period,
        totalIntervals: 8,
        targetEntity: of(target),
        returningEntity: of(returning),
      },
    };
  }
  return {
    kind: "TrendsQuery",
    series,
    interval,
    dateRange,
    breakdownFilter,
    compareFilter: compare ? { compare: true } : null,
  };
}
