// Which figures of a query have persons behind them, and the query for these persons.

import type { FunnelStep, PathLink, TrendSeries } from "../explore/results.ts";

export type QueryFields = Readonly<Record<string, unknown>>;

/** Fields of an ActorsQuery. */
export interface PersonsQuery {
  source: { kind: "InsightActorsQuery" | "FunnelsActorsQuery" } & QueryFields;
  properties?: readonly object[];
}

/** Maths behind which there are no persons: averages, extremes, values, groups and expressions. */
const mathsWithout = new Set(
  "avg median min max p75 p90 p95 p99 unique unique_group hogql avg_count_per_actor".split(" "),
);
const lineKinds = new Set(["TrendsQuery", "LifecycleQuery", "StickinessQuery"]);

/** The query itself, without the nodes around it. */
export function innerQuery(query: unknown): QueryFields {
  const fields = fieldsOf(query);
  return "source" in fields ? fieldsOf(fields["source"]) : fields;
}

/**
 * The persons behind a point of a line, without a day behind the whole line; undefined where no persons are: of
 * formulas, averages, sums of all before, and groups.
 */
export function personsOfLine(
  query: QueryFields,
  line: TrendSeries,
  day?: string | number,
): PersonsQuery | undefined {
  const { action, breakdown_value: breakdown, compare_label: compare, status } = line;
  const filter = fieldsOf(query["trendsFilter"]);
  const order = action?.order ?? 0;
  const series = fieldsOf(listOf(query["series"])[order]);
  const math = typeof series["math"] === "string" ? series["math"] : "total";
  const isFigure =
    lineKinds.has(String(query["kind"])) &&
    !isOfGroups(query) &&
    !mathsWithout.has(math) &&
    ["formula", "formulas", "formulaNodes"].every((name) => [filter[name] ?? []].flat().length === 0) &&
    filter["display"] !== "ActionsLineGraphCumulative" &&
    Number(filter["smoothingIntervals"] ?? 1) <= 1;
  if (!isFigure) return undefined;
  return {
    source: {
      kind: "InsightActorsQuery",
      source: query,
      ...(day !== undefined && { day }),
      ...(status ? { status } : { series: order }),
      ...(breakdown !== undefined && { breakdown }),
      ...(compare !== undefined && { compare }),
    },
  };
}

/** Persons who reached a step of a funnel or, with `isLost`, only the one before. */
export function personsOfStep(
  query: QueryFields,
  { order, breakdown_value: value }: FunnelStep,
  isLost = false,
): PersonsQuery | undefined {
  if (query["kind"] !== "FunnelsQuery" || isOfGroups(query) || (isLost && order === 0)) return undefined;
  return {
    source: {
      kind: "FunnelsActorsQuery",
      source: query,
      funnelStep: isLost ? -order - 1 : order + 1,
      ...(value !== undefined && { funnelStepBreakdown: value }),
    },
  };
}

/**
 * Persons of a row of retention who came back so many intervals later.
 * @param last the date of the last row: the rows of a relative range are others tomorrow.
 */
export function personsOfCell(
  query: QueryFields,
  { row, column, last }: { row: number; column: number; last: string },
): PersonsQuery | undefined {
  if (query["kind"] !== "RetentionQuery" || isOfGroups(query)) return undefined;
  const isHourly = fieldsOf(query["retentionFilter"])["period"] === "Hour";
  const source = isHourly ? query : { ...query, dateRange: { date_to: last.slice(0, 10) } };
  return {
    source: { kind: "InsightActorsQuery", source, interval: row },
    ...(column > 0 && { properties: [{ type: "hogql", key: `has(appearances, ${column})` }] }),
  };
}

/** Persons who went from one step of a path to the next. */
export function personsOfLink(query: QueryFields, { source, target }: PathLink): PersonsQuery | undefined {
  if (query["kind"] !== "PathsQuery") return undefined;
  const pathsFilter = { ...fieldsOf(query["pathsFilter"]), pathStartKey: source, pathEndKey: target };
  return { source: { kind: "InsightActorsQuery", source: { ...query, pathsFilter } } };
}

const isOfGroups = (query: QueryFields): boolean => typeof query["aggregation_group_type_index"] === "number";

function fieldsOf(value: unknown): QueryFields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as QueryFields) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
