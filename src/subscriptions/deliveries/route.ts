// A subscription's deliveries over HTTP: what was sent, and one asked for now. Never sends anything itself.

import { Elysia } from "elysia";
import type { Gate } from "../../access/gate.ts";
import type { RateLimit } from "../../access/rate.ts";
import type { Clock } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { subscriptionLimits } from "../limits.ts";
import { pageReply, readPage, requestUrl } from "../../http/pages/page.ts";
import { listSchema, pageParameters, reply } from "../../http/fields/schema.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { deliveryModel } from "../model.ts";
import { addTestDelivery, listDeliveries, type StoredSubscription } from "../store.ts";

export interface DeliveryRoutes {
  gate: Gate;
  sql: Postgres;
  clock: Clock;
  /** Of one project's test deliveries, whichever of its addresses they are asked for at. */
  testRate: RateLimit;
  /** The subscription that a path names. @throws Fault not_found */
  find(project_id: number, params: { id?: string }): Promise<StoredSubscription>;
}

/** `path`: of one subscription, with its slash. */
export function deliveryRoutes({ gate, sql, clock, testRate, find }: DeliveryRoutes, path: string) {
  return new Elysia({ name: `subscriptions: deliveries of ${path}`, tags: ["Subscriptions"] })
    .use(gate)
    .get(
      `${path}deliveries/`,
      async ({ project, params, request }) => {
        const { id } = await find(project.id, params);
        const url = requestUrl(request);
        const page = readPage(url.searchParams);
        const { count, deliveries } = await listDeliveries(sql, id, page);
        return pageReply(url, page, count, deliveries);
      },
      {
        project_scope: "subscription:read",
        detail: {
          summary: "List a subscription's deliveries, newest first",
          parameters: [...pageParameters("Deliveries")],
          responses: { 200: reply("The deliveries.", listSchema(deliveryModel)) },
        },
      },
    )
    .post(
      `${path}test_delivery/`,
      async ({ project, params, status }) => {
        const found = await find(project.id, params);
        if (found.deleted) throw new Fault("invalid_input", "The subscription is deleted.");
        testRate.take(String(project.id));
        const made = await addTestDelivery(sql, found.id, new Date(clock.now()));
        if (made) return status(201, made);
        const detail = `${subscriptionLimits.testDeliveriesMax} test deliveries are under way already.`;
        throw new Fault("conflict", detail);
      },
      {
        project_scope: "subscription:write",
        detail: {
          summary: "Deliver now, beside the schedule",
          description:
            "Retried like any other delivery; next_delivery_date stays. " +
            `A project may ask for ${subscriptionLimits.testDeliveriesPerMinuteMax} in a minute, then it is throttled.`,
          responses: { 201: reply("The delivery that is under way.", deliveryModel) },
        },
      },
    );
}
