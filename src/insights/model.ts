// An insight in replies, and the fields that can be set. The query room checks its query.

import Type, { type Static } from "typebox";
import { limits } from "../core/limits.ts";
import { modelNamed } from "../http/docs/models.ts";
import {
  type CreateInput,
  emptyObject,
  flag,
  integer,
  line,
  model,
  moment,
  nullable,
  readOnly,
  reference,
  strictWritable,
  text,
  timezone,
  type UpdateInput,
} from "../http/fields/field.ts";
import { userModel } from "../http/fields/user.ts";
import { queryDescription } from "../query/model.ts";
import { insightLimits } from "./limits.ts";

const exampleQuery = {
  kind: "InsightVizNode",
  source: {
    kind: "TrendsQuery",
    series: [{ kind: "EventsNode", event: "$pageview", math: "dau" }],
    interval: "day",
    dateRange: { date_from: "-30d" },
  },
};

const tileModel = model("DashboardTileBasic", {
  id: Type.Integer(),
  dashboard_id: Type.Integer(),
  deleted: Type.Boolean(),
});

export const insightModel = model("Insight", {
  id: readOnly(Type.Integer()),
  short_id: readOnly(
    Type.String({
      description: "Eight letters and digits, older ones have ten. Stands for the id in paths.",
    }),
  ),
  name: nullable(line({ maxLength: 400, blank: true }), { default: null }),
  derived_name: readOnly(nullable(Type.String({ description: "Derived from the query." }))),
  query: Type.Unknown({
    "x-shown": modelNamed("Query"),
    description: queryDescription,
    examples: [exampleQuery],
  }),
  filters: emptyObject("Filters of PostHog's older insights are not supported. Send a `query`."),
  order: nullable(integer(), { default: null, description: "For an order of your own." }),
  deleted: flag({ default: false }),
  dashboards: Type.Array(reference(), {
    default: [],
    maxItems: insightLimits.dashboardsOfInsightMax,
    description: "The dashboards that show it, all of them.",
  }),
  dashboard_tiles: readOnly(Type.Array(tileModel)),
  description: nullable(text({ maxLength: 4000, blank: true }), { default: "" }),
  tags: Type.Array(line({ maxLength: 255 }), { default: [], maxItems: limits.tagsMax }),
  favorited: flag({ default: false }),
  saved: flag({ default: true }),
  result: readOnly(
    Type.Unknown({
      description:
        "The results of its query: a list, for a funnel's times an object; null where it was not run.",
    }),
  ),
  columns: readOnly(nullable(Type.Array(Type.String()))),
  types: readOnly(nullable(Type.Array(Type.String()), { description: "Of the columns." })),
  hasMore: readOnly(nullable(Type.Boolean())),
  last_refresh: readOnly(nullable(moment(), { description: "When the result was computed." })),
  refreshing: readOnly(Type.Boolean({ description: "Always false: nothing is computed after a reply." })),
  timezone: readOnly(nullable(timezone())),
  is_cached: readOnly(Type.Boolean()),
  query_status: readOnly(
    nullable(
      model("QueryStatus", {
        complete: Type.Boolean(),
        error: Type.Boolean(),
        error_message: nullable(Type.String()),
      }),
      { description: "Why there is no result, where its query failed." },
    ),
  ),
  created_at: readOnly(moment()),
  created_by: readOnly(nullable(userModel)),
  updated_at: readOnly(moment()),
  last_modified_at: readOnly(moment()),
  last_modified_by: readOnly(nullable(userModel)),
});

export type Insight = Static<typeof insightModel>;

export const insightBody = strictWritable(insightModel);

export type InsightInput = CreateInput<typeof insightBody>;
export type InsightUpdate = UpdateInput<typeof insightBody>;
