// Subscriptions over HTTP. Never sends anything itself: what is due, or asked for, the deliverer finds.

import { Elysia } from "elysia";
import type { Addresses } from "../access/address.ts";
import { type Access, type Gate, projectHomes } from "../access/gate.ts";
import { openRateLimit } from "../access/rate.ts";
import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { subscriptionLimits } from "./limits.ts";
import { readChanges, readFields, readReplacement } from "../http/body.ts";
import { missingReference } from "../http/fields/field_fault.ts";
import { pageReply, readPage, requestUrl } from "../http/pages/page.ts";
import {
  flagParameter,
  listSchema,
  pageParameters,
  referenceParameter,
  reply,
  requestBody,
} from "../http/fields/schema.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { type DeliveryRoutes, deliveryRoutes } from "./deliveries/route.ts";
import {
  checkSubscription,
  checkTarget,
  scheduleFields,
  type Subscription,
  subscriptionBody,
  type SubscriptionUpdate,
  subscriptionModel,
  type SubscriptionInput,
  type TargetType,
  webUrlOf,
} from "./model.ts";
import { readListFilter } from "./list_filter.ts";
import { nextOccurrence, type Schedule } from "./schedule.ts";
import {
  createSubscription,
  findMissing,
  findSubscription,
  listSubscriptions,
  type Revision,
  reviseSubscription,
  shownOf,
  type StoredSubscription,
} from "./store.ts";

export interface SubscriptionRoutes {
  gate: Gate;
  sql: Postgres;
  clock: Clock;
  addresses: Addresses;
}

export function subscriptionRoutes(parts: SubscriptionRoutes) {
  const { clock } = parts;
  const testRate = openRateLimit(subscriptionLimits.testDeliveriesPerMinuteMax, clock);
  const find: DeliveryRoutes["find"] = (project_id, params) => present(parts, project_id, params);
  const delivering = { ...parts, testRate, find };
  const app = new Elysia({ name: "subscriptions", tags: ["Subscriptions"] });
  for (const home of projectHomes) {
    const list = `${home}/subscriptions/`;
    const one = `${list}:id/`;
    app.use(listRoutes(parts, list)).use(oneRoutes(parts, one)).use(deliveryRoutes(delivering, one));
  }
  return app;
}

function listRoutes(parts: SubscriptionRoutes, path: string) {
  const { gate, sql } = parts;
  return new Elysia({ name: `subscriptions: ${path}`, tags: ["Subscriptions"] })
    .use(gate)
    .get(
      path,
      async ({ project, request }) => {
        const url = requestUrl(request);
        const page = readPage(url.searchParams);
        const filter = { project_id: project.id, ...readListFilter(url.searchParams) };
        const { count, subscriptions } = await listSubscriptions(sql, filter, page);
        return pageReply(url, page, count, subscriptions);
      },
      {
        project_scope: "subscription:read",
        detail: {
          summary: "List subscriptions, newest first",
          parameters: [
            flagParameter("deleted", "true: the deleted ones instead."),
            referenceParameter("insight", "Only those of this insight."),
            referenceParameter("dashboard", "Only those of this dashboard."),
            ...pageParameters("Subscriptions"),
          ],
          responses: { 200: reply("The subscriptions.", listSchema(subscriptionModel)) },
        },
      },
    )
    .post(
      path,
      async ({ access, project, request, status }) =>
        status(201, await makeSubscription(parts, project.id, access, request)),
      {
        project_scope: "subscription:write",
        detail: {
          summary: "Create a subscription",
          description: "Sends nothing yet: the first delivery is at next_delivery_date.",
          requestBody: requestBody(subscriptionBody),
          responses: { 201: reply("The subscription.", subscriptionModel) },
        },
      },
    );
}

function oneRoutes(parts: SubscriptionRoutes, path: string) {
  return new Elysia({ name: `subscriptions: ${path}`, tags: ["Subscriptions"] })
    .use(parts.gate)
    .get(path, async ({ project, params }) => shownOf(await present(parts, project.id, params)), {
      project_scope: "subscription:read",
      detail: { summary: "Get a subscription", responses: { 200: shownOne } },
    })
    .patch(
      path,
      async ({ project, params, request }) => {
        const read = async () => (await readChanges(request, subscriptionBody)) as SubscriptionUpdate;
        return await changeSubscription(parts, project.id, params, read);
      },
      {
        project_scope: "subscription:write",
        detail: {
          summary: "Change or delete a subscription",
          description:
            '`{"deleted": true}` deletes it. A change gives one that was disabled after failures another chance.',
          requestBody: requestBody(subscriptionBody, { partial: true }),
          responses: { 200: shownOne },
        },
      },
    )
    .put(
      path,
      async ({ project, params, request }) => {
        const read = async () => (await readReplacement(request, subscriptionBody)) as SubscriptionUpdate;
        return await changeSubscription(parts, project.id, params, read);
      },
      {
        project_scope: "subscription:write",
        detail: {
          summary: "Change a subscription, naming what has no default",
          requestBody: requestBody(subscriptionBody),
          responses: { 200: shownOne },
        },
      },
    );
}

