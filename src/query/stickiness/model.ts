// The schema of a StickinessQuery.

import Type, { type Static } from "typebox";
import { choice, flag, integer, strictModel } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import {
  aboutSender,
  drawing,
  insightFields,
  intervals,
  maybe,
  node,
  unanswered,
  unreadFields,
} from "../parts/model.ts";

export const stickinessModel = strictModel("StickinessQuery", {
  kind: choice(["StickinessQuery"]),
  series: Type.Array(node, { minItems: 1, maxItems: queryLimits.querySeriesMax }),
  interval: maybe(choice(intervals)),
  intervalCount: unanswered("Counting several intervals as one", [1]),
  ...insightFields,
  compareFilter: maybe(
    strictModel("StickinessCompareFilter", {
      compare: maybe(flag()),
      compare_to: unanswered("Comparing with another period"),
    }),
  ),
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
  ...unreadFields(drawing, "dataColorTheme"),
  ...unreadFields(aboutSender, "response tags version"),
});

export type StickinessQuery = Static<typeof stickinessModel>;
