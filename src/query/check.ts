// Checks a query from a client: its fields, their combinations, and what is not supported, which is refused by name.

import { Fault } from "../core/fault.ts";
import { checkFields } from "../http/fields/field_check.ts";
import { checkPropertyFilters } from "../storage/events/property_filter.ts";
import {
  type CheckedEvents,
  type CheckedFunnels,
  type CheckedQuery,
  type CheckedRetention,
  type CheckedTrends,
  type Entity,
  isTotal,
  type Series,
} from "./checked.ts";
import { columnsOf, isNewestFirst } from "./events/columns.ts";
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
  type TrendsQuery,
  trendsModel,
} from "./model.ts";

const kinds = ["TrendsQuery", "FunnelsQuery", "RetentionQuery", "EventsQuery"];
const wrappers = new Set<unknown>(["InsightVizNode", "DataTableNode"]);

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
  if (wrappers.has(kind) && !attr.endsWith("__source__source")) {
    return checkQuery(value["source"], `${attr}__source`);
  }
  switch (kind) {
    case "TrendsQuery":
      return checkTrends(fieldsOf(trendsModel, value, attr), attr);
    case "FunnelsQuery":
      return checkFunnels(fieldsOf(funnelsModel, value, attr), attr);
    case "RetentionQuery":
      return checkRetention(fieldsOf(retentionModel, value, attr), attr);
    case "EventsQuery":
      return checkEvents(fieldsOf(eventsModel, value, attr), attr);
    default: {
      if (kind === undefined) {
        throw new Fault("required", "This field is required.", { attr: `${attr}__kind` });
      }
      const text = (typeof kind === "string" ? kind : JSON.stringify(kind)).slice(0, 100);
      const detail = `"${text}" is not a valid choice. These are: ${kinds.join(", ")}.`;
      throw new Fault("invalid_choice", detail, { attr: `${attr}__kind` });
    }
  }
}

