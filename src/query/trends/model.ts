// The schema of a TrendsQuery.

import Type, { type Static } from "typebox";
import { choice, strictModel, text } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import * as part from "../parts/model.ts";

/** Drawn from one number for each line, or from one for each interval. */
export const totalDisplays = [
  "BoldNumber",
  "ActionsPie",
  "ActionsBarValue",
  "ActionsTable",
  "WorldMap",
] as const;
const displays = [
  "Auto",
  "ActionsLineGraph",
  "ActionsLineGraphCumulative",
  "ActionsAreaGraph",
  "ActionsBar",
  "ActionsUnstackedBar",
  "ActionsStackedBar",
  ...totalDisplays,
] as const;

export const trendsModel = strictModel("TrendsQuery", {
  kind: choice(["TrendsQuery"]),
  series: Type.Array(part.node, { minItems: 1, maxItems: queryLimits.querySeriesMax }),
  interval: part.interval,
  ...part.insightFields,
  breakdownFilter: part.breakdownFilter,
  compareFilter: part.compareFilter,
  conversionGoal: part.unanswered("A goal of conversion"),
  trendsFilter: part.maybe(
    strictModel("TrendsFilter", {
      display: part.maybe(choice(displays)),
      formula: part.maybe(text({ blank: true })),
      formulas: part.maybe(Type.Array(text(), { maxItems: queryLimits.formulasMax })),
      formulaNodes: part.maybe(
        Type.Array(
          strictModel("TrendsFormulaNode", {
            formula: text(),
            custom_name: part.maybe(text({ blank: true, maxLength: 400 })),
          }),
          { maxItems: queryLimits.formulasMax },
        ),
      ),
      smoothingIntervals: part.unanswered("Smoothing", [1]),
      breakdown_histogram_bin_count: part.unanswered("A histogram"),
      hideWeekends: part.unanswered("Hiding weekends"),
      ...part.unreadFields(
        part.drawing,
        "aggregationAxisFormat aggregationAxisPostfix aggregationAxisPrefix confidenceLevel " +
          "decimalPlaces detailedResultsAggregationType excludeBoxPlotOutliers goalLines " +
          "hiddenLegendIndexes legendPosition metricChangeDecreaseColor metricChangeIncreaseColor " +
          "metricColorByDirection metricLineDecreaseColor metricLineIncreaseColor metricShowChange " +
          "metricSummary minDecimalPlaces movingAverageIntervals resultCustomizationBy " +
          "resultCustomizations showAlertThresholdLines showAnnotations showConfidenceIntervals " +
          "showLabelsOnSeries showLegend showMovingAverage showMultipleYAxes showPercentStackView " +
          "showTrendLines showValuesOnSeries stackBreakdownValues xAxisLabel yAxisLabel " +
          "yAxisScaleType",
      ),
    }),
  ),
  ...part.unreadFields(part.aboutRefused, "calendarHeatmapFilter"),
});

export type TrendsQuery = Static<typeof trendsModel>;
