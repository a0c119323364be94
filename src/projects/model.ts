// A project in replies, and its writable fields.

import Type, { type Static } from "typebox";
import { levelNames } from "../access/people/levels.ts";
import { limits } from "../core/limits.ts";
import * as field from "../http/fields/field.ts";
import { storageLimits } from "../storage/limits.ts";
import { projectLimits } from "./limits.ts";
import { factSettings, keptSettings } from "./settings/model.ts";

export const projectModel = field.model("Project", {
  id: field.readOnly(Type.Integer({ description: "`team_id` in other replies." })),
  uuid: field.readOnly(field.uuid()),
  organization: field.readOnly(field.uuid()),
  name: field.line({ maxLength: 200, default: "Default project" }),
  api_token: field.readOnly(Type.String({ description: "The project API key, for capturing." })),
  timezone: field.timezone({ default: "UTC" }),
  session_recording_opt_in: field.flag({ default: false }),
  cookieless_server_hash_mode: field.integer({
    minimum: 0,
    maximum: 2,
    default: 1,
    description:
      "Cookieless events: 0 ignores them; 1 assigns each visitor an id of the day, and " +
      "keeps nothing between two events (PostHog's stateless mode). PostHog's stateful mode (2) does not exist.",
  }),
  allowed_group_types: field.nullable(
    Type.Array(field.text({ maxLength: limits.groupKeyCharsMax }), { maxItems: limits.groupTypesMax }),
    {
      default: null,
      description:
        "The only types of groups that events may name, effective within ten seconds; with null, the first " +
        `${limits.groupTypesMax} have an index.`,
    },
  ),
  event_retention_days: field.nullable(field.integer({ minimum: 1, maximum: limits.retentionDaysMax }), {
    default: null,
    description:
      "After how many days events expire, by their timestamp in whole days (UTC); no more than the server's own " +
      "retention. With null they are kept as long as the server keeps events. Changed by administrators; it applies " +
      "within an hour, and expired events are deleted permanently.",
  }),
  daily_event_quota: field.nullable(
    field.integer({ minimum: 1, maximum: projectLimits.dailyEventQuotaMax }),
    {
      default: null,
      description:
        "How many events of a UTC day, by their arrival, are accepted; imported ones count, pieces of recordings do " +
        "not. Further ones are ignored (`daily_event_quota_exceeded`). With null there is no limit. Changed by " +
        "administrators; counted from the change on.",
    },
  ),
  test_account_filters: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
    default: [],
    maxItems: storageLimits.propertyFiltersMax,
    description:
      "Property filters of events and persons. With `filterTestAccounts` a query counts the events that pass all " +
      "of them.",
    examples: [[{ key: "email", type: "person", operator: "not_icontains", value: "@example.com" }]],
  }),
  ...keptSettings,
  ...factSettings,
  effective_membership_level: Type.Optional(
    field.readOnly(Type.Integer({ description: `The calling user's: ${levelNames}.` })),
  ),
  group_types: field.readOnly(
    Type.Array(
      field.model("ProjectGroupType", {
        group_type: Type.String(),
        group_type_index: Type.Integer(),
        name_singular: field.nullable(Type.String()),
        name_plural: field.nullable(Type.String()),
      }),
      { description: "As `groups_types/` lists them." },
    ),
  ),
  has_group_types: field.readOnly(Type.Boolean()),
  created_at: field.readOnly(field.moment()),
  updated_at: field.readOnly(field.moment()),
});

export type Project = Static<typeof projectModel>;

export const projectBody = field.strictWritable(projectModel);

export type ProjectUpdate = field.UpdateInput<typeof projectBody>;

export const demoModel = field.model("DemoData", { is_generating_demo_data: Type.Boolean() });