/** checkFields, with the field of a fault named below `attr`. */
function fieldsOf<Schema extends Parameters<typeof checkFields>[0]>(
  schema: Schema,
  value: Record<string, unknown>,
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

function checkTrends(query: TrendsQuery, attr: string): CheckedTrends {
  refuseSampling(query, attr);
  const { trendsFilter: filter, compareFilter } = query;
  const at = `${attr}__trendsFilter`;
  refuse(filter?.formula, `${at}__formula`, "A formula");
  refuse(filter?.formulas, `${at}__formulas`, "A formula");
  refuse(filter?.formulaNodes, `${at}__formulaNodes`, "A formula");
  if ((filter?.smoothingIntervals ?? 1) > 1) {
    refuse(true, `${at}__smoothingIntervals`, "Smoothing");
  }
  refuse(compareFilter?.compare_to, `${attr}__compareFilter__compare_to`, "Comparing with another period");
  const series = query.series.map((node, i) => seriesOf(node, `${attr}__series__${i}`));
  for (const [i, { node }] of series.entries()) refuseMath(query, node, `${attr}__series__${i}__math`, attr);
  return {
    kind: "TrendsQuery",
    attr,
    query,
    interval: (query.interval ?? "day") as Interval,
    series,
    filters: checkPropertyFilters(query.properties, `${attr}__properties`),
    breakdown: breakdownOf(query, attr),
  };
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

function breakdownOf(
  { breakdownFilter: filter }: TrendsQuery,
  attr: string,
): CheckedTrends["breakdown"] | undefined {
  if (!filter) return undefined;
  const at = `${attr}__breakdownFilter`;
  refuse(filter.breakdown_histogram_bin_count, `${at}__breakdown_histogram_bin_count`, "A histogram");
  const named = isGiven(filter.breakdowns) ? filter.breakdowns : filter.breakdown;
  const list: unknown[] = Array.isArray(named) ? named : isGiven(named) ? [named] : [];
  if (list.length === 0) return undefined;
  const field = isGiven(filter.breakdowns) ? `${at}__breakdowns` : `${at}__breakdown`;
  if (list.length > 1) refuse(true, field, "A breakdown by several properties");
  const [one] = list;
  const property = isDictionary(one) ? one["property"] : one;
  if (isDictionary(one) && (one["type"] ?? "event") !== "event") {
    refuse(true, `${field}__0__type`, "A breakdown by anything but an event's property");
  }
  if (typeof property !== "string" || property.includes("\0")) {
    throw new Fault("invalid_input", "Not a valid property name.", { attr: field });
  }
  return {
    property,
    limit: filter.breakdown_limit ?? undefined,
    other: filter.breakdown_hide_other_aggregation !== true,
  };
}

function checkFunnels(query: FunnelsQuery, attr: string): CheckedFunnels {
  refuseSampling(query, attr);
  refuseBreakdown(query, attr);
  const at = `${attr}__funnelsFilter`;
  refuse(query.funnelsFilter?.exclusions, `${at}__exclusions`, "An exclusion");
  refuse(query.funnelsFilter?.funnelAggregateByHogQL, `${at}__funnelAggregateByHogQL`, "Aggregating by SQL");
  const series = query.series.map((node, i) => seriesOf(node, `${attr}__series__${i}`));
  for (const [i, { node }] of series.entries()) {
    if ((node.math ?? "total") !== "total")
      refuse(true, `${attr}__series__${i}__math`, "Math on a funnel's step");
  }
  const filters = checkPropertyFilters(query.properties, `${attr}__properties`);
  return { kind: "FunnelsQuery", attr, query, series, filters };
}

function checkRetention(query: RetentionQuery, attr: string): CheckedRetention {
  refuseSampling(query, attr);
  refuseBreakdown(query, attr);
  const { retentionFilter: filter } = query;
  const at = `${attr}__retentionFilter`;
  refuse(filter.cumulative, `${at}__cumulative`, "Cumulative retention");
  return {
    kind: "RetentionQuery",
    attr,
    query,
    target: entityOf(filter.targetEntity, `${at}__targetEntity`),
    returning: entityOf(filter.returningEntity, `${at}__returningEntity`),
    filters: checkPropertyFilters(query.properties, `${attr}__properties`),
  };
}

function checkEvents(query: EventsQuery, attr: string): CheckedEvents {
  refuse(query.where, `${attr}__where`, "SQL");
  refuse(query.personId, `${attr}__personId`, "Filtering by person");
  refuse(query.actionId, `${attr}__actionId`, "An action");
  const filters = [
    ...checkPropertyFilters(query.properties, `${attr}__properties`),
    ...checkPropertyFilters(query.fixedProperties, `${attr}__fixedProperties`),
  ];
  const newestFirst = isNewestFirst(query.orderBy, attr);
  const columns = columnsOf(query.select, attr);
  return { kind: "EventsQuery", attr, query, filters, columns, newestFirst };
}

function seriesOf(node: EventsNode, attr: string): Series {
  const event = node.event ?? undefined;
  return {
    node,
    math: (node.math ?? "total") as Math,
    event,
    name: event ?? "All events",
    custom_name: node.custom_name ?? null,
    filters: [
      ...checkPropertyFilters(node.properties, `${attr}__properties`),
      ...checkPropertyFilters(node.fixedProperties, `${attr}__fixedProperties`),
    ],
  };
}

/** An entity of retention; page views when the query names none. */
function entityOf(entity: RetentionQuery["retentionFilter"]["targetEntity"], attr: string): Entity {
  const event = entity ? (entity.id ?? undefined) : "$pageview";
  const filters = checkPropertyFilters(entity?.properties, `${attr}__properties`);
  return { event, name: event ?? "All events", custom_name: null, filters };
}

function refuseSampling(query: TrendsQuery | FunnelsQuery | RetentionQuery, attr: string): void {
  if (query.samplingFactor !== 1) refuse(query.samplingFactor, `${attr}__samplingFactor`, "Sampling");
  const groups = `${attr}__aggregation_group_type_index`;
  refuse(query.aggregation_group_type_index ?? undefined, groups, "Counting groups");
}

function refuseBreakdown(query: FunnelsQuery | RetentionQuery, attr: string): void {
  const { breakdown, breakdowns } = query.breakdownFilter ?? {};
  refuse(
    isGiven(breakdown) ? breakdown : breakdowns,
    `${attr}__breakdownFilter`,
    "A breakdown of this query",
  );
}

/** @throws Fault when a field that is not supported has a value. */
function refuse(value: unknown, attr: string, what: string): void {
  if (isGiven(value)) throw new Fault("invalid_input", `${what} is not supported.`, { attr });
}

function isGiven(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === "") return false;
  return !(Array.isArray(value) && value.length === 0);
}

function isDictionary(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
