// Subscriptions over HTTP. The worker of deliveries finds due ones.

import type { Addresses } from "../access/address.ts";
import type { Gate } from "../access/gate.ts";
import type { AccessProject } from "../access/scope.ts";
import { Fault, refuseInput } from "../core/fault.ts";
import { missingReference, present } from "../http/fields/field_fault.ts";
import * as parameter from "../http/fields/query.ts";
import { listSchema, reply } from "../http/fields/schema.ts";
import { mounted, projectOperation } from "../http/operation.ts";
import { pageReply } from "../http/pages/page.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { findMissing } from "../storage/postgres/rows.ts";
import type { Uses } from "../storage/services.ts";
import { deliveryOperations } from "./deliveries/operations.ts";
import { subscriptionLimits } from "./limits.ts";
import * as model from "./model.ts";
import { nextDate, type Schedule } from "./schedule.ts";
import * as store from "./store.ts";

export interface SubscriptionParts extends Uses<"sql" | "clock"> {
  addresses: Addresses;
}

const shownOne = { 200: reply("The subscription.", model.subscriptionModel) };

export function subscriptionRoutes({ gate, ...parts }: SubscriptionParts & { gate: Gate }) {
  return mounted(gate, "Subscriptions", [
    ...listOperations(parts),
    ...oneOperations(parts),
    ...deliveryOperations(parts),
  ]);
}

function listOperations(parts: SubscriptionParts) {
  const { sql } = parts;
  return [
    projectOperation("GET /subscriptions/", "subscription:read", {
      summary: "List subscriptions, newest first",
      query: {
        deleted: parameter.flagParameter("true: the deleted ones instead."),
        insight: parameter.referenceParameter("Only those of this insight."),
        dashboard: parameter.referenceParameter("Only those of this dashboard."),
        resource_type: parameter.choiceParameter("Only those of this.", ["insight", "dashboard"]),
        target_type: parameter.choiceParameter("Only those sent so.", model.targetTypes),
        created_by: parameter.uuidParameter("Only those of the user with this uuid."),
        search: parameter.searchParameter(
          "Only those with this text in their title, or the name of what they send.",
        ),
        ordering: parameter.choiceParameter(
          "The sort order, with a minus before it for the highest first; by default -created_at.",
          store.subscriptionOrders.flatMap((name) => [name, `-${name}`] as const),
        ),
        ...parameter.pageParameters("Subscriptions"),
      },
      replies: { 200: reply("The subscriptions.", listSchema(model.subscriptionModel)) },
      answer: async ({ project, query, url }) => {
        const filter = { ...query, deleted: query.deleted ?? false, project_id: project.id };
        return pageReply(url, query, await store.listSubscriptions(sql, filter, query));
      },
    }),
    projectOperation("POST /subscriptions/", "subscription:write", {
      summary: "Create a subscription",
      description: "Sends nothing yet: the first delivery is at next_delivery_date.",
      body: model.subscriptionBody,
      replies: { 201: reply("The subscription.", model.subscriptionModel) },
      answer: async ({ access, project, body }) => {
        await checkInput(parts, project.id, body, body);
        const now = parts.clock.now();
        const dates = {
          created_at: new Date(now),
          next_delivery_date: nextDate(withZone(body, project), now),
        };
        const newSubscription = await store.createSubscription(sql, {
          ...body,
          ...dates,
          project_id: project.id,
          user_id: access.user.id,
        });
        if (newSubscription) return newSubscription;
        const detail = `A project can have at most ${subscriptionLimits.subscriptionsPerProjectMax} subscriptions.`;
        throw new Fault("invalid_input", detail);
      },
    }),
  ];
}

