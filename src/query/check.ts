// Checks a query from a client: its fields, their combinations, and what is not supported, which is refused by name.

import { Fault } from "../core/fault.ts";
import { checkFields } from "../http/fields/field_check.ts";
import { checkPropertyFilters, type PropertyFilter } from "../storage/events/property_filter.ts";
import { columnsOf, isNewestFirst } from "./events/columns.ts";
import { queryLimits } from "./limits.ts";
import {
  type EventsNode,
  type EventsQuery,
  eventsModel,
  type FunnelsQuery,
  funnelsModel,
  type Interval,
  type Math,
  type RetentionQuery,
  retentionModel,
  totalDisplays,
  type TrendsQuery,
  trendsModel,
  wrapperModels,
} from "./model.ts";

/** The events of a name, or of any name, with certain properties. */
export interface Entity {
  /** undefined: any. */
  event: string | undefined;
  name: string;
  custom_name: string | null;
  filters: PropertyFilter[];
}

export interface Series extends Entity {
  node: EventsNode;
  math: Math;
}

/** Of each: `attr`, the name of the query in a fault, and `filters`, which apply to every event of the query. */
export type CheckedTrends = ReturnType<typeof checkTrends>;
export type CheckedFunnels = ReturnType<typeof checkFunnels>;
export type CheckedRetention = ReturnType<typeof checkRetention>;
export type CheckedEvents = ReturnType<typeof checkEvents>;
export type CheckedQuery = CheckedTrends | CheckedFunnels | CheckedRetention | CheckedEvents;

const totals: ReadonlySet<string> = new Set(totalDisplays);

/** Whether a display shows one number for each line, and not one for each interval. */
export function isTotal(display: string | null | undefined): boolean {
  return totals.has(display ?? "");
}

type Fields = Record<string, unknown>;

const checks = new Map<unknown, (value: Fields, attr: string) => CheckedQuery>([
  ["TrendsQuery", (value, attr) => checkTrends(fieldsOf(trendsModel, value, attr), attr)],
  ["FunnelsQuery", (value, attr) => checkFunnels(fieldsOf(funnelsModel, value, attr), attr)],
  ["RetentionQuery", (value, attr) => checkRetention(fieldsOf(retentionModel, value, attr), attr)],
  ["EventsQuery", (value, attr) => checkEvents(fieldsOf(eventsModel, value, attr), attr)],
]);
const wrappers = new Map<unknown, (typeof wrapperModels)[keyof typeof wrapperModels]>(
  Object.entries(wrapperModels),
);
/** What carries SQL: HogQL in itself, and the one around it for charts. */
const sqlKinds = new Set<unknown>(["HogQLQuery", "DataVisualizationNode"]);

/**
 * @param attr the name of the query in a fault; its fields are named below it.
 * @throws Fault for the first thing that is wrong or not supported.
 */
export function checkQuery(value: unknown, attr = "query"): CheckedQuery {
  if (!isDictionary(value)) {
    const detail = "Expected a query: an object with a kind.";
    throw new Fault(value === null || value === undefined ? "required" : "not_a_dict", detail, { attr });
  }
  const { kind } = value;
  const wrapper = attr.endsWith("__source") ? undefined : wrappers.get(kind);
  if (wrapper) {
    const { source, ...shown } = value;
    // The source is checked as a query, not by the wrapper's schema.
    fieldsOf({ ...wrapper, required: ["kind"] }, shown, attr);
    return checkQuery(source, `${attr}__source`);
  }
  const check = checks.get(kind);
  if (check) return check(value, attr);
  if (kind === undefined) {
    throw new Fault("required", "This field is required.", { attr: `${attr}__kind` });
  }
  return refuseKind(kind, `${attr}__kind`);
}

/**
 * The code is not one of a validation error: clients show of those only the code, and of others the sentence.
 * @throws Fault not_supported always.
 */
function refuseKind(kind: unknown, attr: string): never {
  const text = (typeof kind === "string" ? kind : JSON.stringify(kind)).slice(0, 100);
  const answered = `${[...checks.keys()].join(", ")}, and ${[...wrappers.keys()].join(" and ")} around them`;
  const sql = sqlKinds.has(kind)
    ? " For SQL, export events and persons as Parquet by a batch export, or read the views of a ClickHouse of your own."
    : "";
  const detail = `"${text}" is not answered by this server. Kinds of queries that are: ${answered}.${sql}`;
  throw new Fault("not_supported", detail, { attr });
}

/** checkFields, with the field of a fault named below `attr`. */
function fieldsOf<Schema extends Parameters<typeof checkFields>[0]>(
  schema: Schema,
  value: Fields,
  attr: string,
) {
  try {
    return checkFields(schema, value);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    const below = thrown.attr === null ? attr : `${attr}__${thrown.attr}`;
    throw new Fault(thrown.code, thrown.detail, { attr: below });
  }
}

function checkTrends(query: TrendsQuery, attr: string) {
  const series = query.series.map((node, i) => seriesOf(node, `${attr}__series__${i}`));
  for (const [i, { node }] of series.entries()) refuseMath(query, node, `${attr}__series__${i}__math`, attr);
  const interval = (query.interval ?? "day") as Interval;
  const filters = filtersOf(query, attr);
  const breakdown = breakdownOf(query, attr);
  return { kind: "TrendsQuery" as const, attr, query, interval, series, filters, breakdown };
}

