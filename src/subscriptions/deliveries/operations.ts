// Deliveries of a subscription over HTTP.

import { openRateLimit } from "../../access/rate.ts";
import type { Clock } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { parseRowId, present } from "../../http/fields/field_fault.ts";
import * as parameter from "../../http/fields/query.ts";
import { listSchema, reply } from "../../http/fields/schema.ts";
import { projectOperation } from "../../http/operation.ts";
import { pageReply } from "../../http/pages/page.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { subscriptionLimits } from "../limits.ts";
import * as model from "../model.ts";
import * as store from "../store.ts";
import { addTestDelivery, getDelivery, listDeliveries } from "./listing_store.ts";

export function deliveryOperations({ sql, clock }: { sql: Postgres; clock: Clock }) {
  const testRate = openRateLimit(subscriptionLimits.testDeliveriesPerMinuteMax, clock);
  return [
    projectOperation("GET /subscriptions/:id/deliveries/", "subscription:read", {
      summary: "List a subscription's deliveries, newest first",
      find: (request) => store.requireSubscription(sql, request),
      query: parameter.pageParameters("Deliveries"),
      replies: { 200: reply("The deliveries.", listSchema(model.deliveryModel)) },
      answer: async ({ found, query, url }) =>
        pageReply(url, query, await listDeliveries(sql, found.id, query)),
    }),
    projectOperation("GET /subscriptions/:id/deliveries/:delivery_id/", "subscription:read", {
      summary: "Get a delivery of a subscription",
      find: async ({ project, params }) => {
        const { id } = await store.requireSubscription(sql, { project, params });
        return present(await getDelivery(sql, id, parseRowId(params.delivery_id)));
      },
      replies: { 200: reply("The delivery.", model.deliveryModel) },
      answer: ({ found }) => found,
    }),
    // PostHog documents the name with a dash.
    ...(["test_delivery", "test-delivery"] as const).map((name) =>
      projectOperation(`POST /subscriptions/:id/${name}/`, "subscription:write", {
        summary: "Deliver now, outside the schedule",
        description:
          "Retried like any other delivery; next_delivery_date stays. " +
          `A project may ask for ${subscriptionLimits.testDeliveriesPerMinuteMax} in a minute, then it is throttled.`,
        find: (request) => store.requireSubscription(sql, request),
        replies: { 201: reply("The started delivery.", model.deliveryModel) },
        answer: async ({ project, found }) => {
          if (found.deleted) throw new Fault("invalid_input", "The subscription is deleted.");
          testRate.count(String(project.id));
          const made = await addTestDelivery(sql, found.id, new Date(clock.now()));
          if (made) return made;
          const detail = `${subscriptionLimits.testDeliveriesMax} test deliveries are under way already.`;
          throw new Fault("conflict", detail);
        },
      }),
    ),
  ];
}
