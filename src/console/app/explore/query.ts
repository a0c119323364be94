// Queries as the explore page's form has them, and the addresses and API queries that they become.

import {
  type Condition,
  conditionAddress,
  conditionsOfAddress,
  groupIndexOf,
  type Owner,
  ownerOf,
  propertiesOf,
} from "../filters/conditions.ts";
import { type Kind, kindNames, kinds, needsProperty, periods, seriesMax } from "./choices.ts";

/** What is counted of one kind of event. */
export interface Series {
  /** Its name; "" is any event. */
  event: string;
  /** The API's name of the math. Groups have the index of their type, too: `unique_group:0`. */
  math: string;
  /** The property that the math is about, where it needs one. */
  property: string;
  /** Its own filters. */
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
  /** Of a trend: a formula that is shown instead of its events, such as `A / B`. */
  formula: string;
  /** PostHog's name of the drawing of a trend. */
  display: string;
  /** How many values of the breakdown are shown separately; the others are one line. */
  values: number;
  compare: boolean;
  /** Of a funnel: PostHog's name of its view. */
  view: string;
  /** Of a funnel: how long a person may take, like `14 day`. */
  window: string;
  /** Of a funnel: PostHog's name of the order of its steps. */
  order: string;
  /** Of retention: how many intervals are shown. */
  columns: number;
  /** Of retention: whether only a person's first time counts. */
  first: boolean;
  /** Of paths: PostHog's name of the kind of steps, their begin and end ("" for anywhere), and their length. */
  pathType: string;
  start: string;
  end: string;
  steps: number;
}

export const anyEvent: Series = { event: "", math: "total", property: "", conditions: [] };

export function queryOfAddress(query: URLSearchParams): InsightQuery {
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
    breakdown: query.get("breakdown") ?? "",
    breakdownType: ownerOfAddress(query.get("of")),
    conditions: conditionsOfAddress(query.getAll("where")),
    withoutTests: query.get("tests") === "false",
    ...rarerOf(query),
  };
}

/** Fields that an address has where they differ from these, by their names there. */
const rarer = {
  to: ["to", ""],
  formula: ["formula", ""],
  display: ["display", "ActionsLineGraph"],
  values: ["values", 6],
  compare: ["compare", false],
  view: ["view", "steps"],
  window: ["window", "14 day"],
  order: ["order", "ordered"],
  columns: ["columns", 8],
  first: ["first", false],
  pathType: ["path", "$pageview"],
  start: ["start", ""],
  end: ["end", ""],
  steps: ["steps", 5],
} as const;
const rarerNames = Object.keys(rarer) as (keyof typeof rarer)[];

/** What an address without parameters shows. */
export const plainQuery = queryOfAddress(new URLSearchParams());

function rarerOf(query: URLSearchParams) {
  const read = ([name, otherwise]: (typeof rarer)[keyof typeof rarer]) => {
    const text = query.get(name);
    if (typeof otherwise === "number") return positiveInteger(text, otherwise);
    return typeof otherwise === "boolean" ? text === "true" : (text ?? otherwise);
  };
  const fields = rarerNames.map((field) => [field, read(rarer[field])]);
  return Object.fromEntries(fields) as Pick<InsightQuery, keyof typeof rarer>;
}

function ownerOfAddress(text: string | null): Owner {
  const index = groupIndexOf(text ?? "");
  return ownerOf(index === undefined ? (text ?? "event") : "group", index) ?? "event";
}

function positiveInteger(text: string | null, otherwise: number): number {
  const number = Number(text ?? otherwise);
  return Number.isInteger(number) && number > 0 ? number : otherwise;
}

/** The parameters of a page's address that show the query. */
export function addressOfQuery(query: InsightQuery): string {
  const { kind, interval, range, breakdown, series, conditions } = query;
  const params = new URLSearchParams({ kind, interval, range, breakdown });
  for (const [i, { event, math, property, conditions: own }] of series.entries()) {
    params.append("event", event);
    params.append("math", math);
    params.append("property", property);
    for (const one of own) params.append(`where${i}`, conditionAddress(one));
  }
  if (query.breakdownType !== "event") params.set("of", query.breakdownType);
  if (query.withoutTests) params.set("tests", "false");
  for (const one of conditions) params.append("where", conditionAddress(one));
  for (const field of rarerNames) {
    const [name, otherwise] = rarer[field];
    if (query[field] !== otherwise) params.set(name, String(query[field]));
  }
  return params.toString();
}

/** The query in the API's form. */
export function queryBodyOf(query: InsightQuery): { kind: string } & Record<string, unknown> {
  const { series, interval, range, to, compare, display, formula } = query;
  const kind = kinds[query.kind].api;
  const dateRange = { date_from: range, ...(to !== "" && { date_to: to }) };
  const filtered = {
    ...ownPropertiesOf(query.conditions),
    ...(query.withoutTests && { filterTestAccounts: true }),
  };
  const breakdownFilter = breakdownFilterOf(query);
  const isDrawn = display !== plainQuery.display;
  switch (query.kind) {
    case "funnel":
      return {
        kind,
        series: series.map(plainNodeOf),
        dateRange,
        ...(query.view === "trends" && { interval }),
        ...filtered,
        breakdownFilter,
        funnelsFilter: funnelsFilterOf(query),
      };
    case "retention": {
      const until = to !== "" && { dateRange: { date_to: to } };
      return { kind, retentionFilter: retentionFilterOf(query), ...until, ...filtered };
    }
    case "paths":
      return { kind, dateRange, ...filtered, pathsFilter: pathsFilterOf(query) };
    case "lifecycle":
      return { kind, series: series.slice(0, 1).map(plainNodeOf), interval, dateRange, ...filtered };
    case "stickiness":
      return { kind, series: series.map(plainNodeOf), interval, dateRange, ...filtered };
    default:
      return {
        kind,
        series: series.map(nodeOf),
        interval,
        dateRange,
        ...filtered,
        breakdownFilter,
        compareFilter: compare ? { compare: true } : null,
        ...((isDrawn || formula !== "") && {
          trendsFilter: { ...(isDrawn && { display }), ...(formula !== "" && { formula }) },
        }),
      };
  }
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
    ...(view !== plainQuery.view && { funnelVizType: view }),
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

function retentionFilterOf({ series, interval, first, columns }: InsightQuery) {
  const [target = anyEvent, returning = target] = series;
  const of = ({ event, conditions }: Series) => ({
    id: event || null,
    type: "events",
    ...ownPropertiesOf(conditions),
  });
  return {
    retentionType: first ? "retention_first_time" : "retention_recurring",
    period: periods[interval] ?? "Day",
    totalIntervals: columns,
    targetEntity: of(target),
    returningEntity: of(returning),
  };
}
