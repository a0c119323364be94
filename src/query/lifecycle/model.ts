// The schema of a LifecycleQuery.

import Type, { type Static } from "typebox";
import { choice, strictModel } from "../../http/fields/field.ts";
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

export const lifecycleModel = strictModel("LifecycleQuery", {
  kind: choice(["LifecycleQuery"]),
  series: Type.Array(node, { minItems: 1, maxItems: 1 }),
  interval: maybe(choice(intervals)),
  ...insightFields,
  customAggregationTarget: unanswered("A table of a data warehouse"),
  ...unreadFields(drawing, "dataColorTheme lifecycleFilter"),
  ...unreadFields(aboutSender, "response tags version"),
});

export type LifecycleQuery = Static<typeof lifecycleModel>;
