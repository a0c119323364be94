// Fields of queries that change no result: they are accepted, and an insight keeps and shows them. Every other field is
// answered, or refused by name.

import { unread } from "../http/fields/field.ts";

/** By what they are for; then by the model that has them. */
const unreadByReason = {
  "How the result is drawn: for who draws it.": {
    EventsNode: ["name"],
    RetentionEntity: ["name", "custom_name", "order"],
    TrendsQuery: ["dataColorTheme"],
    FunnelsQuery: ["dataColorTheme"],
    RetentionQuery: ["dataColorTheme"],
    TrendsFilter: [
      "aggregationAxisFormat",
      "aggregationAxisPostfix",
      "aggregationAxisPrefix",
      "confidenceLevel",
      "decimalPlaces",
      "detailedResultsAggregationType",
      "excludeBoxPlotOutliers",
      "goalLines",
      "hiddenLegendIndexes",
      "legendPosition",
      "metricChangeDecreaseColor",
      "metricChangeIncreaseColor",
      "metricColorByDirection",
      "metricLineDecreaseColor",
      "metricLineIncreaseColor",
      "metricShowChange",
      "metricSummary",
      "minDecimalPlaces",
      "movingAverageIntervals",
      "resultCustomizationBy",
      "resultCustomizations",
      "showAlertThresholdLines",
      "showAnnotations",
      "showConfidenceIntervals",
      "showLabelsOnSeries",
      "showLegend",
      "showMovingAverage",
      "showMultipleYAxes",
      "showPercentStackView",
      "showTrendLines",
      "showValuesOnSeries",
      "stackBreakdownValues",
      "xAxisLabel",
      "yAxisLabel",
      "yAxisScaleType",
    ],
    FunnelsFilter: [
      "funnelStepReference",
      "goalLines",
      "hiddenLegendBreakdowns",
      "layout",
      "legendPosition",
      "resultCustomizations",
      "showAnnotations",
      "showLegend",
      "showTrendLines",
      "showValuesOnSeries",
    ],
    RetentionFilter: [
      "cohortLabelStartIndex",
      "dashboardDisplay",
      "display",
      "goalLines",
      "legendPosition",
      "meanRetentionCalculation",
      "retentionReference",
      "selectedInterval",
      "showLegend",
      "showMean",
      "showTrendLines",
    ],
    InsightVizNode: [
      "embedded",
      "full",
      "hidePersonsModal",
      "hideTooltipOnScroll",
      "showCorrelationTable",
      "showFilters",
      "showHeader",
      "showLastComputation",
      "showLastComputationRefresh",
      "showResults",
      "showTable",
      "suppressSessionAnalysisWarning",
      "vizSpecificOptions",
    ],
    DataTableNode: [
      "allowSorting",
      "columns",
      "context",
      "contextKey",
      "defaultColumns",
      "embedded",
      "expandable",
      "full",
      "hiddenColumns",
      "pinnedColumns",
      "propertiesViaUrl",
      "showAbsoluteTime",
      "showActions",
      "showColumnConfigurator",
      "showCount",
      "showDateRange",
      "showElapsedTime",
      "showEventFilter",
      "showExport",
      "showHogQLEditor",
      "showOpenEditorButton",
      "showPersistentColumnConfigurator",
      "showPropertyFilter",
      "showRecordingColumn",
      "showReload",
      "showResultsTable",
      "showSavedFilters",
      "showSavedQueries",
      "showSearch",
      "showSourceQueryOptions",
      "showTableViews",
      "showTestAccountFilters",
      "showTimings",
      "showWebAnalyticsTable",
    ],
  },
  "Who asks, in which version of PostHog's words, and what was answered before.": {
    EventsNode: ["response", "version"],
    TrendsQuery: ["response", "tags", "version"],
    FunnelsQuery: ["response", "tags", "version"],
    RetentionQuery: ["response", "tags", "version"],
    EventsQuery: ["response", "tags", "version"],
    InsightVizNode: ["version"],
    DataTableNode: ["response", "tags", "version"],
    RetentionEntity: ["uuid"],
    QueryRequest: ["async", "client_query_id", "limit_context", "name", "refresh", "tags"],
  },
  "About rows of events, of which a series and its totals have none.": { EventsNode: ["limit", "orderBy"] },
  "About what is refused itself: a calendar of a trend; a breakdown of a funnel, its trend, its times to convert.":
    {
      TrendsQuery: ["calendarHeatmapFilter"],
      FunnelsQuery: ["interval"],
      FunnelsFilter: [
        "binCount",
        "breakdownAttributionType",
        "breakdownAttributionValue",
        "breakdownSorting",
        "funnelFromStep",
        "funnelToStep",
        "hideIncompleteConversionWindowPeriods",
      ],
    },
  "Chooses between two ways of computing the same in PostHog.": { FunnelsFilter: ["useUdf"] },
  "The type of a property that is refused itself.": { RetentionFilter: ["aggregationPropertyType"] },
} as const;

type Unread = typeof unreadByReason;
type UnreadModel = { [Reason in keyof Unread]: keyof Unread[Reason] }[keyof Unread];

/** The names of a model's fields that are not read. */
export function unreadNames(model: UnreadModel): string[] {
  return Object.values<Partial<Record<UnreadModel, readonly string[]>>>(unreadByReason).flatMap(
    (models) => models[model] ?? [],
  );
}

/** The fields of a model that are not read, for its schema. */
export function unreadFields(model: UnreadModel): Record<never, never> {
  const fields = Object.entries<Partial<Record<UnreadModel, readonly string[]>>>(unreadByReason).flatMap(
    ([description, models]) => (models[model] ?? []).map((name) => [name, unread(description)]),
  );
  return Object.fromEntries(fields) as Record<never, never>;
}
