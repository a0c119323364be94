// Queries as the explore page's form has them, and the addresses and API queries that they become.

import {
  type Condition,
  conditionAddress,
  isGroup,
  type Owner,
  readAddressConditions,
  readGroupIndex,
  toOwner,
  toProperties,
} from "../filters/conditions.ts";
import { type Fields, toFields, toNumber, toText } from "../values.ts";
import { type Kind, kindNames, kinds, needsProperty, periods, seriesMax } from "./choices.ts";

/** One kind of event, and how it is counted. */
export interface Series {
  /** Its name; "" is any event. */
  event: string;
  /** The API's name of the math. Groups have the index of their type, too: `unique_group:0`. */
  math: string;
  /** The property that the math is about, where it needs one. */
  property: string;
  conditions: Condition[];
}

export interface InsightQuery extends RarerFields {
  kind: Kind;
  series: Series[];
  interval: string;
  range: string;
  breakdown: string;
  /** Whose property it is broken down by. */
  breakdownType: Owner;
  conditions: Condition[];
  /** Whether the project's test accounts are left out. */
  withoutTests: boolean;
}

export const anyEvent: Series = { event: "", math: "total", property: "", conditions: [] };

/** A funnel has at least two steps; retention has two events, of the first visit and of the return. */
export function shownSeries(kind: Kind, series: readonly Series[]): Series[] {
  const [first = anyEvent, second] = series;
  if (kind === "retention") return [first, second ?? first];
  if (kind === "lifecycle") return [first];
  return kind === "funnel" && !second ? [first, anyEvent] : [...series];
}

export function readAddress(query: URLSearchParams): InsightQuery {
  const kind = query.get("kind");
  const [maths, properties] = [query.getAll("math"), query.getAll("property")];
  const series = query
    .getAll("event")
    .slice(0, seriesMax)
    .map((event, i) => ({
      event,
      math: maths[i] || "total",
      property: properties[i] ?? "",
      conditions: readAddressConditions(query.getAll(`where${i}`)),
    }));
  return {
    kind: kindNames.find((kindName) => kindName === kind) ?? "trend",
    series: series.length > 0 ? series : [anyEvent],
    interval: query.get("interval") ?? "day",
    range: query.get("range") ?? "-14d",
    breakdown: query.get("breakdown") ?? "",
    breakdownType: readOwner(query.get("of")),
    conditions: readAddressConditions(query.getAll("where")),
    withoutTests: query.get("tests") === "false",
    ...readRarer(query),
  };
}

type Rarer = [parameter: string, otherwise: string | number | boolean, filter?: string, key?: string];

/** Fields that an address and a query have where they differ from these: the name there, and where it is here. */
const rarer = {
  /** The last day; "" for today. */
  to: ["to", "", "dateRange", "date_to"],
  /** A formula that is shown instead of a trend's events, such as `A / B`. */
  formula: ["formula", "", "trendsFilter", "formula"],
  /** PostHog's name of the drawing of a trend. */
  display: ["display", "ActionsLineGraph", "trendsFilter", "display"],
  /** How many values of the breakdown are shown separately; the others are one line. */
  values: ["values", 6],
  compare: ["compare", false, "compareFilter", "compare"],
  /** How far back the time lies that it is compared with; "" for directly before. */
  compareTo: ["compare_to", "", "compareFilter", "compare_to"],
  /** PostHog's name of a funnel's view, how long a person may take, and PostHog's name of the order of its steps. */
  view: ["view", "steps", "funnelsFilter", "funnelVizType"],
  window: ["window", "14 day"],
  order: ["order", "ordered", "funnelsFilter", "funnelOrderType"],
  /** How many intervals of retention are shown, and whether only a person's first time counts. */
  columns: ["columns", 8, "retentionFilter", "totalIntervals"],
  first: ["first", false],
  /** PostHog's name of the kind of steps of paths, their begin and end ("" for anywhere), and their length. */
  pathType: ["path", "$pageview"],
  start: ["start", "", "pathsFilter", "startPoint"],
  end: ["end", "", "pathsFilter", "endPoint"],
  steps: ["steps", 5, "pathsFilter", "stepLimit"],
} satisfies Record<string, Rarer>;
type Widened<Value> = Value extends boolean ? boolean : Value;
type RarerFields = { [Name in keyof typeof rarer]: Widened<(typeof rarer)[Name][1]> };
const rarerNames = Object.keys(rarer) as (keyof typeof rarer)[];

/** An address without parameters shows this. */
export const plainQuery = readAddress(new URLSearchParams());

function readRarer(query: URLSearchParams) {
  const read = ([name, otherwise]: (typeof rarer)[keyof typeof rarer]) => {
    const text = query.get(name);
    const number = Number(text ?? otherwise);
    if (typeof otherwise === "number") return Number.isInteger(number) && number > 0 ? number : otherwise;
    return typeof otherwise === "boolean" ? text === "true" : (text ?? otherwise);
  };
  const fields = rarerNames.map((field) => [field, read(rarer[field])]);
  return Object.fromEntries(fields) as Pick<InsightQuery, keyof typeof rarer>;
}

function readOwner(text: string | null): Owner {
  const index = readGroupIndex(text ?? "");
  return toOwner(index === undefined ? (text ?? "event") : "group", index) ?? "event";
}