function oneOperations(parts: SubscriptionParts) {
  const { sql } = parts;
  return [
    projectOperation("GET /subscriptions/:id/", "subscription:read", {
      summary: "Get a subscription",
      find: (request) => store.requireSubscription(sql, request),
      replies: shownOne,
      answer: ({ found }) => store.toSubscription(found),
    }),
    projectOperation("PATCH /subscriptions/:id/", "subscription:write", {
      summary: "Change or delete a subscription",
      description:
        '`{"deleted": true}` deletes it, `{"enabled": false}` pauses it. ' +
        "A change enables one that was disabled after failures.",
      put: "Change a subscription; fields without a default are required",
      find: (request) => store.requireSubscription(sql, request),
      body: model.subscriptionBody,
      replies: shownOne,
      answer: async ({ project, found, body }) => {
        await checkInput(parts, project.id, body, { ...found, ...body });
        const decide = (stored: store.StoredSubscription) =>
          revision(stored, body, project, parts.clock.now());
        return present(await store.reviseSubscription(sql, project.id, found.id, decide));
      },
    }),
  ];
}

/** @param whole the subscription after the change, with the fields that concern its target. */
async function checkInput(
  { sql, addresses }: SubscriptionParts,
  project_id: number,
  changes: model.SubscriptionUpdate,
  whole: Pick<model.Subscription, "target_type" | "target_value" | "dashboard" | "dashboard_export_insights">,
): Promise<void> {
  const missing = await findMissing(sql, project_id, changes);
  if (missing) throw missingReference(missing, changes[missing] ?? "");
  if (changes.dashboard_export_insights !== undefined || changes.dashboard !== undefined)
    await checkChosen(sql, whole);
  if (changes.target_type !== undefined || changes.target_value !== undefined)
    await checkTarget(addresses, whole);
  if (changes.bysetpos === 0)
    refuseInput("Ensure this value is between 1 and 366, or between -366 and -1.", "bysetpos");
}

/** @throws Fault for a value that is no target of its type, or an address that may not be reached. */
export async function checkTarget(
  addresses: Addresses,
  { target_type, target_value }: { target_type: model.TargetType; target_value: string },
): Promise<void> {
  const wrong = model.wrongTarget(target_type, target_value);
  if (wrong !== undefined) refuseInput(wrong, "target_value");
  const url = target_type === "email" ? undefined : model.parseWebUrl(target_value);
  const refusal = url && (await addresses.findResolvedRefusal(url.hostname));
  if (refusal !== undefined) refuseInput(refusal, "target_value");
}

/** @throws Fault for insights that the dashboard does not show. */
async function checkChosen(
  sql: Postgres,
  {
    dashboard,
    dashboard_export_insights: insightIds,
  }: Pick<model.Subscription, "dashboard" | "dashboard_export_insights">,
): Promise<void> {
  if (insightIds.length === 0) return;
  if (dashboard === null)
    refuseInput("Cannot set insights selection without a dashboard.", "dashboard_export_insights");
  const count = await store.countStrangers(sql, dashboard, insightIds);
  if (count > 0) refuseInput(`${count} invalid insight(s) selected.`, "dashboard_export_insights");
}

/** Fills in the project's zone where it has none of its own. */
function withZone<Zoned extends { timezone: string | null }>(schedule: Zoned, { timezone }: AccessProject) {
  return { ...schedule, timezone: schedule.timezone ?? timezone };
}

/** The next date changes when the schedule changes, or the subscription is restored or enabled again. */
function revision(
  stored: store.StoredSubscription,
  changes: model.SubscriptionUpdate,
  project: AccessProject,
  now: number,
) {
  const after = withZone({ ...stored, ...changes }, project);
  const moved = !Bun.deepEquals(comparable(withZone(stored, project)), comparable(after));
  const wasInactive = stored.deleted || stored.disabled_at !== null;
  const isRevived = wasInactive && !after.deleted && Object.keys(changes).length > 0;
  return moved || isRevived ? { changes, next: nextDate(after, now) } : { changes };
}

/** The fields that decide when a subscription is due. */
function comparable(schedule: Schedule) {
  const { frequency, interval, byweekday, bysetpos, count, start_date, until_date, timezone } = schedule;
  const moments = [start_date, until_date].map((moment) => moment && Date.parse(moment));
  return [frequency, interval, byweekday, bysetpos, count, timezone, ...moments];
}