const shownOne = reply("The subscription.", subscriptionModel);

/** Ids are whole numbers that Postgres can hold; anything else names none. */
async function present(
  { sql }: SubscriptionRoutes,
  project_id: number,
  { id = "" }: { id?: string },
): Promise<StoredSubscription> {
  const number = /^[1-9]\d{0,9}$/.test(id) ? Number(id) : 0;
  const known = number > 0 && number <= 2_147_483_647;
  const found = known ? await findSubscription(sql, project_id, number) : undefined;
  if (!found) throw new Fault("not_found", "Not found.");
  return found;
}

/** `whole`: what the subscription will be, as far as its target goes. */
async function checkInput(
  { sql, addresses }: SubscriptionRoutes,
  project_id: number,
  changes: SubscriptionUpdate,
  whole: { target_type: TargetType; target_value: string },
): Promise<void> {
  const missing = await findMissing(sql, project_id, changes);
  if (missing) throw missingReference(missing, changes[missing] ?? "");
  if (changes.target_type !== undefined || changes.target_value !== undefined) {
    checkTarget(whole.target_type, whole.target_value);
    const url = whole.target_type === "email" ? undefined : webUrlOf(whole.target_value);
    const refusal = url && (await addresses.resolvedRefusalOf(url.hostname));
    if (refusal !== undefined) throw new Fault("invalid_input", refusal, { attr: "target_value" });
  }
  checkSubscription(changes);
}

async function makeSubscription(
  parts: SubscriptionRoutes,
  project_id: number,
  access: Access,
  request: Request,
): Promise<Subscription> {
  const input = (await readFields(request, subscriptionBody)) as SubscriptionInput;
  await checkInput(parts, project_id, input, input);
  const now = parts.clock.now();
  const dates = { created_at: new Date(now), next_delivery_date: nextDate(input, now) };
  const made = await createSubscription(parts.sql, {
    ...input,
    ...dates,
    project_id,
    user_id: access.user.id,
  });
  if (made) return made;
  const detail = `A project can have at most ${subscriptionLimits.subscriptionsPerProjectMax} subscriptions.`;
  throw new Fault("invalid_input", detail);
}

async function changeSubscription(
  parts: SubscriptionRoutes,
  project_id: number,
  params: { id?: string },
  read: () => Promise<SubscriptionUpdate>,
): Promise<Subscription> {
  const before = await present(parts, project_id, params);
  const { id } = before;
  const changes = await read();
  await checkInput(parts, project_id, changes, { ...before, ...changes });
  const changed = await reviseSubscription(parts.sql, project_id, id, (now) =>
    revision(now, changes, parts.clock.now()),
  );
  if (!changed) throw new Fault("not_found", "Not found.");
  return changed;
}

/** The next date moves when the schedule does, and when the subscription comes back to life. */
function revision(before: StoredSubscription, changes: SubscriptionUpdate, now: number): Revision {
  const after = { ...before, ...changes };
  const moved = scheduleFields.some((name) => changes[name] !== undefined && !isSame(name, before, after));
  const slept = before.deleted || before.disabled_at !== null;
  const woken = slept && !after.deleted && Object.keys(changes).length > 0;
  return moved || woken ? { changes, next: nextDate(after, now) } : { changes };
}

function isSame(name: (typeof scheduleFields)[number], before: Schedule, after: Schedule): boolean {
  if (name !== "start_date" && name !== "until_date") return Bun.deepEquals(before[name], after[name]);
  const [one, other] = [before[name], after[name]];
  return one === null || other === null ? one === other : Date.parse(one) === Date.parse(other);
}

function nextDate(schedule: Schedule, now: number): Date | null {
  const next = nextOccurrence(schedule, now + subscriptionLimits.deliveryLeadMs);
  return next === undefined ? null : new Date(next);
}
