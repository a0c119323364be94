// The schema of a StickinessQuery.

import Type, { type Static } from "typebox";
import { choice, integer, strictModel } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import * as part from "../parts/model.ts";

export const stickinessModel = strictModel("StickinessQuery", {
  kind: choice(["StickinessQuery"]),
  series: Type.Array(part.node, { minItems: 1, maxItems: queryLimits.querySeriesMax }),
  interval: part.interval,
  /** How many intervals count as one. */
  intervalCount: part.maybe(integer({ minimum: 1, maximum: queryLimits.queryBucketsMax })),
  ...part.insightFields,
  compareFilter: part.compareFilter,
  stickinessFilter: part.maybe(
    strictModel("StickinessFilter", {
      computedAs: part.maybe(choice(["non_cumulative", "cumulative"])),
      stickinessCriteria: part.maybe(
        strictModel("StickinessCriteria", {
          operator: choice(["gte", "lte", "exact"]),
          value: integer({ minimum: 0, maximum: 1_000_000 }),
        }),
      ),
      ...part.unreadFields(
        part.drawing,
        "display hiddenLegendIndexes resultCustomizationBy resultCustomizations showLegend showMultipleYAxes " +
          "showValuesOnSeries",
      ),
    }),
  ),
});

export type StickinessQuery = Static<typeof stickinessModel>;
