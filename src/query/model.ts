// The schemas of queries, against which bodies are checked. The shape of a result depends on its kind and is not
// described.

import Type, { type Static, type TSchema } from "typebox";
import { queryLimits } from "./limits.ts";
import {
  choice,
  flag,
  integer,
  model,
  moment,
  nullable,
  strictModel,
  text,
  timezone,
  unsupported,
  variants,
} from "../http/fields/field.ts";
import { unreadFields } from "./unread_fields.ts";

const maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(nullable(schema));
/** Not answered; `also`: values that mean the same as none. */
const unanswered = (called: string, also?: readonly (string | number)[]) =>
  unsupported(`${called} is not supported.`, also);
/** Anything; checked where it is used. */
const free = () => Type.Optional(Type.Unknown());

export const maths = [
  "total",
  "dau",
  "weekly_active",
  "monthly_active",
  "unique_session",
  "unique_group",
  "first_time_for_user",
  "first_matching_event_for_user",
  "unique",
  "sum",
  "avg",
  "min",
  "max",
  "median",
  "p75",
  "p90",
  "p95",
  "p99",
] as const;

/** Drawn from one number for each line, or from one for each interval. */
export const totalDisplays = [
  "BoldNumber",
  "ActionsPie",
  "ActionsBarValue",
  "ActionsTable",
  "WorldMap",
] as const;
const displays = [
  "Auto",
  "ActionsLineGraph",
  "ActionsLineGraphCumulative",
  "ActionsAreaGraph",
  "ActionsBar",
  "ActionsUnstackedBar",
  "ActionsStackedBar",
  ...totalDisplays,
] as const;

export const intervals = ["hour", "day", "week", "month"] as const;

const node = strictModel("EventsNode", {
  kind: Type.Optional(choice(["EventsNode"])),
  event: maybe(text({ blank: true })),
  custom_name: maybe(text({ blank: true, maxLength: 400 })),
  math: maybe(choice(maths)),
  math_property: maybe(text()),
  math_group_type_index: maybe(integer({ minimum: 0, maximum: 4 })),
  math_property_type: unanswered("Math on anything but an event's property", ["event_properties"]),
  math_hogql: unanswered("Math by SQL"),
  math_multiplier: unanswered("A multiplier", [1]),
  math_property_revenue_currency: unanswered("A currency"),
  optionalInFunnel: unanswered("An optional step"),
  properties: free(),
  fixedProperties: free(),
  ...unreadFields("EventsNode"),
});

const dateRange = maybe(
  strictModel("DateRange", {
    date_from: maybe(text({ blank: true, maxLength: 40 })),
    date_to: maybe(text({ blank: true, maxLength: 40 })),
    explicitDate: maybe(flag()),
  }),
);

const every = {
  dateRange,
  properties: free(),
  filterTestAccounts: maybe(flag()),
  samplingFactor: unanswered("Sampling", [1]),
  aggregation_group_type_index: unanswered("Counting groups"),
  modifiers: unanswered("A modifier"),
};

const breakdown = strictModel("Breakdown", {
  property: free(),
  type: free(),
  normalize_url: unanswered("A breakdown by normalized addresses"),
  histogram_bin_count: unanswered("A histogram"),
  group_type_index: unanswered("A breakdown by a group's property"),
});

const breakdownFilter = maybe(
  strictModel("BreakdownFilter", {
    breakdown: free(),
    breakdown_type: maybe(choice(["event"])),
    breakdown_limit: maybe(integer({ minimum: 1, maximum: queryLimits.breakdownValuesMax })),
    breakdown_hide_other_aggregation: maybe(flag()),
    breakdowns: maybe(Type.Array(breakdown)),
    breakdown_histogram_bin_count: unanswered("A histogram"),
    breakdown_group_type_index: unanswered("A breakdown by a group's property"),
    breakdown_normalize_url: unanswered("A breakdown by normalized addresses"),
    breakdown_path_cleaning: unanswered("A breakdown by cleaned paths"),
  }),
);

export const trendsModel = strictModel("TrendsQuery", {
  kind: choice(["TrendsQuery"]),
  series: Type.Array(node, { minItems: 1, maxItems: queryLimits.querySeriesMax }),
  interval: maybe(choice(intervals)),
  ...every,
  breakdownFilter,
  compareFilter: maybe(
    strictModel("CompareFilter", {
      compare: maybe(flag()),
      compare_to: unanswered("Comparing with another period"),
    }),
  ),
  conversionGoal: unanswered("A goal of conversion"),
  trendsFilter: maybe(
    strictModel("TrendsFilter", {
      display: maybe(choice(displays)),
      formula: unanswered("A formula"),
      formulas: unanswered("A formula"),
      formulaNodes: unanswered("A formula"),
      smoothingIntervals: unanswered("Smoothing", [1]),
      breakdown_histogram_bin_count: unanswered("A histogram"),
      hideWeekends: unanswered("Hiding weekends"),
      ...unreadFields("TrendsFilter"),
    }),
  ),
  ...unreadFields("TrendsQuery"),
});

export const funnelsModel = strictModel("FunnelsQuery", {
  kind: choice(["FunnelsQuery"]),
  series: Type.Array(node, { minItems: 2, maxItems: queryLimits.querySeriesMax }),
  ...every,
  breakdownFilter,
  compareFilter: maybe(
    strictModel("FunnelCompareFilter", {
      compare: unanswered("Comparing funnels"),
      compare_to: unanswered("Comparing funnels"),
    }),
  ),
  funnelsFilter: maybe(
    strictModel("FunnelsFilter", {
      funnelOrderType: maybe(choice(["ordered"])),
      funnelVizType: maybe(choice(["steps"])),
      funnelWindowInterval: maybe(integer({ minimum: 1, maximum: 100_000 })),
      funnelWindowIntervalUnit: maybe(choice(["second", "minute", "hour", "day", "week", "month"])),
      exclusions: unanswered("An exclusion"),
      funnelAggregateByHogQL: unanswered("Aggregating by SQL", ["person_id"]),
      customAggregationTarget: unanswered("A table of a data warehouse"),
      ...unreadFields("FunnelsFilter"),
    }),
  ),
  ...unreadFields("FunnelsQuery"),
});

