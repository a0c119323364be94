// The shapes of batch exports, runs, backfills and logs in requests and replies. Secrets of destinations are in none.

import Type, { type Static } from "typebox";
import { wordsIn } from "../core/words.ts";
import * as field from "../http/fields/field.ts";
import { linkedListSchema } from "../http/fields/schema.ts";
import { destinationTypes } from "./destinations/destinations.ts";
import { exportLimits } from "./limits.ts";
import { exportModels } from "./query/tables.ts";

export const runStatuses = wordsIn(`
  Starting Running Completed Failed FailedRetryable FailedBilling Cancelled TimedOut Terminated ContinuedAsNew
`);
export type RunStatus = (typeof runStatuses)[number];

/** Statuses of runs and backfills that have not ended. */
export const openStatuses: readonly RunStatus[] = ["Starting", "Running", "FailedRetryable"];

export const runModel = field.model("BatchExportRun", {
  id: field.uuid(),
  status: Type.Enum(runStatuses, { type: "string" }),
  records_completed: field.nullable(Type.Integer()),
  records_failed: Type.Optional(
    Type.Integer({ description: "Rows that the destination refused; absent where it refused none." }),
  ),
  latest_error: field.nullable(Type.String()),
  data_interval_start: field.nullable(field.moment()),
  data_interval_end: field.moment(),
  cursor: field.nullable(Type.String()),
  created_at: field.moment(),
  finished_at: field.nullable(field.moment()),
  last_updated_at: field.moment(),
  records_total_count: field.nullable(Type.Integer()),
  batch_export: field.uuid(),
});
export type Run = Static<typeof runModel>;

const destinationExample = {
  type: "S3",
  config: { bucket_name: "events", region: "us-east-1", prefix: "posthog-events", file_format: "Parquet" },
};

const destinationModel = field.model("BatchExportDestination", {
  type: Type.String({ description: `One of ${destinationTypes.join(", ")}.` }),
  config: Type.Record(Type.String(), Type.Unknown(), {
    description: "The settings of this type of destination. Secrets are accepted and never shown.",
  }),
});

const ofIntegrations = "There are no integrations: the destination's config has its own credentials.";

const destinationBody = {
  ...field.strictModel(
    "BatchExportDestinationRequest",
    {
      type: destinationModel.properties.type,
      config: Type.Optional(destinationModel.properties.config),
      integration: field.unsupported(ofIntegrations),
      integration_id: field.unsupported(ofIntegrations),
    },
    destinationModel,
  ),
  examples: [destinationExample],
  // The export's own fields are checked first.
  "x-checked-last": true,
};

const fieldModel = field.model("BatchExportField", { expression: Type.String(), alias: Type.String() });

const schemaModel = Type.Object(
  {
    fields: Type.Array(fieldModel),
    values: Type.Record(Type.String(), Type.Unknown()),
    hogql_query: Type.String(),
  },
  { title: "BatchExportSchema", description: "The columns that native_query selects." },
);

const intervals = `hour, day, week, or "every N minutes" with N from 1 to ${exportLimits.minutesMax}.`;

export const exportModel = field.model("BatchExport", {
  id: field.readOnly(field.uuid()),
  team_id: field.readOnly(Type.Integer({ description: "The project." })),
  name: field.line({ description: "For people.", examples: ["Events to our lake"] }),
  model: field.nullable(Type.String({ description: `One of ${exportModels.join(", ")}.` }), {
    default: "events",
    examples: ["events"],
  }),
  destination: destinationModel,
  interval: Type.String({ description: `How often: ${intervals}`, examples: ["hour"] }),
  paused: field.flag({ default: false }),
  created_at: field.readOnly(field.moment()),
  last_updated_at: field.readOnly(field.moment()),
  last_paused_at: field.nullable(field.moment(), { default: null }),
  start_at: field.nullable(field.moment(), { default: null, description: "No run before it." }),
  end_at: field.nullable(field.moment(), { default: null, description: "No run after it." }),
  latest_runs: field.readOnly(Type.Array(runModel, { description: "The newest ten." })),
  native_query: field.nullable(Type.String({ maxLength: exportLimits.queryCharsMax }), {
    default: null,
    description:
      "The columns and rows of events or persons to export. Times are in UTC, as in the models. " +
      "`hogql_query` is the same field.",
    examples: ["select uuid, event, timestamp from events where event != '$pageview'"],
  }),
  hogql_query: field.nullable(Type.String({ maxLength: exportLimits.queryCharsMax }), { default: null }),
  schema: field.readOnly(field.nullable(schemaModel)),
  filters: field.nullable(
    Type.Unknown({ "x-shown": Type.Array(Type.Record(Type.String(), Type.Unknown())) }),
    {
      default: null,
      description: "Property filters that all must match: conditions, or groups of them.",
      examples: [[{ key: "plan", operator: "exact", value: ["paid"], type: "event" }]],
    },
  ),
  timezone: field.timezone({
    description: "On whose clock days and weeks begin: UTC by default, as other intervals.",
  }),
  offset_day: field.nullable(field.integer({ minimum: 0, maximum: 6 }), {
    default: null,
    description: "The day on which weeks begin: 0, Sunday, by default; null for other intervals.",
  }),
  offset_hour: field.nullable(field.integer({ minimum: 0, maximum: 23 }), {
    default: null,
    description: "The hour at which days and weeks begin: 0 by default; null for other intervals.",
  }),
});
export type BatchExport = Static<typeof exportModel>;

