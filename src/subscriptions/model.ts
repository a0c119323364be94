// A subscription and its deliveries in replies, and the fields of a subscription that can be set.

import Type, { type Static } from "typebox";
import * as field from "../http/fields/field.ts";
import { userModel } from "../http/fields/user.ts";
import { addressesIn, isAddress } from "./channels/address_list.ts";
import { subscriptionLimits } from "./limits.ts";
import { frequencies, weekdays } from "./schedule.ts";

export const targetTypes = ["email", "slack", "webhook"] as const;
export type TargetType = (typeof targetTypes)[number];

const none = { default: null };

export const subscriptionModel = field.model("Subscription", {
  id: field.readOnly(Type.Integer()),
  dashboard: field.nullable(field.reference({ description: "A dashboard of this project." }), none),
  insight: field.nullable(field.reference({ description: "An insight of this project." }), none),
  dashboard_export_insights: Type.Array(field.reference(), {
    default: [],
    maxItems: subscriptionLimits.chosenInsightsMax,
    description: "The insights of the dashboard that are sent; empty: all of them.",
  }),
  target_type: field.choice(targetTypes),
  target_value: field.text({
    maxLength: subscriptionLimits.targetCharsMax,
    description:
      "email: addresses, separated by commas. webhook: a URL. slack: the URL of an incoming webhook " +
      "(there is no connection to Slack for channels).",
    examples: ["me@example.com"],
  }),
  frequency: field.choice(frequencies),
  interval: field.integer({
    minimum: 1,
    default: 1,
    description: "Every so many days, weeks, months or years.",
  }),
  byweekday: field.nullable(
    Type.Array(field.choice(weekdays), { maxItems: subscriptionLimits.weekdaysMax }),
    none,
  ),
  bysetpos: field.nullable(
    field.integer({
      minimum: -366,
      maximum: 366,
      description: "Which of the named weekdays of a period: 1 the first, -1 the last.",
    }),
    none,
  ),
  count: field.nullable(
    field.integer({
      maximum: subscriptionLimits.occurrencesMax,
      description: "Occurrences from start_date on; then it ends.",
    }),
    none,
  ),
  start_date: field.moment({ description: "The first day, and the time of day of every delivery." }),
  until_date: field.nullable(field.moment(), none),
  created_at: field.readOnly(field.moment()),
  created_by: field.readOnly(field.nullable(userModel)),
  deleted: field.flag({ default: false }),
  enabled: field.flag({ default: true, description: "false: nothing is sent." }),
  title: field.nullable(field.line({ maxLength: 100, blank: true }), none),
  summary: field.readOnly(Type.String({ description: "The schedule in words." })),
  next_delivery_date: field.readOnly(field.nullable(field.moment())),
  invite_message: field.nullable(
    field.text({ maxLength: subscriptionLimits.inviteCharsMax, blank: true }),
    none,
  ),
  timezone: field.nullable(
    field.timezone({ description: "The time zone of start_date's time of day; null: the project's." }),
    none,
  ),
});

export type Subscription = Static<typeof subscriptionModel>;

const ofAi = "Nothing is written by a language model here.";

export const subscriptionBody = field.strictModel(
  "SubscriptionRequest",
  {
    ...field.writable(subscriptionModel).properties,
    content_type: field.unsupported("Only an insight or a dashboard is sent.", ["insight", "dashboard"]),
    integration_id: field.unsupported(
      "There is no connection to Slack: send the URL of an incoming webhook.",
    ),
    prompt: field.unsupported(ofAi),
    ai_config: field.unsupported(ofAi),
    summary_enabled: field.unsupported(ofAi),
    summary_prompt_guide: field.unsupported(ofAi),
  },
  subscriptionModel,
);

export type SubscriptionInput = field.CreateInput<typeof subscriptionBody>;
export type SubscriptionUpdate = field.UpdateInput<typeof subscriptionBody>;

export const deliveryModel = field.model("SubscriptionDelivery", {
  id: Type.Integer(),
  status: field.choice(["pending", "retrying", "delivered", "failed"]),
  error: field.nullable(Type.String({ description: "Why it failed, or why the last attempt did." })),
  delivered_at: field.nullable(field.moment()),
  due_at: field.moment(),
  test: Type.Boolean({ description: "Requested by test_delivery, outside the schedule." }),
  attempts: Type.Integer(),
  next_attempt_at: field.nullable(field.moment()),
  created_at: field.moment(),
});

export type Delivery = Static<typeof deliveryModel>;

/** Finds what is wrong with a target; undefined when its value is one of its type. */
export function wrongTarget(type: TargetType, value: string): string | undefined {
  if (type === "email") {
    const addresses = addressesIn(value);
    const wrong = addresses.find((name) => !isAddress(name));
    if (wrong !== undefined) return `"${wrong.slice(0, 100)}" is not an e-mail address.`;
    if (addresses.length === 0) return "Enter at least one e-mail address.";
    if (addresses.length > subscriptionLimits.recipientsMax)
      return `Enter at most ${subscriptionLimits.recipientsMax} e-mail addresses.`;
    return undefined;
  }
  if (type === "slack" && !/^https?:/i.test(value))
    return "A channel cannot be reached: there is no connection to Slack. Enter the URL of an incoming webhook.";
  return parseWebUrl(value) === undefined
    ? "Enter a valid URL that starts with http:// or https://."
    : undefined;
}

/** The URL of a webhook; undefined when the text is none. */
export function parseWebUrl(value: string): URL | undefined {
  if (!/^https?:\/\/\S+$/i.test(value) || !URL.canParse(value)) return undefined;
  return new URL(value);
}
