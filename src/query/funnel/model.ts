// The schema of a FunnelsQuery.

import Type, { type Static } from "typebox";
import { choice, flag, integer, strictModel, text } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import * as part from "../parts/model.ts";

const lastStep = queryLimits.querySeriesMax - 1;

const exclusion = strictModel("FunnelExclusionEventsNode", {
  ...part.node.properties,
  funnelFromStep: integer({ minimum: 0, maximum: lastStep }),
  funnelToStep: integer({ minimum: 0, maximum: lastStep }),
});

export const funnelsModel = strictModel("FunnelsQuery", {
  kind: choice(["FunnelsQuery"]),
  series: Type.Array(part.node, { minItems: 2, maxItems: queryLimits.querySeriesMax }),
  interval: part.interval,
  ...part.insightFields,
  breakdownFilter: part.breakdownFilter,
  compareFilter: part.maybe(
    strictModel("FunnelCompareFilter", {
      compare: part.unanswered("Comparing funnels"),
      compare_to: part.unanswered("Comparing funnels"),
    }),
  ),
  funnelsFilter: part.maybe(
    strictModel("FunnelsFilter", {
      funnelOrderType: part.maybe(choice(["ordered", "strict", "unordered"])),
      breakdownAttributionType: part.maybe(choice(["first_touch", "last_touch", "all_events"])),
      funnelVizType: part.maybe(choice(["steps", "trends", "time_to_convert"])),
      funnelFromStep: part.maybe(integer({ minimum: 0, maximum: lastStep })),
      funnelToStep: part.maybe(integer({ minimum: 0, maximum: lastStep })),
      binCount: part.maybe(integer({ minimum: 1, maximum: queryLimits.funnelBinsMax })),
      hideIncompleteConversionWindowPeriods: part.maybe(flag()),
      funnelWindowInterval: part.maybe(integer({ minimum: 1, maximum: 100_000 })),
      funnelWindowIntervalUnit: part.maybe(choice(["second", "minute", "hour", "day", "week", "month"])),
      exclusions: part.maybe(Type.Array(exclusion, { maxItems: queryLimits.querySeriesMax })),
      funnelAggregateByHogQL: part.maybe(text({ blank: true })),
      customAggregationTarget: part.unanswered("A table of a data warehouse"),
      ...part.unreadFields(
        part.drawing,
        "funnelStepReference goalLines hiddenLegendBreakdowns layout legendPosition " +
          "resultCustomizations showAnnotations showLegend showTrendLines showValuesOnSeries",
      ),
      ...part.unreadFields(part.aboutRefused, "breakdownAttributionValue breakdownSorting"),
      ...part.unreadFields("Chooses between two ways of computing the same in PostHog.", "useUdf"),
    }),
  ),
});

export type FunnelsQuery = Static<typeof funnelsModel>;
