// Finds the figures of a query that have persons behind them, and the query for these persons.

import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import type { FunnelStep, PathLink, TrendLine } from "../../../query/result.ts";
import { buildHref } from "../session/route.ts";
import { SessionContext } from "../session/session.ts";
import { type Fields, toFields, toList, toText, unwrapQuery } from "../values.ts";

/** Fields of an ActorsQuery. */
export interface PersonsQuery {
  source: { kind: "InsightActorsQuery" | "FunnelsActorsQuery" } & Fields;
  properties?: readonly object[];
}

/** Maths behind which there are no persons: averages, extremes, values, groups and expressions. */
const mathsWithout = new Set(
  "avg median min max p75 p90 p95 p99 unique unique_group hogql avg_count_per_actor".split(" "),
);
const lineKinds = new Set(["TrendsQuery", "LifecycleQuery", "StickinessQuery"]);

/**
 * The persons behind a point of a line, without a day behind the whole line; undefined where no persons are: of
 * formulas, averages, sums of all before, and groups.
 */
export function linePersons(
  query: Fields,
  line: Partial<TrendLine>,
  day?: string | number,
): PersonsQuery | undefined {
  const { action, breakdown_value: breakdown, compare_label: compare, status } = line;
  const filter = toFields(query["trendsFilter"]);
  const order = action?.order ?? 0;
  const series = toFields(toList(query["series"])[order]);
  const math = toText(series["math"]) || "total";
  const isFigure =
    lineKinds.has(String(query["kind"])) &&
    !countsGroups(query) &&
    !mathsWithout.has(math) &&
    (series["math_group_type_index"] ?? null) === null &&
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
export function stepPersons(
  query: Fields,
  { order, breakdown_value: value }: FunnelStep,
  isLost = false,
): PersonsQuery | undefined {
  if (query["kind"] !== "FunnelsQuery" || countsGroups(query) || (isLost && order === 0)) return undefined;
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
export function cellPersons(
  query: Fields,
  { row, column, last, value }: { row: number; column: number; last: string; value?: string | undefined },
): PersonsQuery | undefined {
  if (query["kind"] !== "RetentionQuery" || countsGroups(query)) return undefined;
  const isHourly = toFields(query["retentionFilter"])["period"] === "Hour";
  const dateRange = { ...toFields(query["dateRange"]), date_to: last.slice(0, 10) };
  const source = isHourly ? query : { ...query, dateRange };
  return {
    source: {
      kind: "InsightActorsQuery",
      source,
      interval: row,
      ...(value !== undefined && { breakdown: [value] }),
    },
    ...(column > 0 && { properties: [{ type: "hogql", key: `has(appearances, ${column})` }] }),
  };
}

/** Persons who went from one step of a path to the next. */
export function linkPersons(query: Fields, { source, target }: PathLink): PersonsQuery | undefined {
  if (query["kind"] !== "PathsQuery") return undefined;
  const pathsFilter = { ...toFields(query["pathsFilter"]), pathStartKey: source, pathEndKey: target };
  return { source: { kind: "InsightActorsQuery", source: { ...query, pathsFilter } } };
}

const countsGroups = (query: Fields): boolean => typeof query["aggregation_group_type_index"] === "number";

/** Undefined on the page of a link. */
const FigureQueryContext = createContext<Fields | undefined>(undefined);

/** @param query as it was sent or saved, with the nodes around it. */
export function FigureSource({ query, children }: { query: unknown; children: ComponentChildren }) {
  return <FigureQueryContext.Provider value={unwrapQuery(query)}>{children}</FigureQueryContext.Provider>;
}

/**
 * Makes the address of a figure; undefined for a figure without persons, and on the page of a link.
 * @param title names the figure.
 * @param value the figure: behind 0 there is nobody.
 */
export function useFigureHref() {
  const query = useContext(FigureQueryContext);
  const session = useContext(SessionContext);
  return (
    personsQueryIn: (query: Fields) => PersonsQuery | undefined,
    title: string,
    value?: number,
  ): string | undefined => {
    const isLinked = query && value !== 0 && session && !session.isReader;
    const persons = isLinked ? personsQueryIn(query) : undefined;
    return persons && buildHref(session!.project.id, "behind", [], { title, of: JSON.stringify(persons) });
  };
}
