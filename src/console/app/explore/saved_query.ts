// Turns a saved query back into the form's, if the form can show all of it.

import {
  type Condition,
  conditionsMax,
  readConditions,
  toOwner,
  toProperties,
} from "../filters/conditions.ts";
import { type Fields, isFields, toFields, toList, toNumber, toText, unwrapQuery } from "../values.ts";
import { kindNames, kinds, periods, seriesMax } from "./choices.ts";
import { anyEvent, type InsightQuery, plainQuery, readFilters, type Series, toQueryBody } from "./query.ts";

/**
 * The form's query of a saved one; undefined when it has parts that the form does not show, such as smoothing: saving
 * would lose them.
 */
export function toFormQuery(saved: unknown): InsightQuery | undefined {
  const query = normalized(withoutDrawing(unwrapQuery(saved)));
  if (beginsElsewhere(query)) return undefined;
  const formQuery = readFormQuery(query);
  const toMeaning = (item: unknown) => JSON.stringify(withoutDefaults(item));
  if (!formQuery || toMeaning(normalized(toFields(toQueryBody(formQuery)))) !== toMeaning(query))
    return undefined;
  return formQuery;
}

/** Whether rows of retention begin at a date that the form does not show: those of the last eight days begin there. */
function beginsElsewhere({ kind, dateRange, retentionFilter }: Fields): boolean {
  const { date_from, date_to } = toFields(dateRange);
  const { period, totalIntervals } = toFields(retentionFilter);
  if (kind !== "RetentionQuery" || date_from !== defaults["date_from"]) return false;
  return Boolean(date_to) || (period ?? "Day") !== "Day" || (totalIntervals ?? 8) !== 8;
}

/** The query to be saved instead of `saved`: fields that only decide how it is drawn stay. */
export function savedWith(saved: unknown, formQuery: InsightQuery): object {
  const [next, before] = [toQueryBody(formQuery), unwrapQuery(saved)];
  const source = next.kind === before["kind"] ? withDrawing(next, before) : next;
  const outer = toFields(saved);
  return "source" in outer ? { ...outer, source } : { kind: "InsightVizNode", source };
}

/** Fields of queries and their filters that change no result. */
const drawingFields = new Set(
  (
    "aggregationAxisFormat aggregationAxisPostfix aggregationAxisPrefix confidenceLevel dashboardDisplay " +
    "dataColorTheme decimalPlaces detailedResultsAggregationType goalLines hiddenLegendBreakdowns " +
    "hiddenLegendIndexes layout legendPosition meanRetentionCalculation minDecimalPlaces movingAverageIntervals " +
    "resultCustomizationBy resultCustomizations retentionReference showAlertThresholdLines showAnnotations " +
    "showConfidenceIntervals showLabelsOnSeries showLegend showMean showMovingAverage showMultipleYAxes " +
    "showPercentStackView showTrendLines showValuesOnSeries stackBreakdownValues tags version xAxisLabel " +
    "yAxisLabel yAxisScaleType"
  ).split(" "),
);

function withoutDrawing(query: Fields): Fields {
  const queryFields = Object.entries(query).filter(([name]) => !drawingFields.has(name));
  return Object.fromEntries(
    queryFields.map(([name, value]) => [name, isFields(value) ? withoutDrawing(value) : value]),
  );
}

function withDrawing(next: Fields, before: Fields): Fields {
  const drawn = Object.entries(before).flatMap(([name, value]): [string, unknown][] => {
    if (drawingFields.has(name)) return [[name, value]];
    if (!isFields(value)) return [];
    const inner = withDrawing(toFields(next[name]), value);
    return Object.keys(inner).length > 0 ? [[name, inner]] : [];
  });
  return { ...next, ...Object.fromEntries(drawn) };
}

/** The plainest of the equivalent forms of filters, one breakdown, and one formula. */
function normalized(saved: Fields): Fields {
  return withChanged(withNormalizedFilters(saved), {
    series: (nodes) => toList(nodes).map(withNormalizedFilters),
    breakdownFilter: normalizedBreakdown,
    trendsFilter: normalizedFormula,
    retentionFilter: (retention) =>
      withChanged(toFields(retention), {
        targetEntity: withNormalizedFilters,
        returningEntity: withNormalizedFilters,
      }),
  });
}

function withChanged(fields: Fields, changes: Readonly<Record<string, (value: unknown) => unknown>>): Fields {
  const found = Object.entries(changes).filter(([name]) => fields[name]);
  return { ...fields, ...Object.fromEntries(found.map(([name, change]) => [name, change(fields[name])])) };
}

function normalizedFormula(filter: unknown): unknown {
  const { formulas, formulaNodes, ...trends } = toFields(filter);
  const nodes = toList(formulaNodes).map(toFields);
  const [only, ...others] = [...nodes.map(({ formula }) => formula), ...toList(formulas)];
  const isNamed = nodes.some(({ custom_name }) => toText(custom_name) !== "");
  const isOne = only !== undefined && others.length === 0 && !isNamed && !trends["formula"];
  return isOne ? { ...trends, formula: only } : filter;
}

