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
  text,
  timezone,
  variants,
} from "../http/fields/field.ts";

const maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(nullable(schema));
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

export const intervals = ["hour", "day", "week", "month"] as const;

const node = model("EventsNode", {
  kind: choice(["EventsNode"], { default: "EventsNode" }),
  event: maybe(text({ blank: true })),
  name: maybe(text({ blank: true, maxLength: 400 })),
  custom_name: maybe(text({ blank: true, maxLength: 400 })),
  math: maybe(choice(maths)),
  math_property: maybe(text()),
  math_group_type_index: maybe(integer({ minimum: 0, maximum: 4 })),
  properties: free(),
  fixedProperties: free(),
});

const dateRange = maybe(
  model("DateRange", {
    date_from: maybe(text({ blank: true, maxLength: 40 })),
    date_to: maybe(text({ blank: true, maxLength: 40 })),
    explicitDate: maybe(flag()),
  }),
);

const every = {
  dateRange,
  properties: free(),
  filterTestAccounts: maybe(flag()),
  samplingFactor: free(),
  aggregation_group_type_index: free(),
};

const breakdownFilter = maybe(
  model("BreakdownFilter", {
    breakdown: free(),
    breakdown_type: maybe(choice(["event"])),
    breakdown_limit: maybe(integer({ minimum: 1, maximum: queryLimits.breakdownValuesMax })),
    breakdown_hide_other_aggregation: maybe(flag()),
    breakdowns: free(),
    breakdown_histogram_bin_count: free(),
  }),
);

export const trendsModel = model("TrendsQuery", {
  kind: choice(["TrendsQuery"]),
  series: Type.Array(node, { minItems: 1, maxItems: queryLimits.querySeriesMax }),
  interval: maybe(choice(intervals)),
  ...every,
  breakdownFilter,
  compareFilter: maybe(model("CompareFilter", { compare: maybe(flag()), compare_to: free() })),
  trendsFilter: maybe(
    model("TrendsFilter", {
      display: maybe(text({ maxLength: 100 })),
      formula: free(),
      formulas: free(),
      formulaNodes: free(),
      smoothingIntervals: maybe(integer()),
    }),
  ),
});

export const funnelsModel = model("FunnelsQuery", {
  kind: choice(["FunnelsQuery"]),
  series: Type.Array(node, { minItems: 2, maxItems: queryLimits.querySeriesMax }),
  ...every,
  breakdownFilter,
  funnelsFilter: maybe(
    model("FunnelsFilter", {
      funnelOrderType: maybe(choice(["ordered"])),
      funnelVizType: maybe(choice(["steps"])),
      funnelWindowInterval: maybe(integer({ minimum: 1, maximum: 100_000 })),
      funnelWindowIntervalUnit: maybe(choice(["second", "minute", "hour", "day", "week", "month"])),
      exclusions: free(),
      funnelAggregateByHogQL: free(),
    }),
  ),
});

const entity = model("RetentionEntity", {
  id: maybe(text({ blank: true })),
  name: maybe(text({ blank: true, maxLength: 400 })),
  type: maybe(choice(["events"])),
  properties: free(),
});

export const retentionModel = model("RetentionQuery", {
  kind: choice(["RetentionQuery"]),
  ...every,
  breakdownFilter,
  retentionFilter: model("RetentionFilter", {
    period: maybe(choice(["Hour", "Day", "Week", "Month"])),
    totalIntervals: maybe(integer({ minimum: 1, maximum: queryLimits.retentionIntervalsMax })),
    retentionType: maybe(choice(["retention_recurring", "retention_first_time"])),
    targetEntity: maybe(entity),
    returningEntity: maybe(entity),
    cumulative: maybe(flag()),
  }),
});

export const eventsModel = model("EventsQuery", {
  kind: choice(["EventsQuery"]),
  select: Type.Array(text({ maxLength: 400 }), { minItems: 1, maxItems: queryLimits.queryColumnsMax }),
  event: maybe(text({ blank: true })),
  personId: free(),
  actionId: free(),
  properties: free(),
  fixedProperties: free(),
  filterTestAccounts: maybe(flag()),
  where: free(),
  after: maybe(text({ blank: true, maxLength: 40 })),
  before: maybe(text({ blank: true, maxLength: 40 })),
  orderBy: maybe(Type.Array(text({ maxLength: 100 }))),
  limit: maybe(integer({ minimum: 1, maximum: queryLimits.queryRowsMax })),
  offset: maybe(integer({ minimum: 0 })),
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

/** A query of any kind; `kind` decides the schema it is checked against. */
const queryModel = variants(
  "Query",
  "kind",
  [
    ...bare,
    model("InsightVizNode", { kind: choice(["InsightVizNode"]), source }),
    model("DataTableNode", { kind: choice(["DataTableNode"]), source }),
  ],
  {
    description:
      "TrendsQuery, FunnelsQuery, RetentionQuery or EventsQuery, as itself or as the `source` of an " +
      "InsightVizNode or a DataTableNode.",
  },
);

const exampleQuery = {
  kind: "TrendsQuery",
  series: [{ kind: "EventsNode", event: "$pageview", math: "total" }],
  interval: "day",
  dateRange: { date_from: "-7d" },
};

/** The body of a request to run a query. */
export const queryBody = model("QueryRequest", {
  query: Type.Unknown({
    "x-shown": queryModel,
    examples: [exampleQuery],
  }),
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
