// Questions as the explore page puts them together, and the addresses and queries that they become.

import {
  type Condition,
  conditionAddress,
  conditionsOfAddress,
  groupIndexOf,
  type Owner,
  ownerOf,
  propertiesOf,
} from "../filters/conditions.ts";
import {
  columnsDefault,
  lineDisplay,
  needsProperty,
  orderDefault,
  pathTypeDefault,
  periods,
  seriesMax,
  stepsDefault,
  valuesDefault,
  viewDefault,
  windowDefault,
} from "./choices.ts";

export const kindNames = ["trend", "funnel", "retention", "lifecycle", "stickiness", "paths"] as const;
export type Kind = (typeof kindNames)[number];

/** What is counted of one kind of event. */
export interface Series {
  /** Its name; "" is any event. */
  event: string;
  /** The API's name of the math. Groups have the index of their type, too: `unique_group:0`. */
  math: string;
  /** The property that the math is about, where it needs one. */
  property: string;
  /** Filters of this one alone. */
  conditions: Condition[];
}

export interface InsightQuery {
  kind: Kind;
  series: Series[];
  interval: string;
  range: string;
  /** The last day; "" for today. */
  to: string;
  breakdown: string;
  /** Whose property it is broken down by. */
  breakdownType: Owner;
  conditions: Condition[];
  /** Whether the project's test accounts are left out. */
  withoutTests: boolean;
  /** Of a trend: what is shown instead of its events, which it names by their letters, like `A / B`. */
  formula: string;
  /** PostHog's name of the drawing of a trend. */
  display: string;
  /** How many values of the breakdown are shown apart; the others are one line. */
  values: number;
  compare: boolean;
  /** Of a funnel: PostHog's name of what is shown of it. */
  view: string;
  /** Of a funnel: how long a person may take, like `14 day`. */
  window: string;
  /** Of a funnel: PostHog's name of how its steps follow each other. */
  order: string;
  /** Of retention: how many intervals are shown. */
  columns: number;
  /** Of retention: whether only the first time of a person counts. */
  first: boolean;
  /** Of paths: PostHog's name of what their steps are, where they begin and end ("" for anywhere), and their length. */
  pathType: string;
  start: string;
  end: string;
  steps: number;
}

export const anyEvent: Series = { event: "", math: "total", property: "", conditions: [] };

export function questionOf(query: URLSearchParams): InsightQuery {
  const kind = query.get("kind");
  const [maths, properties] = [query.getAll("math"), query.getAll("property")];
  const series = query
    .getAll("event")
    .slice(0, seriesMax)
    .map((event, i) => ({
      event,
      math: maths[i] || "total",
      property: properties[i] ?? "",
      conditions: conditionsOfAddress(query.getAll(`where${i}`)),
    }));
  return {
    kind: kindNames.find((one) => one === kind) ?? "trend",
    series: series.length > 0 ? series : [anyEvent],
    interval: query.get("interval") ?? "day",
    range: query.get("range") ?? "-14d",
    to: query.get("to") ?? "",
    breakdown: query.get("breakdown") ?? "",
    breakdownType: ownerOfAddress(query.get("of")),
    conditions: conditionsOfAddress(query.getAll("where")),
    withoutTests: query.get("tests") === "false",
    formula: query.get("formula") ?? "",
    display: query.get("display") ?? lineDisplay,
    values: wholeOf(query.get("values"), valuesDefault),
    compare: query.get("compare") === "true",
    view: query.get("view") ?? viewDefault,
    window: query.get("window") ?? windowDefault,
    order: query.get("order") ?? orderDefault,
    columns: wholeOf(query.get("columns"), columnsDefault),
    first: query.get("first") === "true",
    pathType: query.get("path") ?? pathTypeDefault,
    start: query.get("start") ?? "",
    end: query.get("end") ?? "",
    steps: wholeOf(query.get("steps"), stepsDefault),
  };
}

function ownerOfAddress(text: string | null): Owner {
  const index = groupIndexOf(text ?? "");
  return ownerOf(index === undefined ? (text ?? "event") : "group", index) ?? "event";
}

function wholeOf(text: string | null, otherwise: number): number {
  const number = Number(text ?? otherwise);
  return Number.isInteger(number) && number > 0 ? number : otherwise;
}

