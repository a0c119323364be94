// An insight in replies, and the fields that can be set. The query room checks its query.

import Type, { type Static } from "typebox";
import { limits } from "../core/limits.ts";
import { modelNamed } from "../http/docs/models.ts";
import * as field from "../http/fields/field.ts";
import { userModel } from "../http/fields/user.ts";
import { queryDescription, resultType } from "../query/model.ts";

const exampleQuery = {
  kind: "InsightVizNode",
  source: {
    kind: "TrendsQuery",
    series: [{ kind: "EventsNode", event: "$pageview", math: "dau" }],
    interval: "day",
    dateRange: { date_from: "-30d" },
  },
};

const tileModel = field.model("DashboardTileBasic", {
  id: Type.Integer(),
  dashboard_id: Type.Integer(),
  deleted: Type.Boolean(),
});

export const insightModel = field.model("Insight", {
  id: field.readOnly(Type.Integer()),
  short_id: field.readOnly(
    Type.String({
      description: "Eight letters and digits, older ones have ten. Stands for the id in paths.",
    }),
  ),
  name: field.nullable(field.line({ maxLength: 400, blank: true }), { default: null }),
  derived_name: field.nullable(field.line({ maxLength: 400, blank: true }), {
    default: null,
    description: "Kept as sent; else derived from the query.",
  }),
  query: Type.Unknown({
    "x-shown": modelNamed("Query"),
    description: queryDescription,
    examples: [exampleQuery],
  }),
  filters: field.emptyObject("Filters of PostHog's older insights are not supported. Send a `query`."),
  order: field.nullable(field.integer(), { default: null, description: "For an order of your own." }),
  deleted: field.flag({ default: false }),
  dashboards: Type.Array(field.reference(), {
    default: [],
    maxItems: limits.dashboardsOfInsightMax,
    description: "The dashboards that show it, all of them.",
  }),
  dashboard_tiles: field.readOnly(Type.Array(tileModel)),
  description: field.nullable(field.text({ maxLength: 4000, blank: true }), { default: "" }),
  tags: Type.Array(field.line({ maxLength: 255 }), { default: [], maxItems: limits.tagsMax }),
  favorited: field.flag({ default: false }),
  saved: field.flag({ default: true }),
  result: field.readOnly(
    Type.Unknown({
      description:
        "The results of its query: a list, for a funnel's times an object; null where it was not run.",
    }),
  ),
  result_type: field.readOnly(field.nullable(resultType)),
  columns: field.readOnly(field.nullable(Type.Array(Type.String()))),
  types: field.readOnly(field.nullable(Type.Array(Type.String()), { description: "Of the columns." })),
  hasMore: field.readOnly(field.nullable(Type.Boolean())),
  last_refresh: field.readOnly(
    field.nullable(field.moment(), { description: "When the result was computed." }),
  ),
  refreshing: field.readOnly(
    Type.Boolean({ description: "Always false: nothing is computed after a reply." }),
  ),
  timezone: field.readOnly(field.nullable(field.timezone())),
  resolved_date_range: field.readOnly(
    field.nullable(Type.Object({}), { description: "The range of the result: `date_from`, `date_to`." }),
  ),
  is_cached: field.readOnly(Type.Boolean()),
  query_status: field.readOnly(
    field.nullable(
      field.model("QueryStatus", {
        complete: Type.Boolean(),
        error: Type.Boolean(),
        error_message: field.nullable(Type.String()),
      }),
      { description: "Why there is no result, where its query failed." },
    ),
  ),
  alerts: field.readOnly(Type.Array(Type.Unknown(), { maxItems: 0, example: [] })),
  cache_target_age: field.readOnly(field.nullable(field.moment())),
  next_allowed_client_refresh: field.readOnly(field.nullable(field.moment())),
  hogql: field.readOnly(field.nullable(Type.String())),
  is_sample: field.readOnly(Type.Boolean()),
  effective_restriction_level: field.readOnly(Type.Integer()),
  effective_privilege_level: field.readOnly(Type.Integer()),
  user_access_level: field.readOnly(field.nullable(Type.String())),
  created_at: field.readOnly(field.moment()),
  created_by: field.readOnly(field.nullable(userModel)),
  updated_at: field.readOnly(field.moment()),
  last_modified_at: field.readOnly(field.moment()),
  last_modified_by: field.readOnly(field.nullable(userModel)),
  last_viewed_at: field.readOnly(field.nullable(field.moment(), { description: "By anybody." })),
});

export type Insight = Static<typeof insightModel>;

export const insightBody = field.strictWritable(insightModel);

export type InsightInput = field.CreateInput<typeof insightBody>;
export type InsightUpdate = field.UpdateInput<typeof insightBody>;

export const viewedModel = Type.Array(insightModel);
export const viewsBody = field.strictModel("InsightViews", {
  insight_ids: Type.Array(field.reference(), { maxItems: limits.insightsPerDashboardMax }),
});
