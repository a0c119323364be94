// Turns a saved query back into a question, if the form can show all of it.

import { type Condition, conditionsOf, ownerOf, propertiesOf } from "../filters/conditions.ts";
import {
  columnsDefault,
  lineDisplay,
  orderDefault,
  pathTypeDefault,
  periods,
  seriesMax,
  stepsDefault,
  valuesDefault,
  viewDefault,
} from "./choices.ts";
import { sourceOf } from "./drawing.ts";
import { anyEvent, type InsightQuery, type Kind, queryOf, type Series } from "./query.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * The question of a saved query; undefined when the query has parts that the form does not show, such as smoothing.
 * Saving would lose them.
 */
export function questionOfQuery(saved: unknown): InsightQuery | undefined {
  const query = plainly(withoutDrawing(fieldsOf(sourceOf(saved))));
  const question = readQuestion(query);
  return question && isSame(queryOf(question), query) ? question : undefined;
}

/** What is saved of a question in the place of a query: what said only how that is drawn stays as it was. */
export function savedWith(saved: unknown, question: InsightQuery): object {
  const [next, before] = [queryOf(question), sourceOf(saved)];
  const source = next.kind === before["kind"] ? withDrawing(next, before) : next;
  const outer = fieldsOf(saved);
  return "source" in outer ? { ...outer, source } : { kind: "InsightVizNode", source };
}

/** Fields that change no result, of queries and of their filters. */
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
  const own = Object.entries(query).filter(([name]) => !drawingFields.has(name));
  return Object.fromEntries(
    own.map(([name, value]) => [name, isFields(value) ? withoutDrawing(value) : value]),
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

/** Filters, one breakdown, and one formula have several forms that mean the same: the plainest. */
function plainly(saved: Fields): Fields {
  const query = withPlainFilters(saved);
  const { formulas, formulaNodes, ...trends } = fieldsOf(query["trendsFilter"]);
  const [only, ...others] = [
    ...listOf(formulaNodes).map((node) => fieldsOf(node)["formula"]),
    ...listOf(formulas),
  ];
  const isNamed = listOf(formulaNodes).some((node) => textOf(fieldsOf(node)["custom_name"]) !== "");
  const isOne = only !== undefined && others.length === 0 && !isNamed && !trends["formula"];
  const retention = fieldsOf(query["retentionFilter"]);
  const entities = ["targetEntity", "returningEntity"].filter((name) => retention[name]);
  return {
    ...query,
    ...(query["series"] !== undefined && {
      series: listOf(query["series"]).map((node) => withPlainFilters(fieldsOf(node))),
    }),
    ...(query["breakdownFilter"] !== undefined && {
      breakdownFilter: plainBreakdown(fieldsOf(query["breakdownFilter"])),
    }),
    ...(isOne && { trendsFilter: { ...trends, formula: only } }),
    ...(entities.length > 0 && {
      retentionFilter: {
        ...retention,
        ...Object.fromEntries(entities.map((name) => [name, withPlainFilters(fieldsOf(retention[name]))])),
      },
    }),
  };
}

function plainBreakdown({ breakdowns, ...filter }: Fields): Fields {
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

function withPlainFilters(fields: Fields): Fields {
  const conditions = conditionsOf(fields["properties"]);
  return conditions ? { ...fields, properties: propertiesOf(conditions) } : fields;
}

const kinds: Readonly<Record<string, Kind>> = {
  TrendsQuery: "trend",
  FunnelsQuery: "funnel",
  RetentionQuery: "retention",
  LifecycleQuery: "lifecycle",
  StickinessQuery: "stickiness",
  PathsQuery: "paths",
};

function readQuestion(query: Fields): InsightQuery | undefined {
  const kind = kinds[textOf(query["kind"])];
  const breakdownType = ownerOf(
    fieldsOf(query["breakdownFilter"])["breakdown_type"] ?? undefined,
    fieldsOf(query["breakdownFilter"])["breakdown_group_type_index"],
  );
  if (!kind || !breakdownType) return undefined;
  const trends = fieldsOf(query["trendsFilter"]);
  const filter = fieldsOf(query["breakdownFilter"]);
  const [breakdown, limit] = [textOf(filter["breakdown"]), filter["breakdown_limit"]];
  const [retention, funnel] = [fieldsOf(query["retentionFilter"]), fieldsOf(query["funnelsFilter"])];
  const [columns, paths] = [retention["totalIntervals"], fieldsOf(query["pathsFilter"])];
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
        ? entities.map((entity) => ({
            ...anyEvent,
            event: textOf(entity["id"]),
            conditions: conditionsIn(entity),
          }))
        : nodes.length > 0
          ? nodes.map(seriesOf)
          : [anyEvent],
    interval: period ?? (textOf(query["interval"]) || "day"),
    range: textOf(fieldsOf(query["dateRange"])["date_from"]) || "-7d",
    to: textOf(fieldsOf(query["dateRange"])["date_to"]),
    breakdown,
    breakdownType,
    conditions: conditionsIn(query),
    withoutTests: query["filterTestAccounts"] === true,
    formula: textOf(trends["formula"]),
    display: textOf(trends["display"]) || lineDisplay,
    values: typeof limit === "number" ? limit : breakdown ? valuesOfApi : valuesDefault,
    compare: fieldsOf(query["compareFilter"])["compare"] === true,
    view: textOf(funnel["funnelVizType"]) || viewDefault,
    window: `${String(funnel["funnelWindowInterval"] ?? 14)} ${textOf(funnel["funnelWindowIntervalUnit"]) || "day"}`,
    order: textOf(funnel["funnelOrderType"]) || orderDefault,
    columns: typeof columns === "number" ? columns : columnsDefault,
    first: retention["retentionType"] === "retention_first_time",
    pathType: textOf(listOf(paths["includeEventTypes"])[0]) || pathTypeDefault,
    start: textOf(paths["startPoint"]),
    end: textOf(paths["endPoint"]),
    steps: typeof paths["stepLimit"] === "number" ? paths["stepLimit"] : stepsDefault,
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

/** Filters that say more than a form can are none here: the query is no question then. */
const conditionsIn = (fields: Fields): Condition[] => conditionsOf(fields["properties"]) ?? [];

/** Whether both queries mean the same. Empty fields and the API's defaults are left out. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(meaningOf(one)) === JSON.stringify(meaningOf(other));
}

function meaningOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.length > 0 ? value.map((one) => meaningOf(one) ?? {}) : undefined;
  }
  if (typeof value !== "object") return value === false || value === "" ? undefined : value;
  const fields = fieldsOf(value);
  const said = Object.keys(fields)
    .toSorted()
    .filter((name) => !isDefault(name, fields))
    .map((name) => [name, meaningOf(fields[name])] as const)
    .filter(([, meaning]) => meaning !== undefined);
  return said.length > 0 ? Object.fromEntries(said) : undefined;
}

/** The API's own limit of breakdown values. */
const valuesOfApi = 25;

/** Values of fields that mean the same as no field. */
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
  stepLimit: stepsDefault,
  smoothingIntervals: 1,
  totalIntervals: 8,
  type: "events",
};

function isDefault(name: string, fields: Fields): boolean {
  // PostHog's app saves the event again as its name.
  if (name === "name") return fields["name"] === (fields["event"] ?? fields["id"]);
  return Object.hasOwn(defaults, name) && defaults[name] === fields[name];
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
