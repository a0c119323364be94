// The schema of a LifecycleQuery.

import Type, { type Static } from "typebox";
import { choice, strictModel } from "../../http/fields/field.ts";
import { drawing, insightFields, interval, node, unanswered, unreadFields } from "../parts/model.ts";

export const lifecycleModel = strictModel("LifecycleQuery", {
  kind: choice(["LifecycleQuery"]),
  series: Type.Array(node, { minItems: 1, maxItems: 1 }),
  interval,
  ...insightFields,
  customAggregationTarget: unanswered("A table of a data warehouse"),
  ...unreadFields(drawing, "lifecycleFilter"),
});

export type LifecycleQuery = Static<typeof lifecycleModel>;