function normalizedBreakdown(saved: unknown): Fields {
  const { breakdowns, ...filter } = toFields(saved);
  const [only, ...others] = toList(breakdowns).map(toFields);
  if (only === undefined) return filter;
  const { property, type, group_type_index, ...more } = only;
  const isOne = others.length === 0 && Object.keys(more).length === 0 && !filter["breakdown"];
  if (!isOne || typeof property !== "string") return { breakdowns, ...filter };
  return {
    ...filter,
    breakdown: property,
    breakdown_type: type ?? "event",
    breakdown_group_type_index: group_type_index ?? undefined,
  };
}

function withNormalizedFilters(node: unknown): Fields {
  const fields = toFields(node);
  const conditions = readConditions(fields["properties"]);
  return conditions ? { ...fields, properties: toProperties(conditions) } : fields;
}

function readFormQuery(query: Fields): InsightQuery | undefined {
  const kind = kindNames.find((name) => kinds[name].api === query["kind"]);
  const fieldsIn = (name: string) => toFields(query[name]);
  const filter = fieldsIn("breakdownFilter");
  const breakdownType = toOwner(filter["breakdown_type"] ?? undefined, filter["breakdown_group_type_index"]);
  if (!kind || !breakdownType) return undefined;
  const { funnelWindowInterval: interval, funnelWindowIntervalUnit: unit } = fieldsIn("funnelsFilter");
  const breakdown = toText(filter["breakdown"]);
  const { period: unitName, targetEntity, returningEntity, retentionType } = fieldsIn("retentionFilter");
  const period = Object.keys(periods).find((name) => periods[name] === unitName);
  const nodes = toList(query["series"]).map(toFields).slice(0, seriesMax);
  // Without an entity the API takes page views; an entity with `id: null` is any event.
  const entities = [targetEntity, returningEntity].map((entity) => toFields(entity ?? { id: "$pageview" }));
  return {
    kind,
    series:
      kind === "retention"
        ? entities.map((item) => ({ ...anyEvent, event: toText(item["id"]), conditions: conditionsIn(item) }))
        : nodes.length > 0
          ? nodes.map(toSeries)
          : [anyEvent],
    interval: period ?? (toText(query["interval"]) || "day"),
    range: toText(fieldsIn("dateRange")["date_from"]) || "-7d",
    breakdown,
    breakdownType,
    conditions: conditionsIn(query),
    withoutTests: query["filterTestAccounts"] === true,
    ...readFilters(query),
    values: toNumber(filter["breakdown_limit"]) ?? (breakdown ? valuesOfApi : plainQuery.values),
    window: `${String(interval ?? 14)} ${toText(unit) || "day"}`,
    first: retentionType === "retention_first_time",
    pathType: toText(toList(fieldsIn("pathsFilter")["includeEventTypes"])[0]) || plainQuery.pathType,
  };
}

function toSeries(node: Fields): Series {
  const { math, math_group_type_index: groupType } = node;
  const name = toText(math) || "total";
  return {
    event: toText(node["event"]),
    math: typeof groupType === "number" ? `${name}:${groupType}` : name,
    property: toText(node["math_property"]),
    conditions: conditionsIn(node),
  };
}

/** None for filters that a form cannot show: the whole query then differs, and is not shown in the form. */
function conditionsIn(fields: Fields): Condition[] {
  const conditions = readConditions(fields["properties"]) ?? [];
  return conditions.length <= conditionsMax ? conditions : [];
}

/** The meaning of a query: empty fields and the API's defaults are left out. */
function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.length > 0 ? value.map((item) => withoutDefaults(item) ?? {}) : undefined;
  }
  if (typeof value !== "object") return value === false || value === "" ? undefined : value;
  const fields = toFields(value);
  const set = Object.keys(fields)
    .toSorted()
    .filter((name) => !isDefault(name, fields))
    .map((name) => [name, withoutDefaults(fields[name])] as const)
    .filter(([, meaning]) => meaning !== undefined);
  return set.length > 0 ? Object.fromEntries(set) : undefined;
}

/** The API's own limit of breakdown values. */
const valuesOfApi = 25;

/** The defaults of fields: the value means the same as no field. */
const defaults: Fields = {
  breakdown_limit: valuesOfApi,
  breakdown_type: "event",
  date_from: "-7d",
  display: "ActionsLineGraph",
  funnelOrderType: "ordered",
  funnelVizType: "steps",
  funnelWindowInterval: 14,
  funnelWindowIntervalUnit: "day",
  interval: "day",
  kind: "EventsNode",
  math: "total",
  period: "Day",
  retentionType: "retention_recurring",
  samplingFactor: 1,
  stepLimit: 5,
  smoothingIntervals: 1,
  totalIntervals: 8,
  type: "events",
};

function isDefault(name: string, fields: Fields): boolean {
  // PostHog's app saves the event again as its name.
  if (name === "name") return fields["name"] === (fields["event"] ?? fields["id"]);
  return Object.hasOwn(defaults, name) && defaults[name] === fields[name];
}
