// The schema of a StickinessQuery.

import Type, { type Static } from "typebox";
import { choice, integer, strictModel } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import {
  compareFilter,
  drawing,
  insightFields,
  interval,
  maybe,
  node,
  unanswered,
  unreadFields,
} from "../parts/model.ts";

export const stickinessModel = strictModel("StickinessQuery", {
  kind: choice(["StickinessQuery"]),
  series: Type.Array(node, { minItems: 1, maxItems: queryLimits.querySeriesMax }),
  interval,
  intervalCount: unanswered("Counting several intervals as one", [1]),
  ...insightFields,
  compareFilter,
  stickinessFilter: maybe(
    strictModel("StickinessFilter", {
      computedAs: maybe(choice(["non_cumulative", "cumulative"])),
      stickinessCriteria: maybe(
        strictModel("StickinessCriteria", {
          operator: choice(["gte", "lte", "exact"]),
          value: integer({ minimum: 0, maximum: 1_000_000 }),
        }),
      ),
      ...unreadFields(
        drawing,
        "display hiddenLegendIndexes resultCustomizationBy resultCustomizations showLegend showMultipleYAxes " +
          "showValuesOnSeries",
      ),
    }),
  ),
});

export type StickinessQuery = Static<typeof stickinessModel>;
