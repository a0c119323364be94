// Test deliveries are few a minute: each may write to fifty addresses of strangers.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { createProject } from "../../../src/projects/store.ts";
import { subscriptionLimits } from "../../../src/subscriptions/limits.ts";
import { startMsMax } from "../../support/accounts.ts";
import { problemOf } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import {
  addInsight,
  openSubscriptionDesk,
  required,
  type SubscriptionDesk,
} from "../../support/subscriptions.ts";

let desk: SubscriptionDesk;
let elapsed = 0;

beforeAll(async () => {
  desk = await openSubscriptionDesk();
  desk.clock.elapsed = () => elapsed;
}, startMsMax);

afterAll(cleanUp, startMsMax);

const most = subscriptionLimits.testDeliveriesPerMinuteMax;

/** As many subscriptions of a new project, by path: one of them can only have a few under way. */
async function makeSome(count: number): Promise<string[]> {
  const { organization_id } = desk.accounts;
  const { id } = await createProject(desk.sql, { organization_id, name: `Tests ${crypto.randomUUID()}` });
  const insight = await addInsight(desk.sql, id);
  const paths: string[] = [];
  for (let made = 0; made < count; made++) {
    const path = `/api/projects/${id}/subscriptions/`;
    const { body } = await desk.ask("POST", path, { ...required, insight });
    paths.push(`${path}${String(body["id"])}/test_delivery/`);
  }
  return paths;
}

test("past its test deliveries of a minute a project is throttled, at all of its addresses", async () => {
  const paths = await makeSome(most + 1);
  const [first = "", ...others] = paths;
  for (const path of others) expect((await desk.ask("POST", path)).status).toBe(201);
  elapsed += 15_000;
  for (const path of [first, first.replace("projects", "environments")]) {
    const refused = await desk.ask("POST", path);
    const detail = "Request was throttled. Expected available in 45 seconds.";
    expect(problemOf(refused)).toEqual([429, "throttled_error", "throttled", detail, null]);
    expect(refused.headers.get("retry-after")).toBe("45");
    const { body } = await desk.ask("GET", path.replace("test_delivery", "deliveries"));
    expect(body["count"]).toBe(0);
  }
  elapsed += 45_000;
  expect((await desk.ask("POST", first)).status).toBe(201);
});

test("other projects, and what names no subscription, take nothing from it", async () => {
  const [path = ""] = await makeSome(1);
  const nothing = path.replace(/\d+\/test_delivery/, "2000000000/test_delivery");
  for (let asked = 0; asked < most; asked++) expect((await desk.ask("POST", nothing)).status).toBe(404);
  expect((await desk.ask("POST", path)).status).toBe(201);
});
