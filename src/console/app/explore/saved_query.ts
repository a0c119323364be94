// Turns a saved query back into a question, if the form can show all of it.

import { type Condition, conditionsOf, propertiesOf } from "../filters/conditions.ts";
import {
  anyEvent,
  columnsDefault,
  type Kind,
  lineDisplay,
  orderDefault,
  periods,
  type Question,
  queryOf,
  type Series,
  seriesMax,
  valuesDefault,
} from "./query.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * The question of a saved query; undefined when the query has parts that the form does not show, such as a formula.
 * Saving would lose them.
 */
export function questionOfQuery(saved: unknown): Question | undefined {
  const outer = fieldsOf(saved);
  const query = "source" in outer ? fieldsOf(outer["source"]) : outer;
  const conditions = conditionsOf(query["properties"]);
  const question = conditions && readQuestion(query, conditions);
  if (!question) return undefined;
  // Filters have several forms that mean the same.
  const plain = { ...query, properties: propertiesOf(conditions) };
  return isSame(queryOf(question), plain) ? question : undefined;
}

const kinds: Readonly<Record<string, Kind>> = {
  TrendsQuery: "trend",
  FunnelsQuery: "funnel",
  RetentionQuery: "retention",
};

function readQuestion(query: Fields, conditions: Condition[]): Question | undefined {
  const kind = kinds[textOf(query["kind"])];
  if (!kind) return undefined;
  const filter = fieldsOf(query["breakdownFilter"]);
  const [breakdown, limit] = [textOf(filter["breakdown"]), filter["breakdown_limit"]];
  const [retention, funnel] = [fieldsOf(query["retentionFilter"]), fieldsOf(query["funnelsFilter"])];
  const columns = retention["totalIntervals"];
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
        ? entities.map(({ id }) => ({ ...anyEvent, event: textOf(id) }))
        : nodes.map(seriesOf),
    interval: period ?? (textOf(query["interval"]) || "day"),
    range: textOf(fieldsOf(query["dateRange"])["date_from"]) || "-7d",
    to: textOf(fieldsOf(query["dateRange"])["date_to"]),
    breakdown,
    breakdownType: filter["breakdown_type"] === "person" ? "person" : "event",
    conditions,
    display: textOf(fieldsOf(query["trendsFilter"])["display"]) || lineDisplay,
    values: typeof limit === "number" ? limit : breakdown ? valuesOfApi : valuesDefault,
    compare: fieldsOf(query["compareFilter"])["compare"] === true,
    window: `${String(funnel["funnelWindowInterval"] ?? 14)} ${textOf(funnel["funnelWindowIntervalUnit"]) || "day"}`,
    order: textOf(funnel["funnelOrderType"]) || orderDefault,
    columns: typeof columns === "number" ? columns : columnsDefault,
    first: retention["retentionType"] === "retention_first_time",
  };
}

function seriesOf(node: Fields): Series {
  const { math, math_group_type_index: groupType } = node;
  const name = textOf(math) || "total";
  return {
    event: textOf(node["event"]),
    math: typeof groupType === "number" ? `${name}:${groupType}` : name,
    property: textOf(node["math_property"]),
  };
}

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
  smoothingIntervals: 1,
  totalIntervals: 8,
  type: "events",
};

function isDefault(name: string, fields: Fields): boolean {
  // PostHog's app saves the event again as its name.
  if (name === "name") return fields["name"] === (fields["event"] ?? fields["id"]);
  return Object.hasOwn(defaults, name) && defaults[name] === fields[name];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
