// The schema of a TrendsQuery.

import Type, { type Static } from "typebox";
import { choice, strictModel, text } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import {
  aboutRefused,
  breakdownFilter,
  compareFilter,
  drawing,
  insightFields,
  interval,
  maybe,
  node,
  unanswered,
  unreadFields,
} from "../parts/model.ts";

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
  series: Type.Array(node, { minItems: 1, maxItems: queryLimits.querySeriesMax }),
  interval,
  ...insightFields,
  breakdownFilter,
  compareFilter,
  conversionGoal: unanswered("A goal of conversion"),
  trendsFilter: maybe(
    strictModel("TrendsFilter", {
      display: maybe(choice(displays)),
      formula: maybe(text({ blank: true })),
      formulas: maybe(Type.Array(text(), { maxItems: queryLimits.formulasMax })),
      formulaNodes: maybe(
        Type.Array(
          strictModel("TrendsFormulaNode", {
            formula: text(),
            custom_name: maybe(text({ blank: true, maxLength: 400 })),
          }),
          { maxItems: queryLimits.formulasMax },
        ),
      ),
      smoothingIntervals: unanswered("Smoothing", [1]),
      breakdown_histogram_bin_count: unanswered("A histogram"),
      hideWeekends: unanswered("Hiding weekends"),
      ...unreadFields(
        drawing,
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
  ...unreadFields(aboutRefused, "calendarHeatmapFilter"),
});

export type TrendsQuery = Static<typeof trendsModel>;