const entity = strictModel("RetentionEntity", {
  id: maybe(text({ blank: true })),
  kind: maybe(choice(["EventsNode"])),
  type: maybe(choice(["events"])),
  table_name: unanswered("A table of a data warehouse"),
  timestamp_field: unanswered("A table of a data warehouse"),
  aggregation_target_field: unanswered("A table of a data warehouse"),
  properties: free(),
  ...unreadFields("RetentionEntity"),
});

export const retentionModel = strictModel("RetentionQuery", {
  kind: choice(["RetentionQuery"]),
  ...every,
  breakdownFilter,
  retentionFilter: strictModel("RetentionFilter", {
    period: maybe(choice(["Hour", "Day", "Week", "Month"])),
    totalIntervals: maybe(integer({ minimum: 1, maximum: queryLimits.retentionIntervalsMax })),
    retentionType: maybe(choice(["retention_recurring", "retention_first_time"])),
    targetEntity: maybe(entity),
    returningEntity: maybe(entity),
    cumulative: unanswered("Cumulative retention"),
    aggregationType: unanswered("Retention of anything but persons", ["count"]),
    aggregationProperty: unanswered("Retention of anything but persons"),
    minimumOccurrences: unanswered("A minimum of occurrences", [1]),
    retentionCustomBrackets: unanswered("A bracket of one's own"),
    customAggregationTarget: unanswered("A table of a data warehouse"),
    timeWindowMode: unanswered("A window of 24 hours", ["strict_calendar_dates"]),
    ...unreadFields("RetentionFilter"),
  }),
  ...unreadFields("RetentionQuery"),
});

export const eventsModel = strictModel("EventsQuery", {
  kind: choice(["EventsQuery"]),
  select: Type.Array(text({ maxLength: 400 }), { minItems: 1, maxItems: queryLimits.queryColumnsMax }),
  event: maybe(text({ blank: true })),
  events: unanswered("A list of events' names"),
  personId: unanswered("Filtering by person"),
  actionId: unanswered("An action"),
  source: unanswered("A query inside of this one"),
  modifiers: unanswered("A modifier"),
  properties: free(),
  fixedProperties: free(),
  filterTestAccounts: maybe(flag()),
  where: unanswered("SQL"),
  after: maybe(text({ blank: true, maxLength: 40 })),
  before: maybe(text({ blank: true, maxLength: 40 })),
  orderBy: maybe(Type.Array(text({ maxLength: 100 }))),
  limit: maybe(integer({ minimum: 1, maximum: queryLimits.queryRowsMax })),
  offset: maybe(integer({ minimum: 0 })),
  ...unreadFields("EventsQuery"),
});

export type EventsNode = Static<typeof node>;
export type TrendsQuery = Static<typeof trendsModel>;
export type FunnelsQuery = Static<typeof funnelsModel>;
export type RetentionQuery = Static<typeof retentionModel>;
export type EventsQuery = Static<typeof eventsModel>;
export type Interval = (typeof intervals)[number];
export type Math = (typeof maths)[number];
export type DateRange = Static<typeof dateRange>;

const bare = [trendsModel, funnelsModel, retentionModel, eventsModel];
const source = variants("QuerySource", "kind", bare, { description: "A query that another node shows." });

/** What shows another query. */
export const wrapperModels = {
  InsightVizNode: strictModel("InsightVizNode", {
    kind: choice(["InsightVizNode"]),
    source,
    ...unreadFields("InsightVizNode"),
  }),
  DataTableNode: strictModel("DataTableNode", {
    kind: choice(["DataTableNode"]),
    source,
    ...unreadFields("DataTableNode"),
  }),
};

/** A query of any kind; `kind` decides the schema it is checked against. */
const queryModel = variants("Query", "kind", [...bare, ...Object.values(wrapperModels)], {
  description:
    "TrendsQuery, FunnelsQuery, RetentionQuery or EventsQuery, as itself or as the `source` of an " +
    "InsightVizNode or a DataTableNode.",
});

const exampleQuery = {
  kind: "TrendsQuery",
  series: [{ kind: "EventsNode", event: "$pageview", math: "total" }],
  interval: "day",
  dateRange: { date_from: "-7d" },
};

/** The body of a request to run a query. */
export const queryBody = strictModel("QueryRequest", {
  query: Type.Unknown({
    "x-shown": queryModel,
    examples: [exampleQuery],
  }),
  filters_override: unanswered("Overriding filters"),
  variables_override: unanswered("A variable"),
  ...unreadFields("QueryRequest"),
});

/** The reply to a query; for an EventsQuery it has its columns too. */
export const queryReply = model("QueryResponse", {
  results: Type.Array(Type.Unknown(), { description: "As PostHog shapes them for this kind of query." }),
  timezone: timezone(),
  resolved_date_range: model("ResolvedDateRange", {
    date_from: nullable(moment()),
    date_to: nullable(moment()),
  }),
  is_cached: Type.Boolean(),
  last_refresh: moment(),
  error: nullable(Type.String(), { description: "Always null: what fails is answered with its status." }),
  columns: Type.Optional(Type.Array(Type.String())),
  types: Type.Optional(Type.Array(Type.String())),
  hasMore: Type.Optional(Type.Boolean()),
  limit: Type.Optional(Type.Integer()),
  offset: Type.Optional(Type.Integer()),
});