/** The query of the address of a page that shows it. */
export function addressOf(question: InsightQuery): string {
  const { kind, interval, range, breakdown, series, conditions, values, display } = question;
  const query = new URLSearchParams({ kind, interval, range, breakdown });
  for (const [i, { event, math, property, conditions: own }] of series.entries()) {
    query.append("event", event);
    query.append("math", math);
    query.append("property", property);
    for (const one of own) query.append(`where${i}`, conditionAddress(one));
  }
  if (values !== valuesDefault) query.set("values", String(values));
  if (question.to !== "") query.set("to", question.to);
  if (question.breakdownType !== "event") query.set("of", question.breakdownType);
  if (question.withoutTests) query.set("tests", "false");
  if (question.formula !== "") query.set("formula", question.formula);
  for (const one of conditions) query.append("where", conditionAddress(one));
  if (display !== lineDisplay) query.set("display", display);
  if (question.compare) query.set("compare", "true");
  if (question.view !== viewDefault) query.set("view", question.view);
  if (question.window !== windowDefault) query.set("window", question.window);
  if (question.order !== orderDefault) query.set("order", question.order);
  if (question.columns !== columnsDefault) query.set("columns", String(question.columns));
  if (question.first) query.set("first", "true");
  if (question.pathType !== pathTypeDefault) query.set("path", question.pathType);
  if (question.start !== "") query.set("start", question.start);
  if (question.end !== "") query.set("end", question.end);
  if (question.steps !== stepsDefault) query.set("steps", String(question.steps));
  return query.toString();
}

export type QueryBody = { kind: string } & Record<string, unknown>;

/** As the API takes it. */
export function queryOf(question: InsightQuery): QueryBody {
  const { kind, series, interval, range, to, compare, display, formula } = question;
  const dateRange = { date_from: range, ...(to !== "" && { date_to: to }) };
  const properties = propertiesOf(question.conditions);
  const filtered = {
    ...(properties.length > 0 && { properties }),
    ...(question.withoutTests && { filterTestAccounts: true }),
  };
  const breakdownFilter = breakdownFilterOf(question);
  if (kind === "funnel") {
    const steps = series.map(plainNodeOf);
    const funnelsFilter = funnelsFilterOf(question);
    return {
      kind: "FunnelsQuery",
      series: steps,
      dateRange,
      ...(question.view === "trends" && { interval }),
      ...filtered,
      breakdownFilter,
      funnelsFilter,
    };
  }
  if (kind === "retention") {
    return { ...retentionQueryOf(question), ...(to !== "" && { dateRange: { date_to: to } }), ...filtered };
  }
  if (kind === "paths")
    return { kind: "PathsQuery", dateRange, ...filtered, pathsFilter: pathsFilterOf(question) };
  if (kind === "lifecycle" || kind === "stickiness") {
    const own = kind === "lifecycle" ? series.slice(0, 1) : series;
    return {
      kind: kind === "lifecycle" ? "LifecycleQuery" : "StickinessQuery",
      series: own.map(plainNodeOf),
      interval,
      dateRange,
      ...filtered,
    };
  }
  return {
    kind: "TrendsQuery",
    series: series.map(nodeOf),
    interval,
    dateRange,
    ...filtered,
    breakdownFilter,
    compareFilter: compare ? { compare: true } : null,
    ...((display !== lineDisplay || formula !== "") && {
      trendsFilter: { ...(display !== lineDisplay && { display }), ...(formula !== "" && { formula }) },
    }),
  };
}

function breakdownFilterOf({ breakdown, breakdownType, values }: InsightQuery) {
  if (!breakdown) return null;
  const index = groupIndexOf(breakdownType);
  return {
    breakdown,
    breakdown_type: index === undefined ? breakdownType : "group",
    ...(index !== undefined && { breakdown_group_type_index: index }),
    breakdown_limit: values,
  };
}

function ownPropertiesOf(conditions: readonly Condition[]) {
  const properties = propertiesOf(conditions);
  return properties.length > 0 ? { properties } : {};
}

function funnelsFilterOf({ window, order, view }: InsightQuery) {
  const [interval, unit] = window.split(" ");
  return {
    funnelWindowInterval: Number(interval),
    funnelWindowIntervalUnit: unit,
    funnelOrderType: order,
    ...(view !== viewDefault && { funnelVizType: view }),
  };
}

function pathsFilterOf({ pathType, start, end, steps }: InsightQuery) {
  return {
    includeEventTypes: [pathType],
    ...(start !== "" && { startPoint: start }),
    ...(end !== "" && { endPoint: end }),
    stepLimit: steps,
  };
}

/** An event and its filters: persons are counted. */
function plainNodeOf({ event, conditions }: Series) {
  return { kind: "EventsNode", event: event || null, ...ownPropertiesOf(conditions) };
}

function nodeOf({ event, math: chosen, property, conditions }: Series) {
  const [math, groupType] = chosen.split(":");
  return {
    kind: "EventsNode",
    event: event || null,
    math,
    ...(needsProperty(chosen) && { math_property: property }),
    ...(groupType !== undefined && { math_group_type_index: Number(groupType) }),
    ...ownPropertiesOf(conditions),
  };
}

function retentionQueryOf({ series, interval, first, columns }: InsightQuery): QueryBody {
  const [target, returning = target] = series;
  const of = (one: Series | undefined) => ({
    id: one?.event || null,
    type: "events",
    ...ownPropertiesOf(one?.conditions ?? []),
  });
  return {
    kind: "RetentionQuery",
    retentionFilter: {
      retentionType: first ? "retention_first_time" : "retention_recurring",
      period: periods[interval] ?? "Day",
      totalIntervals: columns,
      targetEntity: of(target),
      returningEntity: of(returning),
    },
  };
}