const mathsOfProperty = new Set(["sum", "avg", "min", "max", "median", "p75", "p90", "p95", "p99"]);

function refuseMath(query: TrendsQuery, node: EventsNode, at: string, attr: string): void {
  const { math, math_property, math_group_type_index } = node;
  if (math && mathsOfProperty.has(math) && !math_property) {
    throw new Fault("required", `The math "${math}" needs a property.`, { attr: `${at}_property` });
  }
  if (math === "unique_group" && typeof math_group_type_index !== "number") {
    const detail = `The math "${math}" needs a group type.`;
    throw new Fault("required", detail, { attr: `${at}_group_type_index` });
  }
  const display = query.trendsFilter?.display;
  const sliding = math === "weekly_active" || math === "monthly_active";
  if (sliding && ((query.interval ?? "day") !== "day" || isTotal(display))) {
    throw new Fault("invalid_input", `"${math}" is only supported for a line by day.`, { attr: at });
  }
  if (sliding && query.breakdownFilter && breakdownOf(query, attr)) {
    throw new Fault("invalid_input", `"${math}" is not supported with a breakdown.`, { attr: at });
  }
  if (display === "ActionsLineGraphCumulative" && (math ?? "total") !== "total" && math !== "sum") {
    throw new Fault("invalid_input", `"${math}" cannot be added up over time.`, { attr: at });
  }
}

function breakdownOf({ breakdownFilter: filter }: TrendsQuery, attr: string) {
  if (!filter) return undefined;
  const at = `${attr}__breakdownFilter`;
  const named = isGiven(filter.breakdowns) ? filter.breakdowns : filter.breakdown;
  const list: unknown[] = Array.isArray(named) ? named : isGiven(named) ? [named] : [];
  if (list.length === 0) return undefined;
  const field = isGiven(filter.breakdowns) ? `${at}__breakdowns` : `${at}__breakdown`;
  if (list.length > 1) throw unsupported("A breakdown by several properties", field);
  const [one] = list;
  const property = isDictionary(one) ? one["property"] : one;
  if (isDictionary(one) && (one["type"] ?? "event") !== "event") {
    throw unsupported("A breakdown by anything but an event's property", `${field}__0__type`);
  }
  if (typeof property !== "string" || property.includes("\0")) {
    throw new Fault("invalid_input", "Not a valid property name.", { attr: field });
  }
  return {
    property,
    limit: filter.breakdown_limit ?? queryLimits.breakdownValuesDefault,
    other: filter.breakdown_hide_other_aggregation !== true,
  };
}

function checkFunnels(query: FunnelsQuery, attr: string) {
  refuseBreakdown(query, attr);
  const series = query.series.map((node, i) => seriesOf(node, `${attr}__series__${i}`));
  for (const [i, { math }] of series.entries()) {
    if (math !== "total") throw unsupported("Math on a funnel's step", `${attr}__series__${i}__math`);
  }
  return { kind: "FunnelsQuery" as const, attr, query, series, filters: filtersOf(query, attr) };
}

function checkRetention(query: RetentionQuery, attr: string) {
  refuseBreakdown(query, attr);
  const { retentionFilter: filter } = query;
  const at = `${attr}__retentionFilter`;
  const target = entityOf(filter.targetEntity, `${at}__targetEntity`);
  const returning = entityOf(filter.returningEntity, `${at}__returningEntity`);
  const filters = filtersOf(query, attr);
  return { kind: "RetentionQuery" as const, attr, query, target, returning, filters };
}

function checkEvents(query: EventsQuery, attr: string) {
  const filters = filtersOf(query, attr);
  const newestFirst = isNewestFirst(query.orderBy, attr);
  const columns = columnsOf(query.select, attr);
  return { kind: "EventsQuery" as const, attr, query, filters, columns, newestFirst };
}

function seriesOf(node: EventsNode, attr: string): Series {
  const event = node.event ?? undefined;
  const custom_name = node.custom_name ?? null;
  const filters = filtersOf(node, attr);
  const math = (node.math ?? "total") as Math;
  return { node, math, event, name: event ?? "All events", custom_name, filters };
}

/** An entity of retention; page views when the query names none. */
function entityOf(entity: RetentionQuery["retentionFilter"]["targetEntity"], attr: string): Entity {
  const event = entity ? (entity.id ?? undefined) : "$pageview";
  return { event, name: event ?? "All events", custom_name: null, filters: filtersOf(entity ?? {}, attr) };
}

function filtersOf(
  { properties, fixedProperties }: { properties?: unknown; fixedProperties?: unknown },
  attr: string,
): PropertyFilter[] {
  return [
    ...checkPropertyFilters(properties, `${attr}__properties`),
    ...checkPropertyFilters(fixedProperties, `${attr}__fixedProperties`),
  ];
}

function refuseBreakdown({ breakdownFilter: filter }: FunnelsQuery | RetentionQuery, attr: string): void {
  for (const name of ["breakdown", "breakdowns"] as const) {
    if (!isGiven(filter?.[name])) continue;
    throw unsupported("A breakdown of this query", `${attr}__breakdownFilter__${name}`);
  }
}

function unsupported(what: string, attr: string): Fault {
  return new Fault("invalid_input", `${what} is not supported.`, { attr });
}

function isGiven(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === "") return false;
  return !(Array.isArray(value) && value.length === 0);
}

function isDictionary(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
