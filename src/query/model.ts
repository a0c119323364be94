// The body of a request to run a query, its reply, and the nodes that show another query. The shape of a result is
// result.ts's.

import Type from "typebox";
import * as field from "../http/fields/field.ts";
import { describedModels } from "./hogql/described.ts";
import { queryKinds } from "./kinds.ts";
import { queryLimits } from "./limits.ts";
import { aboutSender, anything, drawing, maybe, unanswered, unreadFields } from "./parts/model.ts";
import type { ResultType } from "./result.ts";

const bare = Object.values(queryKinds).map(({ schema }) => schema);
const source = field.variants("QuerySource", "kind", bare, {
  description: "A query that another node shows.",
});

/** Nodes that show another query. */
export const wrapperModels = {
  InsightVizNode: field.strictModel("InsightVizNode", {
    kind: field.choice(["InsightVizNode"]),
    source,
    ...unreadFields(
      drawing,
      `embedded full hidePersonsModal hideTooltipOnScroll showCorrelationTable showFilters showHeader
      showLastComputation showLastComputationRefresh showResults showTable suppressSessionAnalysisWarning
      vizSpecificOptions`,
    ),
    ...unreadFields(aboutSender, "version"),
  }),
  DataVisualizationNode: field.strictModel("DataVisualizationNode", {
    kind: field.choice(["DataVisualizationNode"]),
    source,
    ...unreadFields(drawing, "chartSettings display tableSettings"),
    ...unreadFields(aboutSender, "version"),
  }),
  DataTableNode: field.strictModel("DataTableNode", {
    kind: field.choice(["DataTableNode"]),
    source,
    ...unreadFields(
      drawing,
      `allowSorting columns context contextKey defaultColumns embedded expandable full hiddenColumns pinnedColumns
      propertiesViaUrl showAbsoluteTime showActions showColumnConfigurator showCount showDateRange showElapsedTime
      showEventFilter showExport showHogQLEditor showOpenEditorButton showPersistentColumnConfigurator
      showPropertyFilter showRecordingColumn showReload showResultsTable showSavedFilters showSavedQueries showSearch
      showSourceQueryOptions showTableViews showTestAccountFilters showTimings showWebAnalyticsTable`,
    ),
    ...unreadFields(aboutSender, "response tags version"),
  }),
};

/** A line for each kind. */
export const queryDescription =
  `${Object.keys(queryKinds)
    .join(", ")
    .replace(/, (\w+)$/, " or $1")}, as itself or as the \`source\` of an ` +
  "InsightVizNode, a DataTableNode or a DataVisualizationNode.";

/** A query of any kind; `kind` decides the schema it is checked against. */
const queryModel = field.variants(
  "Query",
  "kind",
  [...bare, ...Object.values({ ...wrapperModels, ...describedModels })],
  { description: queryDescription },
);

const exampleQuery = {
  kind: "TrendsQuery",
  series: [{ kind: "EventsNode", event: "$pageview", math: "total" }],
  interval: "day",
  dateRange: { date_from: "-7d" },
};

export const queryBody = field.strictModel("QueryRequest", {
  query: Type.Unknown({
    "x-shown": queryModel,
    examples: [exampleQuery],
  }),
  filters_override: unanswered("Overriding filters"),
  variables_override: unanswered("A variable"),
  refresh: anything(),
  async: maybe(field.flag()),
  client_query_id: maybe(
    field.text({ maxLength: queryLimits.queryIdCharsMax, description: "The id of this query." }),
  ),
  ...unreadFields(aboutSender, "limit_context name tags"),
});

export const resultType = field.choice(
  ["series", "steps", "conversions", "times", "grid", "flow", "figures", "table"] satisfies ResultType[],
  { description: "Which kind of results they are: how they are drawn." },
);

const untilModel = field.model("ResultUntil", {
  date_to: field.moment(),
  data: Type.Optional(Type.Array(Type.Number())),
  count: Type.Optional(Type.Number()),
  aggregated_value: Type.Optional(Type.Number()),
  value: Type.Optional(field.nullable(Type.Number())),
});

const notKept = { description: "Always null: of PostHog's caches and settings of queries." };

/** The reply to a query; for an EventsQuery it has its columns too. */
export const queryReply = field.model("QueryResponse", {
  results: Type.Unknown({
    description:
      "In PostHog's form for this kind of query: a list, for a funnel's times an object. Where a range that has not " +
      "ended is compared, lines of the time before have `until`: `date_to`, as far from their start as now is from " +
      "the current one's, and `data`, `count` and `aggregated_value` until then; figures: `date_to` and `value`.",
    // Generated clients get a type for it, and no union of lists and objects, which some cannot read.
    "x-members": field.model("ComparedResult", { until: Type.Optional(untilModel) }),
  }),
  result_type: resultType,
  timezone: field.timezone(),
  resolved_date_range: field.model("ResolvedDateRange", {
    date_from: field.nullable(field.moment()),
    date_to: field.nullable(field.moment()),
  }),
  is_cached: Type.Boolean(),
  last_refresh: field.moment(),
  cache_key: field.nullable(Type.String(), { description: "The same for queries that were sent alike." }),
  cache_target_age: field.nullable(field.moment(), notKept),
  next_allowed_client_refresh: field.nullable(field.moment(), notKept),
  calculation_trigger: field.nullable(Type.String(), notKept),
  query_status: field.nullable(Type.Object({}), notKept),
  modifiers: field.nullable(Type.Object({}), notKept),
  error: field.nullable(Type.String(), {
    description: "Always null: a failure is answered with its status.",
  }),
  columns: Type.Optional(Type.Array(Type.String())),
  types: Type.Optional(Type.Array(Type.Unknown(), { description: "Of SQL: pairs of name and type." })),
  hogql: Type.Optional(
    field.nullable(Type.String(), { description: "Of SQL: the query as it was sent; else null." }),
  ),
  query: Type.Optional(Type.String({ description: "Of SQL: the same." })),
  clickhouse: Type.Optional(
    Type.String({ description: "Of SQL, for keys with the scope `*`: the statement." }),
  ),
  timings: Type.Optional(
    field.nullable(Type.Array(field.model("QueryTiming", { k: Type.String(), t: Type.Number() })), {
      description: "Of SQL: the steps of computing the result, in seconds, `.` is all of it; else null.",
    }),
  ),
  explain: field.nullable(Type.Array(Type.String()), notKept),
  metadata: field.nullable(Type.Object({}), notKept),
  hasMore: Type.Optional(Type.Boolean()),
  limit: Type.Optional(Type.Integer()),
  offset: Type.Optional(Type.Integer()),
});