/** The parameters of a page's address that show the query. */
export function toAddress(query: InsightQuery): string {
  const { kind, interval, range, breakdown, series, conditions } = query;
  const params = new URLSearchParams({ kind, interval, range, breakdown });
  for (const [i, { event, math, property, conditions: filters }] of series.entries()) {
    params.append("event", event);
    params.append("math", math);
    params.append("property", property);
    for (const item of filters) params.append(`where${i}`, conditionAddress(item));
  }
  if (query.breakdownType !== "event") params.set("of", query.breakdownType);
  if (query.withoutTests) params.set("tests", "false");
  for (const item of conditions) params.append("where", conditionAddress(item));
  for (const field of rarerNames) {
    const [name, otherwise] = rarer[field];
    if (query[field] !== otherwise) params.set(name, String(query[field]));
  }
  return params.toString();
}

/** The fields of the query that have a path below this one of the API, where they are not as usual. */
function toFilter(query: InsightQuery, name: string): Record<string, unknown> {
  const changed = rarerNames.flatMap((field) => {
    const [, otherwise, filter, key = ""] = rarer[field] as Rarer;
    return filter === name && query[field] !== otherwise ? [[key, query[field]] as const] : [];
  });
  return Object.fromEntries(changed);
}

/** Reads these fields of a query as it was saved. */
export function readFilters(query: Fields) {
  const fields = rarerNames.map((field) => {
    const [, otherwise, filter = "", key = ""] = rarer[field] as Rarer;
    const value = toFields(query[filter])[key];
    if (typeof otherwise === "number") return [field, toNumber(value) ?? otherwise];
    return [field, typeof otherwise === "boolean" ? value === true : toText(value) || otherwise];
  });
  return Object.fromEntries(fields) as RarerFields;
}

export function toQueryBody(query: InsightQuery): { kind: string } & Record<string, unknown> {
  const { series, interval, range, to, compare, window, pathType } = query;
  const kind = kinds[query.kind].api;
  const dateRange = { date_from: range, ...toFilter(query, "dateRange") };
  const filtered = {
    ...toGroups(query.conditions),
    ...(query.withoutTests && { filterTestAccounts: true }),
  };
  const breakdownFilter = toBreakdownFilter(query);
  switch (query.kind) {
    case "funnel": {
      const [funnelWindowInterval, funnelWindowIntervalUnit] = window.split(" ");
      return {
        kind,
        series: series.map(toPlainNode),
        dateRange,
        ...(query.view === "trends" && { interval }),
        ...filtered,
        breakdownFilter,
        funnelsFilter: {
          funnelWindowInterval: Number(funnelWindowInterval),
          funnelWindowIntervalUnit,
          ...toFilter(query, "funnelsFilter"),
        },
      };
    }
    case "retention": {
      const until = to !== "" && { dateRange: { date_to: to } };
      return { kind, retentionFilter: toRetentionFilter(query), ...until, ...filtered };
    }
    case "paths": {
      const pathsFilter = { includeEventTypes: [pathType], ...toFilter(query, "pathsFilter") };
      return { kind, dateRange, ...filtered, pathsFilter };
    }
    case "lifecycle":
      return { kind, series: series.slice(0, 1).map(toPlainNode), interval, dateRange, ...filtered };
    case "stickiness":
      return { kind, series: series.map(toPlainNode), interval, dateRange, ...filtered };
    default: {
      const trendsFilter = toFilter(query, "trendsFilter");
      return {
        kind,
        series: series.map(toNode),
        interval,
        dateRange,
        ...filtered,
        breakdownFilter,
        compareFilter: compare ? toFilter(query, "compareFilter") : null,
        ...(Object.keys(trendsFilter).length > 0 && { trendsFilter }),
      };
    }
  }
}

function toBreakdownFilter({ breakdown, breakdownType, values }: InsightQuery) {
  if (!breakdown) return null;
  const index = readGroupIndex(breakdownType);
  return {
    breakdown,
    breakdown_type: index === undefined ? breakdownType : "group",
    ...(index !== undefined && { breakdown_group_type_index: index }),
    breakdown_limit: values,
  };
}

function toOwnProperties(conditions: readonly Condition[]) {
  const properties = toProperties(conditions);
  return properties.length > 0 ? { properties } : {};
}

/** A list, or where some are joined by "or", PostHog's group of groups. */
function toGroups(conditions: readonly Condition[]) {
  const properties = toProperties(conditions);
  if (!properties.some(isGroup)) return toOwnProperties(conditions);
  const [only] = properties;
  const isWhole = properties.length === 1 && isGroup(only!) && only.values.some(isGroup);
  const { type, values } = isWhole ? only : { type: "AND", values: properties };
  const groups = values.map((value) => (isGroup(value) ? value : { type: "AND", values: [value] }));
  return { properties: { type, values: groups } };
}

/** An event and its filters: persons are counted. */
function toPlainNode({ event, conditions }: Series) {
  return { kind: "EventsNode", event: event || null, ...toOwnProperties(conditions) };
}

function toNode({ event, math: chosen, property, conditions }: Series) {
  const [math, groupType] = chosen.split(":");
  return {
    kind: "EventsNode",
    event: event || null,
    math,
    ...(needsProperty(chosen) && { math_property: property }),
    ...(groupType !== undefined && { math_group_type_index: Number(groupType) }),
    ...toOwnProperties(conditions),
  };
}

function toRetentionFilter(query: InsightQuery) {
  const { series, interval, first } = query;
  const [target = anyEvent, returning = target] = series;
  const toEntity = ({ event, conditions }: Series) => ({
    id: event || null,
    type: "events",
    ...toOwnProperties(conditions),
  });
  return {
    retentionType: first ? "retention_first_time" : "retention_recurring",
    period: periods[interval] ?? "Day",
    ...toFilter(query, "retentionFilter"),
    targetEntity: toEntity(target),
    returningEntity: toEntity(returning),
  };
}
