// Turns a saved query back into the form's, if the form can show all of it.

import { type Condition, conditionsOf, ownerOf, propertiesOf } from "../filters/conditions.ts";
import { type Fields, fieldsOf, isFields, listOf, numberOf, sourceOf, textOf } from "../values.ts";
import { kindNames, kinds, periods, seriesMax } from "./choices.ts";
import { anyEvent, type InsightQuery, plainQuery, queryBodyOf, type Series } from "./query.ts";

/**
 * The form's query of a saved one; undefined when it has parts that the form does not show, such as smoothing: saving
 * would lose them.
 */
export function formQueryOf(saved: unknown): InsightQuery | undefined {
  const query = normalized(withoutDrawing(sourceOf(saved)));
  const formQuery = readFormQuery(query);
  return formQuery && isEquivalent(queryBodyOf(formQuery), query) ? formQuery : undefined;
}

/** The query to be saved instead of `saved`: fields that only decide how it is drawn stay. */
export function savedWith(saved: unknown, formQuery: InsightQuery): object {
  const [next, before] = [queryBodyOf(formQuery), sourceOf(saved)];
  const source = next.kind === before["kind"] ? withDrawing(next, before) : next;
  const outer = fieldsOf(saved);
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
    const inner = withDrawing(fieldsOf(next[name]), value);
    return Object.keys(inner).length > 0 ? [[name, inner]] : [];
  });
  return { ...next, ...Object.fromEntries(drawn) };
}

/** The plainest of the equivalent forms of filters, one breakdown, and one formula. */
function normalized(saved: Fields): Fields {
  return withChanged(withNormalizedFilters(saved), {
    series: (nodes) => listOf(nodes).map(withNormalizedFilters),
    breakdownFilter: normalizedBreakdown,
    trendsFilter: normalizedFormula,
    retentionFilter: (retention) =>
      withChanged(fieldsOf(retention), {
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
  const { formulas, formulaNodes, ...trends } = fieldsOf(filter);
  const nodes = listOf(formulaNodes).map(fieldsOf);
  const [only, ...others] = [...nodes.map(({ formula }) => formula), ...listOf(formulas)];
  const isNamed = nodes.some(({ custom_name }) => textOf(custom_name) !== "");
  const isOne = only !== undefined && others.length === 0 && !isNamed && !trends["formula"];
  return isOne ? { ...trends, formula: only } : filter;
}

function normalizedBreakdown(saved: unknown): Fields {
  const { breakdowns, ...filter } = fieldsOf(saved);
  const [only, ...others] = listOf(breakdowns).map(fieldsOf);
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
  const fields = fieldsOf(node);
  const conditions = conditionsOf(fields["properties"]);
  return conditions ? { ...fields, properties: propertiesOf(conditions) } : fields;
}

function readFormQuery(query: Fields): InsightQuery | undefined {
  const kind = kindNames.find((name) => kinds[name].api === query["kind"]);
  const of = (name: string) => fieldsOf(query[name]);
  const filter = of("breakdownFilter");
  const breakdownType = ownerOf(filter["breakdown_type"] ?? undefined, filter["breakdown_group_type_index"]);
  if (!kind || !breakdownType) return undefined;
  const [trends, funnel] = [of("trendsFilter"), of("funnelsFilter")];
  const [paths, range] = [of("pathsFilter"), of("dateRange")];
  const breakdown = textOf(filter["breakdown"]);
  const retention = of("retentionFilter");
  const period = Object.keys(periods).find((name) => periods[name] === retention["period"]);
  const nodes = listOf(query["series"]).map(fieldsOf).slice(0, seriesMax);
  // Without an entity the API takes page views; an entity with `id: null` is any event.
  const entities = [retention["targetEntity"], retention["returningEntity"]].map((entity) =>
    fieldsOf(entity ?? { id: "$pageview" }),
  );
  return {
    kind,
    series:
      kind === "retention"
        ? entities.map((one) => ({ ...anyEvent, event: textOf(one["id"]), conditions: conditionsIn(one) }))
        : nodes.length > 0
          ? nodes.map(seriesOf)
          : [anyEvent],
    interval: period ?? (textOf(query["interval"]) || "day"),
    range: textOf(range["date_from"]) || "-7d",
    to: textOf(range["date_to"]),
    breakdown,
    breakdownType,
    conditions: conditionsIn(query),
    withoutTests: query["filterTestAccounts"] === true,
    formula: textOf(trends["formula"]),
    display: textOf(trends["display"]) || plainQuery.display,
    values: numberOf(filter["breakdown_limit"]) ?? (breakdown ? valuesOfApi : plainQuery.values),
    compare: of("compareFilter")["compare"] === true,
    compareTo: textOf(of("compareFilter")["compare_to"]),
    view: textOf(funnel["funnelVizType"]) || plainQuery.view,
    window: `${String(funnel["funnelWindowInterval"] ?? 14)} ${textOf(funnel["funnelWindowIntervalUnit"]) || "day"}`,
    order: textOf(funnel["funnelOrderType"]) || plainQuery.order,
    columns: numberOf(retention["totalIntervals"]) ?? plainQuery.columns,
    first: retention["retentionType"] === "retention_first_time",
    pathType: textOf(listOf(paths["includeEventTypes"])[0]) || plainQuery.pathType,
    start: textOf(paths["startPoint"]),
    end: textOf(paths["endPoint"]),
    steps: numberOf(paths["stepLimit"]) ?? plainQuery.steps,
  };
}

function seriesOf(node: Fields): Series {
  const { math, math_group_type_index: groupType } = node;
  const name = textOf(math) || "total";
  return {
    event: textOf(node["event"]),
    math: typeof groupType === "number" ? `${name}:${groupType}` : name,
    property: textOf(node["math_property"]),
    conditions: conditionsIn(node),
  };
}

/** None for filters that a form cannot show: the whole query then differs, and is not shown in the form. */
const conditionsIn = (fields: Fields): Condition[] => conditionsOf(fields["properties"]) ?? [];

/** Whether both queries mean the same. Empty fields and the API's defaults are left out. */
function isEquivalent(one: unknown, other: unknown): boolean {
  return JSON.stringify(withoutDefaults(one)) === JSON.stringify(withoutDefaults(other));
}

function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.length > 0 ? value.map((one) => withoutDefaults(one) ?? {}) : undefined;
  }
  if (typeof value !== "object") return value === false || value === "" ? undefined : value;
  const fields = fieldsOf(value);
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
