// An alert in replies, its checks, and the fields that can be set.

import Type, { type Static } from "typebox";
import * as field from "../../http/fields/field.ts";
import { userModel } from "../../http/fields/user.ts";
import { subscriptionLimits } from "../limits.ts";
import { alertLimits } from "./limits.ts";

const none = { default: null };

export const conditionTypes = ["absolute_value", "relative_increase", "relative_decrease"] as const;
export const checkIntervals = ["hourly", "daily", "weekly", "monthly"] as const;
export const alertStates = ["Firing", "Not firing", "Errored", "Snoozed"] as const;

const conditionModel = field.strictModel("AlertCondition", {
  type: Type.Optional(
    field.choice(conditionTypes, { description: "What is judged: the figure (by default), or its change." }),
  ),
});

const bound = (description: string) => Type.Optional(field.nullable(Type.Number({ description })));

const configurationModel = field.strictModel("AlertThresholdConfiguration", {
  type: field.choice(["absolute", "percentage"], {
    description: "percentage: bounds are shares of the value before, 0.2 for 20 %.",
  }),
  bounds: Type.Optional(
    field.nullable(
      field.strictModel("AlertBounds", {
        lower: bound("It fires below this."),
        upper: bound("It fires above this."),
      }),
    ),
  ),
});

const thresholdModel = field.model("AlertThreshold", {
  id: field.readOnly(Type.String({ format: "uuid" })),
  created_at: field.readOnly(field.moment()),
  name: Type.Optional(field.text({ blank: true, maxLength: alertLimits.nameCharsMax })),
  configuration: configurationModel,
});

const configModel = field.strictModel("AlertConfig", {
  type: field.choice(["TrendsAlertConfig", "FunnelsAlertConfig", "RetentionAlertConfig", "HogQLAlertConfig"]),
  series_index: Type.Optional(
    field.integer({
      minimum: 0,
      maximum: alertLimits.seriesIndexMax,
      description: "Which series, or column of numbers; of a breakdown all its values.",
    }),
  ),
  check_ongoing_interval: Type.Optional(
    field.nullable(
      field.flag({ description: "Judges the interval that is not over, too early for totals." }),
    ),
  ),
  metric: Type.Optional(field.choice(["conversion_from_start", "conversion_from_previous"])),
  funnel_step: Type.Optional(
    field.nullable(
      field.integer({ minimum: 0, maximum: 100, description: "From 0; by default the last step." }),
    ),
  ),
});

export const checkModel = field.model("AlertCheck", {
  id: Type.String({ format: "uuid" }),
  created_at: field.moment(),
  calculated_value: field.nullable(Type.Number(), {
    description: "What was judged: the figure, or its change.",
  }),
  value: field.nullable(Type.Number()),
  previous_value: field.nullable(Type.Number()),
  state: field.choice(alertStates),
  targets_notified: Type.Boolean({ description: "Whether it was told." }),
  delivery_status: field.nullable(Type.String(), { description: "As of a subscription's delivery." }),
  error: field.nullable(Type.String()),
});

const insightModel = field.model("AlertInsight", {
  id: Type.Integer(),
  short_id: Type.String(),
  name: field.nullable(Type.String()),
  derived_name: field.nullable(Type.String()),
});

export const alertModel = field.model("Alert", {
  id: field.readOnly(Type.String({ format: "uuid" })),
  created_by: field.readOnly(field.nullable(userModel)),
  created_at: field.readOnly(field.moment()),
  insight: field.readOnly(insightModel),
  name: field.line({ blank: true, default: "", maxLength: alertLimits.nameCharsMax }),
  subscribed_users: field.readOnly(Type.Array(userModel)),
  threshold: thresholdModel,
  condition: Type.Optional(conditionModel),
  state: field.readOnly(field.choice(alertStates)),
  enabled: field.flag({ default: true }),
  last_notified_at: field.readOnly(field.nullable(field.moment())),
  last_checked_at: field.readOnly(field.nullable(field.moment())),
  next_check_at: field.readOnly(field.nullable(field.moment({ description: "null: it is checked now." }))),
  config: field.nullable(configModel, none),
  calculation_interval: field.choice(checkIntervals, { default: "daily" }),
  snoozed_until: field.nullable(
    field.line({ description: "A moment, or a time from now: 2h, 3d. It is not checked until then." }),
    none,
  ),
  skip_weekend: field.flag({ default: false, description: "Hourly and daily ones are not checked then." }),
  target_type: field.nullable(field.choice(["slack", "webhook"]), none),
  target_value: field.nullable(field.line({ maxLength: subscriptionLimits.targetCharsMax }), none),
  checks: Type.Optional(
    field.readOnly(Type.Array(checkModel, { description: "The latest first; where one alert is read." })),
  ),
});
export type Alert = Static<typeof alertModel>;

const absentDetector = "Figures are judged by thresholds only.";
/** What a reply has as objects may be sent by its id or as it was read. */
const users = { type: "array", items: { anyOf: [{ type: "integer" }, { type: "object" }] } };
const properties = field.writable(alertModel).properties;

export const alertBody = field.strictModel(
  "AlertRequest",
  {
    insight: Type.Unknown({
      "x-shown": { anyOf: [{ type: "integer" }, { type: "object" }] },
      description: "An insight of this project: trends, a funnel, retention or SQL.",
    }),
    subscribed_users: Type.Array(Type.Unknown(), {
      default: [],
      maxItems: alertLimits.usersMax,
      "x-shown": users,
      description: "The ids of members who are told by e-mail.",
    }),
    ...properties,
    threshold: field.strictModel(
      "AlertThresholdRequest",
      field.writable(thresholdModel).properties,
      thresholdModel,
    ),
    detector_config: field.unsupported(absentDetector),
    forecast_config: field.unsupported(absentDetector),
    schedule_restriction: field.unsupported("Only weekends can be skipped."),
    investigation_agent_enabled: field.unsupported("Nothing is written by a language model here.", [false]),
  },
  alertModel,
);
export type AlertInput = field.CreateInput<typeof alertBody>;
export type AlertUpdate = field.UpdateInput<typeof alertBody>;
