// One project's deliveries beside another's: webhooks that never answer hold nobody else up.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { createProject } from "../../../src/projects/store.ts";
import { subscriptionLimits } from "../../../src/subscriptions/limits.ts";
import { startMsMax } from "../../support/accounts.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { until } from "../../support/server.ts";
import {
  addInsight,
  deskTime,
  openDelivering,
  openSubscriptionDesk,
  readerOf,
  signUps,
  type SubscriptionDesk,
} from "../../support/subscriptions.ts";
import { openWebSink, type WebSink } from "../../support/web_sink.ts";

let desk: SubscriptionDesk;
let web: WebSink;
let ids: number[];
let release: PromiseWithResolvers<void>;

beforeAll(async () => {
  desk = await openSubscriptionDesk(true);
  web = openWebSink();
  const { organization_id, project_id } = desk.accounts;
  ids = [project_id];
  for (const name of ["Second", "Third"])
    ids.push((await createProject(desk.sql, { organization_id, name })).id);
}, startMsMax);

afterAll(cleanUp, startMsMax);

beforeEach(async () => {
  await desk.sql`DELETE FROM subscriptions`;
  desk.clock.at = Date.parse(deskTime);
  web.posted.length = 0;
  release = Promise.withResolvers<void>();
  web.answer = async ({ path }) => {
    if (path === "/hang") await release.promise;
    return new Response("ok");
  };
});

/** Subscriptions that are due now. */
async function subscribe(project_id: number, path: string, count: number): Promise<void> {
  const insight = await addInsight(desk.sql, project_id);
  const now = new Date(desk.clock.at);
  await desk.sql`
    INSERT INTO subscriptions (project_id, insight_id, target_type, target_value, frequency, start_date, created_at,
      next_delivery_date)
    SELECT ${project_id}, ${insight}, 'webhook', ${web.url + path}, 'daily', ${now}, ${now}, ${now}
    FROM generate_series(1, ${count})`;
}

const posted = (path: string) => web.posted.filter((one) => one.path === path).length;

test("a thousand webhooks of one project that never answer leave places to another's", async () => {
  const work = openDelivering(desk);
  await subscribe(ids[0]!, "/hang", 1000);
  await work.poll();
  const share = subscriptionLimits.deliveriesAtOnceMax / 2;
  await until(() => Promise.resolve(posted("/hang") === share));
  await subscribe(ids[1]!, "/quick", 30);
  await work.poll();
  await until(() => Promise.resolve(posted("/quick") === 30));
  expect(posted("/hang")).toBe(share);
  // The end takes what is left with it.
  await desk.sql`DELETE FROM subscriptions WHERE project_id = ${ids[0]!}`;
  release.resolve();
  await work.settle();
});

test("test deliveries that never answer leave places as well", async () => {
  const work = openDelivering(desk);
  await subscribe(ids[0]!, "/hang", 50);
  const now = new Date(desk.clock.at);
  await desk.sql`
    INSERT INTO subscription_deliveries (uuid, subscription_id, due_at, test, next_attempt_at, created_at)
    SELECT gen_random_uuid(), id, ${now}, true, ${now}, ${now} FROM subscriptions, generate_series(1, 5)`;
  await subscribe(ids[1]!, "/quick", 1);
  await work.poll();
  await until(() => Promise.resolve(posted("/quick") === 1));
  expect(posted("/hang")).toBeLessThanOrEqual(subscriptionLimits.deliveriesAtOnceMax / 2);
  await desk.sql`DELETE FROM subscriptions WHERE project_id = ${ids[0]!}`;
  release.resolve();
  await work.settle();
});

test("one project's insights that take long to read do not keep another's from being read", async () => {
  const reading = Promise.withResolvers<void>();
  const quickly = readerOf([signUps]);
  let slow = 0;
  const reader = {
    ...quickly,
    insight: async (project_id: number, id: number) => {
      if (project_id === ids[0]) {
        slow++;
        await reading.promise;
      }
      return await quickly.insight(project_id, id);
    },
  };
  const work = openDelivering(desk, { reader });
  // Each of its own insight, so that none is read for another.
  for (let i = 0; i < 8; i++) await subscribe(ids[0]!, "/quick/slow", 1);
  await subscribe(ids[2]!, "/quick", 1);
  await work.poll();
  await until(() => Promise.resolve(posted("/quick") === 1));
  expect(slow).toBe(1);
  expect(posted("/quick/slow")).toBe(0);
  reading.resolve();
  await work.settle();
  expect(posted("/quick/slow")).toBe(8);
});
