// Lists of recordings as strangers expect them: PostHog's test_session_recording_list_operands_queries.py,
// …_basic_queries.py, …_event_filters.py and …_person_filters.py, and the public threads that each test names.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { bodyOf, event } from "../support/recordings.ts";
import { projectKey, rested, until } from "../support/server.ts";

let app: RunningApp;
const began = Date.now() - 3_600_000;
const sessions = new Map(["tv", "tn", "ov", "on"].map((name) => [name, Bun.randomUUIDv7("hex", began)]));

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  await ask(app, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
  const batch: object[] = [];
  for (const [name, session] of sessions) {
    const events = [
      event.page(began, "https://ex.example/a"),
      event.whole(began + 1),
      event.click(began + 61_000),
    ];
    const body = bodyOf({ session, events, distinct_id: name });
    await until(async () => (await ask(app, "POST", "/s/", body, "")).text === '{"status":"Ok"}');
    batch.push({
      event: "$pageview",
      distinct_id: name,
      timestamp: new Date(began + 100).toISOString(),
      properties: {
        $session_id: session,
        $pathname: name[0] === "t" ? "/my-target-page" : "/my-other-page",
        vip: name[1] === "v",
        $set: { email: `${name}@x.org` },
      },
    });
  }
  await ask(app, "POST", "/batch/", { api_key: projectKey, batch }, "");
  await rested(app);
}, startMsMax);
afterAll(cleanUp, startMsMax);

async function find(parameters: Record<string, unknown>): Promise<string[]> {
  const texts = Object.entries(parameters).map(([key, value]) => [
    key,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  const query = new URLSearchParams([["date_from", "-3d"], ...(texts as [string, string][])]);
  const { status, body } = await ask(app, "GET", `/api/projects/1/session_recordings/?${query}`);
  expect([status, body["detail"]]).toEqual([200, undefined]);
  const names = new Map([...sessions].map(([name, session]) => [session, name]));
  return (body["results"] as { id: string }[]).map(({ id }) => names.get(id)!);
}

const seen = (key: string, operator: string, value: unknown) => ({
  id: "$pageview",
  type: "events",
  properties: [{ key, type: "event", operator, value }],
});
const vip = seen("vip", "exact", ["true"]);
const target = seen("$pathname", "icontains", "target");
const notVip = seen("vip", "is_not", ["true"]);
const notTarget = seen("$pathname", "not_icontains", "target");
const any = { id: "$pageview", type: "events", order: 0, name: "$pageview" };
const never = { id: "never", type: "events" };
const property = (type: string, key: string, operator: string, value: unknown) => ({
  properties: [{ type, key, operator, value }],
});
const length = (key: string, operator: string, value: unknown) => ({
  having_predicates: [{ type: "recording", key, operator, value }],
});
const all = ["on", "ov", "tn", "tv"];

// PostHog/posthog#41687, #43399, #48876, #6240, #15858: all or any of the events, and those that a session does not have.
test.each([
  [{ operand: "AND", events: [vip, target] }, ["tv"]],
  [{ operand: "OR", events: [vip, target] }, ["ov", "tn", "tv"]],
  [{ operand: "AND", events: [vip, notTarget] }, ["ov"]],
  [{ operand: "AND", events: [notVip, notTarget] }, ["on"]],
  [{ operand: "OR", events: [notVip, notTarget] }, ["on", "ov", "tn"]],
  [{ events: [any] }, all],
  [{ events: [never] }, []],
  [{ events: [any, never] }, []],
  [{ operand: "OR", events: [any, never] }, all],
  [property("event", "vip", "exact", ["true"]), ["ov", "tv"]],
  [property("event", "vip", "is_not", ["true"]), ["on", "tn"]],
  [property("event", "$pathname", "not_icontains", "target"), ["on", "ov"]],
  [property("event", "vip", "is_not_set", "is_not_set"), []],
  [property("person", "email", "exact", ["tv@x.org"]), ["tv"]],
  [property("person", "email", "is_not", ["tv@x.org"]), ["on", "ov", "tn"]],
  [property("session", "$pageview_count", "exact", 1), all],
  [length("duration", "gt", 60), all],
  [length("duration", "gt", "60"), all],
  [length("duration", "lt", 60), []],
  [length("duration", "lte", 61), all],
  [length("active_seconds", "gt", "60"), []],
  [{ session_ids: [] }, []],
  [{ distinct_ids: ["tv", "tn"] }, ["tn", "tv"]],
  [{ console_log_filters: [{ key: "level", type: "log_entry", operator: "exact", value: ["error"] }] }, []],
  [{ limit: "2", offset: "4" }, []],
])("recordings by %j", async (parameters, expected) => {
  expect((await find(parameters)).toSorted()).toEqual(expected);
});

test("recordings have every order, pages, and leave test accounts out", async () => {
  for (const order of [
    "start_time",
    "duration",
    "click_count",
    "console_error_count",
    "active_seconds",
    "activity_score",
  ])
    expect(await find({ order })).toHaveLength(4);
  expect(await find({ limit: "2", offset: "3" })).toHaveLength(1);
  const test_account_filters = [{ key: "email", type: "person", operator: "not_icontains", value: "tv@" }];
  expect((await ask(app, "PATCH", "/api/projects/1/", { test_account_filters })).status).toBe(200);
  expect((await find({ filter_test_accounts: "true" })).toSorted()).toEqual(["on", "ov", "tn"]);
});
