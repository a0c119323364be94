// The schema of a TrendsQuery, and what it cannot refuse: math without its property, breakdowns by several properties.

import { refuseInput } from "../../core/fault.ts";
import { wordsIn } from "../../core/words.ts";
import { choice, type CreateInput, integer, strictModel, text } from "../../http/fields/field.ts";
import { findRefusal } from "../../storage/events/session_property.ts";
import { queryLimits } from "../limits.ts";
import { readBreakdown } from "../parts/breakdown.ts";
import { personNumber, readNodeFilters, readSeries } from "../parts/figure.ts";
import type { EventsNode, Interval } from "../parts/model.ts";
import * as part from "../parts/model.ts";
import { type Formula, readFormula } from "./formula.ts";

/** Drawn from one number for each line, or from one for each interval. */
const totalDisplays = wordsIn("BoldNumber ActionsPie ActionsBarValue ActionsTable WorldMap");
const displays = wordsIn(`
  Auto ActionsLineGraph ActionsLineGraphCumulative ActionsAreaGraph ActionsBar ActionsUnstackedBar ActionsStackedBar
`);

export const trendsModel = strictModel("TrendsQuery", {
  kind: choice(["TrendsQuery"]),
  series: part.seriesList(),
  interval: part.interval,
  ...part.insightFields,
  breakdownFilter: part.breakdownFilter,
  compareFilter: part.compareFilter,
  conversionGoal: part.unanswered("A goal of conversion"),
  trendsFilter: part.maybe(
    strictModel("TrendsFilter", {
      display: part.maybe(choice([...displays, ...totalDisplays])),
      formula: part.maybe(text({ blank: true })),
      formulas: part.maybe(part.list(text(), { maxItems: queryLimits.formulasMax })),
      formulaNodes: part.maybe(
        part.list(
          strictModel("TrendsFormulaNode", {
            formula: text(),
            custom_name: part.maybe(text({ blank: true, maxLength: 400 })),
          }),
          { maxItems: queryLimits.formulasMax },
        ),
      ),
      smoothingIntervals: part.maybe(integer({ minimum: 1, maximum: 365 })),
      breakdown_histogram_bin_count: part.unanswered("A histogram"),
      hideWeekends: part.unanswered("Hiding weekends"),
      ...part.unreadFields(
        part.drawing,
        `aggregationAxisFormat aggregationAxisPostfix aggregationAxisPrefix confidenceLevel decimalPlaces
        detailedResultsAggregationType excludeBoxPlotOutliers goalLines hiddenLegendIndexes legendPosition
        metricChangeDecreaseColor metricChangeIncreaseColor metricColorByDirection metricLineDecreaseColor
        metricLineIncreaseColor metricShowChange metricSummary minDecimalPlaces movingAverageIntervals
        resultCustomizationBy resultCustomizations showAlertThresholdLines showAnnotations showConfidenceIntervals
        showLabelsOnSeries showLegend showMovingAverage showMultipleYAxes showPercentStackView showTrendLines
        showValuesOnSeries stackBreakdownValues xAxisLabel yAxisLabel yAxisScaleType`,
      ),
    }),
  ),
  ...part.unreadFields(part.aboutRefused, "calendarHeatmapFilter"),
});

type TrendsQuery = CreateInput<typeof trendsModel>;
export type CheckedTrends = ReturnType<typeof checkTrends>;

export function checkTrends(query: TrendsQuery, attr: string) {
  const series = query.series.map((node, i) => readSeries(node, `${attr}__series__${i}`));
  const isMap = query.trendsFilter?.display === "WorldMap";
  const breakdown = readBreakdown(query, attr, isMap ? queryLimits.breakdownMapValues : undefined);
  for (const [i, { node }] of series.entries()) refuseMath(query, node, `${attr}__series__${i}__math`);
  const maths = series.flatMap(({ math, node }, i) => {
    const at = `${attr}__series__${i}__math`;
    if (math === "hogql") return [{ text: node.math_hogql ?? "", attr: `${at}_hogql`, isAggregate: true }];
    const text = furtherNumber(node);
    return text === undefined ? [] : [{ text, attr: `${at}_property` }];
  });
  return {
    attr,
    query,
    interval: (query.interval ?? "day") as Interval,
    isTotal: totalDisplays.some((name) => name === query.trendsFilter?.display),
    series,
    filters: readNodeFilters(query, attr),
    breakdown,
    entities: series,
    maths,
    measured: series.map(({ math, node }) => (mathsOfProperty.has(math) && node.math_property) || ""),
    formulas: readFormulas(query, attr),
  };
}

