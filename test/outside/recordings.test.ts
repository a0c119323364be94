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
  const query = new URLSearchParams({ date_from: "-3d", ...(Object.fromEntries(texts) as object) });
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
  [{ date_from: "dStart", date_to: "-1dEnd" }, []],
  [{ date_from: "-7dStart", kind: "RecordingsQuery" }, all],
  [{ date_from: "all" }, all],
  [{ date_from: "mStart", date_to: "" }, all],
  [{ date_from: "-2yStart", date_to: "-1yEnd" }, []],
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

// test_session_recordings.py: directions in any case, and whether more follow.
test("recordings are ordered in either case, and say whether more follow", async () => {
  const ordered = await find({ order: "start_time", order_direction: "asc" });
  expect(ordered).toHaveLength(4);
  const page = (query: string) => ask(app, "GET", `/api/projects/1/session_recordings/?${query}`);
  expect((await page("limit=3")).body["has_next"]).toBe(true);
  expect((await page("limit=3&offset=3")).body["has_next"]).toBe(false);
});

const act = async (name: string, ids: unknown) =>
  await ask(app, "POST", `/api/projects/1/session_recordings/${name}/`, { session_recording_ids: ids });

// test_bulk_viewed…, test_bulk_not_viewed…: seen together and not seen again.
test("recordings are marked as viewed together, and as not viewed", async () => {
  const [tv, tn] = [sessions.get("tv")!, sessions.get("tn")!];
  const unseen = { hide_viewed_recordings: "true" };
  expect((await act("bulk_viewed", [tv, tn, tv, "never"])).body).toEqual({
    success: true,
    viewed_count: 2,
    total_requested: 3,
  });
  expect((await find(unseen)).toSorted()).toEqual(["on", "ov"]);
  expect((await act("bulk_not_viewed", [tv])).body).toEqual({
    success: true,
    not_viewed_count: 1,
    total_requested: 1,
  });
  expect((await find(unseen)).toSorted()).toEqual(["on", "ov", "tv"]);
});
test.each([[[]], ["tv"], [[[]]], [Array.from({ length: 101 }, String)]])(
  "%j are no recordings to mark",
  async (ids) => {
    for (const name of ["bulk_viewed", "bulk_not_viewed", "bulk_delete"])
      expect((await act(name, ids)).status).toBe(400);
  },
);

const match = async (parameters: Record<string, unknown>) => {
  const texts = Object.entries(parameters).map(([name, value]) => [name, JSON.stringify(value)]);
  const query = new URLSearchParams(texts as [string, string][]);
  return await ask(app, "GET", `/api/projects/1/session_recordings/matching_events/?${query}`);
};

// test_get_matching_events…: where the events of one session are that a filter is about.
test.each([
  [{ events: [any] }, 1],
  [{ events: [vip] }, 1],
  [{ events: [notVip] }, 0],
  [{ events: [never] }, 0],
  [{ events: [never, target] }, 1],
  [{ events: [{ id: null, type: "events" }] }, 1],
  [property("event", "vip", "exact", ["true"]), 1],
  [property("event", "vip", "exact", ["false"]), 0],
])("the events of a recording that match %j", async (filters, count) => {
  const session = sessions.get("tv")!;
  const { status, body } = await match({ session_ids: [session], ...filters });
  expect([status, body["detail"]]).toEqual([200, undefined]);
  const results = body["results"] as { session_id: string; timestamp: string }[];
  expect(results.map(({ session_id, timestamp }) => [session_id, timestamp])).toEqual(
    Array.from({ length: count }, () => [session, new Date(began + 100).toISOString().replace("Z", "000Z")]),
  );
});
test("matching events need one session, and a filter of events", async () => {
  const [first, second] = [...sessions.values()];
  expect((await match({ events: [any] })).body["detail"]).toBe("Must specify exactly one session_id");
  expect((await match({ session_ids: [first, second], events: [any] })).status).toBe(400);
  expect((await match({ session_ids: [first] })).status).toBe(400);
  expect((await match({ session_ids: ["never"], events: [any] })).status).toBe(404);
});
