// What a subscription and its deliveries look like in a reply, and what of a subscription can be set. Never how
// they rest.

import Type, { type Static } from "typebox";
import { Fault } from "../core/fault.ts";
import { subscriptionLimits } from "./limits.ts";
import {
  type UpdateInput,
  choice,
  flag,
  integer,
  model,
  moment,
  nullable,
  readOnly,
  reference,
  text,
  timezone,
  type CreateInput,
  writable,
} from "../http/fields/field.ts";
import { userModel } from "../http/fields/user.ts";
import { addressesIn, isAddress } from "./channels/address_list.ts";
import { frequencies, type Frequency, type Schedule, type Weekday, weekdays } from "./schedule.ts";

export const targetTypes = ["email", "slack", "webhook"] as const;
export type TargetType = (typeof targetTypes)[number];

export const subscriptionModel = model("Subscription", {
  id: readOnly(Type.Integer()),
  dashboard: nullable(reference({ description: "A dashboard of this project." }), { default: null }),
  insight: nullable(reference({ description: "An insight of this project." }), { default: null }),
  target_type: choice(targetTypes),
  target_value: text({
    maxLength: subscriptionLimits.targetCharsMax,
    description:
      "email: addresses, separated by commas. webhook: a URL. slack: the URL of an incoming webhook " +
      "(there is no connection to Slack that a channel could be reached by).",
    examples: ["me@example.com"],
  }),
  frequency: choice(frequencies),
  interval: integer({ minimum: 1, default: 1, description: "Every so many days, weeks, months or years." }),
  byweekday: nullable(Type.Array(choice(weekdays), { maxItems: subscriptionLimits.weekdaysMax }), {
    default: null,
  }),
  bysetpos: nullable(
    integer({
      minimum: -366,
      maximum: 366,
      description: "Which of the named weekdays of a period: 1 the first, -1 the last.",
    }),
    { default: null },
  ),
  count: nullable(integer({ description: "Occurrences from start_date on; then it ends." }), {
    default: null,
  }),
  start_date: moment({ description: "The first day, and the time of day of every delivery." }),
  until_date: nullable(moment(), { default: null }),
  created_at: readOnly(moment()),
  created_by: readOnly(nullable(userModel)),
  deleted: flag({ default: false }),
  title: nullable(text({ maxLength: 100, blank: true }), { default: null }),
  summary: readOnly(Type.String({ description: "The schedule in words." })),
  next_delivery_date: readOnly(nullable(moment())),
  invite_message: nullable(text({ maxLength: subscriptionLimits.inviteCharsMax, blank: true }), {
    default: null,
  }),
  timezone: nullable(
    timezone({ description: "Whose wall clock start_date's time keeps through changes; null: UTC." }),
    { default: null },
  ),
});

export type Subscription = Static<typeof subscriptionModel>;

/** What a request may say of a subscription. */
export const subscriptionBody = writable(subscriptionModel);

/** The words a schema's choices allow, which its type only knows as texts. */
interface Chosen {
  target_type: TargetType;
  frequency: Frequency;
  byweekday: Weekday[] | null;
}

export type SubscriptionInput = Omit<CreateInput<typeof subscriptionBody>, keyof Chosen> & Chosen;
export type SubscriptionUpdate = Omit<UpdateInput<typeof subscriptionBody>, keyof Chosen> & Partial<Chosen>;

export const deliveryStatuses = ["pending", "retrying", "delivered", "failed"] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export const deliveryModel = model("SubscriptionDelivery", {
  id: Type.Integer(),
  status: choice(deliveryStatuses),
  error: nullable(Type.String({ description: "Why it failed, or what the last attempt met." })),
  delivered_at: nullable(moment()),
  due_at: moment(),
  test: Type.Boolean({ description: "Asked for by test_delivery, beside the schedule." }),
  attempts: Type.Integer(),
  next_attempt_at: nullable(moment()),
  created_at: moment(),
});

export type Delivery = Static<typeof deliveryModel>;

/** What of a subscription says when it falls due. */
export const scheduleFields = [
  "frequency",
  "interval",
  "byweekday",
  "bysetpos",
  "count",
  "start_date",
  "until_date",
  "timezone",
] as const satisfies readonly (keyof Schedule)[];

/**
 * What the schema cannot say of one field. Whether a host may be reached is the route's to ask.
 * @throws Fault invalid_input.
 */
export function checkSubscription(fields: SubscriptionUpdate): void {
  if (fields.bysetpos === 0) {
    const detail = "Ensure this value is between 1 and 366, or between -366 and -1.";
    throw new Fault("invalid_input", detail, { attr: "bysetpos" });
  }
}

/**
 * Whether the target's value is one of its type.
 * @throws Fault invalid_input on target_value.
 */
export function checkTarget(type: TargetType, value: string): void {
  const wrong = wrongTarget(type, value);
  if (wrong !== undefined) throw new Fault("invalid_input", wrong, { attr: "target_value" });
}

function wrongTarget(type: TargetType, value: string): string | undefined {
  if (type === "email") {
    const addresses = addressesIn(value);
    const wrong = addresses.find((one) => !isAddress(one));
    if (wrong !== undefined) return `"${wrong.slice(0, 100)}" is not an e-mail address.`;
    if (addresses.length === 0) return "Enter at least one e-mail address.";
    if (addresses.length > subscriptionLimits.recipientsMax)
      return `Enter at most ${subscriptionLimits.recipientsMax} e-mail addresses.`;
    return undefined;
  }
  if (type === "slack" && !/^https?:/i.test(value)) {
    return "A channel cannot be reached: there is no connection to Slack. Enter the URL of an incoming webhook.";
  }
  return webUrlOf(value) === undefined
    ? "Enter a valid URL that starts with http:// or https://."
    : undefined;
}

/** The URL of a webhook; undefined when the text is none. */
export function webUrlOf(value: string): URL | undefined {
  if (!/^https?:\/\/\S+$/i.test(value) || !URL.canParse(value)) return undefined;
  return new URL(value);
}