/** Whether the math is of the sessions in which events are, each counted once. */
export const countsSessions = ({ math, math_property: property }: EventsNode): boolean =>
  property === "$session_duration" && mathsOfProperty.has(math ?? "");

/** Whether the math is of a property of persons. */
export const isOfPersons = ({ math, math_property_type: type }: EventsNode): boolean =>
  type === "person_properties" && mathsOfProperty.has(math ?? "");

/** Numbers that are not of the events themselves, in SQL: of their sessions or persons. */
export function furtherNumber(node: EventsNode): string | undefined {
  if (countsSessions(node)) return "session.$session_duration";
  return isOfPersons(node) ? personNumber(node.math_property ?? "") : undefined;
}

/** PostHog's three ways to write them: the newest that is not empty counts. */
function readFormulas({ series, trendsFilter }: TrendsQuery, attr: string): Formula[] {
  const { formula, formulas, formulaNodes } = trendsFilter ?? {};
  const read = (text: string, name: string, custom_name: string | null = null) =>
    readFormula(text, custom_name, series.length, `${attr}__trendsFilter__${name}`);
  if (formulaNodes?.length) {
    return formulaNodes.map((node, i) =>
      read(node.formula, `formulaNodes__${i}__formula`, node.custom_name ?? null),
    );
  }
  if (formulas?.length) return formulas.map((text, i) => read(text, `formulas__${i}`));
  return formula ? [read(formula, "formula")] : [];
}

const mathsOfProperty = new Set(["sum", "avg", "min", "max", "median", "p75", "p90", "p95", "p99"]);

function refuseMath(query: TrendsQuery, node: EventsNode, at: string): void {
  const { math, math_property, math_group_type_index } = node;
  if (math && mathsOfProperty.has(math) && !math_property)
    refuseInput(`The math "${math}" needs a property.`, `${at}_property`, "required");
  if (math === "first_time_for_user_with_filters")
    refuseInput(`"${math}" is of funnels: use "first_matching_event_for_user".`, at);
  if (math === "hogql" && !node.math_hogql)
    refuseInput(`The math "hogql" needs an expression.`, `${at}_hogql`, "required");
  if (node.math_hogql && math !== "hogql")
    refuseInput('An expression is for the math "hogql".', `${at}_hogql`);
  if (math === "unique_group" && typeof math_group_type_index !== "number")
    refuseInput(`The math "${math}" needs a group type.`, `${at}_group_type_index`, "required");
  const refusal = math_property && !countsSessions(node) ? findRefusal(math_property) : undefined;
  if (refusal) refuseInput(refusal, `${at}_property`);
  if (node.math_property_type === "session_properties" && !countsSessions(node))
    refuseInput('Of sessions\' properties only "$session_duration" is supported.', `${at}_property`);
  if (math?.endsWith("_active") && (query.interval === "second" || query.interval === "minute"))
    refuseInput(`"${math}" is counted by hours at least.`, at);
  const isSum = (math ?? "total") === "total" || math === "sum" || countsActors(node);
  if (isAddedUp(query) && !isSum) refuseInput(`"${math}" cannot be added up over time.`, at);
}

export const isAddedUp = ({ trendsFilter }: TrendsQuery): boolean =>
  trendsFilter?.display === "ActionsLineGraphCumulative";

/** Whether the math counts groups, whose persons are not listed. */
export const countsGroups = ({ math, math_group_type_index: index }: EventsNode): boolean =>
  math === "unique_group" || (typeof index === "number" && /^dau$|_active$/.test(math ?? ""));

/** Whether the math counts persons or groups, each once. */
export const countsActors = ({ math, math_property: property }: EventsNode): boolean =>
  math === "dau" || math === "unique_group" || (math === "unique" && !property);
