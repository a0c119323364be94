// The schema of a FunnelsQuery.

import Type, { type Static } from "typebox";
import { choice, flag, integer, strictModel } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import {
  aboutRefused,
  breakdownFilter,
  drawing,
  insightFields,
  interval,
  maybe,
  node,
  unanswered,
  unreadFields,
} from "../parts/model.ts";

const lastStep = queryLimits.querySeriesMax - 1;

const exclusion = strictModel("FunnelExclusionEventsNode", {
  ...node.properties,
  funnelFromStep: integer({ minimum: 0, maximum: lastStep }),
  funnelToStep: integer({ minimum: 0, maximum: lastStep }),
});

export const funnelsModel = strictModel("FunnelsQuery", {
  kind: choice(["FunnelsQuery"]),
  series: Type.Array(node, { minItems: 2, maxItems: queryLimits.querySeriesMax }),
  interval,
  ...insightFields,
  breakdownFilter,
  compareFilter: maybe(
    strictModel("FunnelCompareFilter", {
      compare: unanswered("Comparing funnels"),
      compare_to: unanswered("Comparing funnels"),
    }),
  ),
  funnelsFilter: maybe(
    strictModel("FunnelsFilter", {
      funnelOrderType: maybe(choice(["ordered", "strict", "unordered"])),
      breakdownAttributionType: maybe(choice(["first_touch", "last_touch"])),
      funnelVizType: maybe(choice(["steps", "trends", "time_to_convert"])),
      funnelFromStep: maybe(integer({ minimum: 0, maximum: lastStep })),
      funnelToStep: maybe(integer({ minimum: 0, maximum: lastStep })),
      binCount: maybe(integer({ minimum: 1, maximum: queryLimits.funnelBinsMax })),
      hideIncompleteConversionWindowPeriods: maybe(flag()),
      funnelWindowInterval: maybe(integer({ minimum: 1, maximum: 100_000 })),
      funnelWindowIntervalUnit: maybe(choice(["second", "minute", "hour", "day", "week", "month"])),
      exclusions: maybe(Type.Array(exclusion, { maxItems: queryLimits.querySeriesMax })),
      funnelAggregateByHogQL: unanswered("Aggregating by SQL", ["person_id"]),
      customAggregationTarget: unanswered("A table of a data warehouse"),
      ...unreadFields(
        drawing,
        "funnelStepReference goalLines hiddenLegendBreakdowns layout legendPosition " +
          "resultCustomizations showAnnotations showLegend showTrendLines showValuesOnSeries",
      ),
      ...unreadFields(aboutRefused, "breakdownAttributionValue breakdownSorting"),
      ...unreadFields("Chooses between two ways of computing the same in PostHog.", "useUdf"),
    }),
  ),
});

export type FunnelsQuery = Static<typeof funnelsModel>;
