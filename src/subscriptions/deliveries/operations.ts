// A subscription's deliveries over HTTP: what was sent, and a test delivery. The worker of deliveries sends them.

import { openRateLimit } from "../../access/rate.ts";
import type { Clock } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { pageParameters } from "../../http/fields/query.ts";
import { listSchema, reply } from "../../http/fields/schema.ts";
import { projectOperation } from "../../http/operation.ts";
import { pageReply } from "../../http/pages/page.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { subscriptionLimits } from "../limits.ts";
import { deliveryModel } from "../model.ts";
import { subscriptionOf } from "../store.ts";
import { addTestDelivery, listDeliveries } from "./list_store.ts";

export function deliveryOperations({ sql, clock }: { sql: Postgres; clock: Clock }) {
  const testRate = openRateLimit(subscriptionLimits.testDeliveriesPerMinuteMax, clock);
  return [
    projectOperation("GET /subscriptions/:id/deliveries/", "subscription:read", {
      summary: "List a subscription's deliveries, newest first",
      find: (request) => subscriptionOf(sql, request),
      query: pageParameters("Deliveries"),
      replies: { 200: reply("The deliveries.", listSchema(deliveryModel)) },
      answer: async ({ found, query, url }) =>
        pageReply(url, query, await listDeliveries(sql, found.id, query)),
    }),
    projectOperation("POST /subscriptions/:id/test_delivery/", "subscription:write", {
      summary: "Deliver now, outside the schedule",
      description:
        "Retried like any other delivery; next_delivery_date stays. " +
        `A project may ask for ${subscriptionLimits.testDeliveriesPerMinuteMax} in a minute, then it is throttled.`,
      find: (request) => subscriptionOf(sql, request),
      replies: { 201: reply("The started delivery.", deliveryModel) },
      answer: async ({ project, found }) => {
        if (found.deleted) throw new Fault("invalid_input", "The subscription is deleted.");
        testRate.count(String(project.id));
        const made = await addTestDelivery(sql, found.id, new Date(clock.now()));
        if (made) return made;
        const detail = `${subscriptionLimits.testDeliveriesMax} test deliveries are under way already.`;
        throw new Fault("conflict", detail);
      },
    }),
  ];
}