const exportFields = {
  ...field.writable(exportModel).properties,
  destination: destinationBody,
  timezone: field.nullable(exportModel.properties.timezone, { default: null }),
};

export const exportBody = field.strictModel("BatchExportRequest", exportFields, exportModel);

/** An export's body under an organization, which has several projects. */
export const organizationExportBody = field.strictModel(
  "OrganizationBatchExportRequest",
  {
    ...exportFields,
    team_id: Type.Optional(
      field.integer({ minimum: 1, description: "Which project; else the key owner's current one." }),
    ),
  },
  exportModel,
);
export type ExportUpdate = field.UpdateInput<typeof exportBody>;
export type ExportInput = ExportUpdate & { team_id?: number | undefined };

export const pausedModel = field.model("BatchExportPaused", { paused: Type.Boolean() });
/** PostHog's description has the whole export as the body: clients that are generated from it send one. */
export const unpauseBody = field.strictModel(
  "BatchExportUnpauseRequest",
  { backfill: field.flag({ default: false, description: "Run what was missed while it was paused." }) },
  exportModel,
);
/** Also the reply to a retried run. */
export const startedBackfillModel = field.model("BatchExportBackfillStarted", { backfill_id: field.uuid() });
export const cancelledModel = field.model("BatchExportCancelled", { cancelled: Type.Boolean() });

export const logEntryLevels = ["DEBUG", "INFO", "WARNING", "ERROR"] as const;
export type LogEntryLevel = (typeof logEntryLevels)[number];

export const logModel = field.model("LogEntry", {
  log_source_id: field.uuid({ description: "The export." }),
  instance_id: field.nullable(field.uuid(), {
    description: "The run; null for what concerns the export itself.",
  }),
  timestamp: field.moment(),
  level: Type.Enum(logEntryLevels, { type: "string" }),
  message: Type.String(),
});
export type LogEntry = Static<typeof logModel>;

const progressModel = field.model("BatchExportBackfillProgress", {
  total_runs: field.nullable(Type.Integer({ description: "Null until the first data is known." })),
  finished_runs: Type.Integer(),
  progress: field.nullable(Type.Number({ description: "From 0 to 1." })),
});

export const backfillModel = field.model("BatchExportBackfill", {
  id: field.uuid(),
  team: Type.Integer(),
  batch_export: field.uuid(),
  start_at: field.nullable(field.moment()),
  end_at: field.nullable(field.moment()),
  status: Type.Enum(runStatuses, { type: "string" }),
  created_at: field.moment(),
  finished_at: field.nullable(field.moment()),
  last_updated_at: field.moment(),
  progress: progressModel,
});
export type Backfill = Static<typeof backfillModel>;

/** Moments are checked by this room, since they must have an offset. */
const momentShown = { type: "string", format: "date-time" };
export const backfillBody = field.strictModel(
  "BatchExportBackfillRequest",
  {
    start_at: field.nullable(Type.Unknown({ "x-shown": momentShown }), {
      default: null,
      description:
        "ISO 8601 with an offset, or for days and weeks a date: their begin on it. None: from the first data on.",
      examples: ["2025-01-01T00:00:00Z"],
    }),
    end_at: field.nullable(Type.Unknown({ "x-shown": momentShown }), {
      default: null,
      description: "Likewise, and not included; none: until now.",
      examples: ["2025-01-02T00:00:00Z"],
    }),
  },
  backfillModel,
);

/** Pages without a count, with links to their neighbours. */
export const runPageModel = linkedListSchema(runModel);
export const backfillPageModel = linkedListSchema(backfillModel);
