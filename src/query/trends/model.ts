// The schema of a TrendsQuery.

import Type, { type Static } from "typebox";
import { wordsIn } from "../../core/words.ts";
import { choice, strictModel, text } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import * as part from "../parts/model.ts";

/** Drawn from one number for each line, or from one for each interval. */
export const totalDisplays = wordsIn("BoldNumber ActionsPie ActionsBarValue ActionsTable WorldMap");
const displays = wordsIn(`
  Auto ActionsLineGraph ActionsLineGraphCumulative ActionsAreaGraph ActionsBar ActionsUnstackedBar ActionsStackedBar
`);

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
      display: part.maybe(choice([...displays, ...totalDisplays])),
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
