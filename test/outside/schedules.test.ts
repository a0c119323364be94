// Subscriptions: the assertions of PostHog's test_subscription_model.py and test_subscription.py, and public threads.

import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  nextDate,
  nextOccurrence,
  type Schedule,
  summarize,
  weekdays,
} from "../../src/subscriptions/schedule.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";

const schedule = (fields: Partial<Schedule>): Schedule => ({
  frequency: "weekly",
  interval: 2,
  byweekday: null,
  bysetpos: null,
  count: null,
  start_date: "2022-01-01T00:00:00Z",
  until_date: null,
  timezone: "UTC",
  ...fields,
});
const days = (fields: Partial<Schedule>, after: string, count: number): string[] => {
  const found: string[] = [];
  for (let at = Date.parse(after); found.length < count;) {
    at = nextOccurrence(schedule(fields), at)!;
    found.push(new Date(at).toISOString().slice(0, 10));
  }
  return found;
};

// test_creation, test_complex_rrule_configuration, test_should_work_for_nth_days, test_should_ignore_bysetpos_….
test.each<[Partial<Schedule>, string, string[]]>([
  [{}, "2022-01-02T00:00:00Z", ["2022-01-15"]],
  [
    { frequency: "monthly", bysetpos: -1, byweekday: ["wednesday", "friday"] },
    "2022-01-01T00:00:00Z",
    ["2022-01-28", "2022-03-30", "2022-05-27"],
  ],
  [
    { frequency: "monthly", interval: 1, bysetpos: 3, byweekday: weekdays as never },
    "2022-01-01T00:00:00Z",
    ["2022-01-03", "2022-02-03"],
  ],
  [{ frequency: "monthly", interval: 1, bysetpos: 3 }, "2022-01-01T00:00:00Z", ["2022-02-01"]],
])("the days of %j after %s", (fields, after, expected) => {
  expect(days(fields, after, expected.length)).toEqual(expected);
});

// test_set_next_delivery_date_when_in_upcoming_delta, …_when_days_behind; PostHog/posthog#21416: not every hour.
test.each(["2022-01-11T10:00:00Z", "2022-01-02T10:00:00Z"])(
  "what was due since %s is not sent again",
  (last) => {
    const daily = schedule({ frequency: "daily", interval: 1, start_date: "2022-01-01T10:00:00Z" });
    const next = nextDate(daily, Date.parse("2022-01-11T09:55:00Z"), Date.parse(last));
    expect(next!.toISOString()).toBe("2022-01-12T10:00:00.000Z");
  },
);

// test_subscription_summary, test_subscription_summary_with_unexpected_values; PostHog/posthog#53154, #15305.
test.each<[Partial<Schedule>, string]>([
  [{ interval: 1, frequency: "monthly" }, "sent every month"],
  [
    { interval: 2, frequency: "monthly", byweekday: ["wednesday"], bysetpos: 1 },
    "sent every 2 months on the first Wednesday",
  ],
  [{ interval: 1, byweekday: ["wednesday"], bysetpos: -1 }, "sent every week on the last Wednesday"],
  [
    { interval: 1, frequency: "monthly", byweekday: weekdays as never, bysetpos: 3 },
    "sent every month on the third day",
  ],
  [{ interval: 1, frequency: "monthly", byweekday: ["monday"], bysetpos: 10 }, "sent on a schedule"],
])("%j in words", (fields, expected) => {
  expect(summarize(schedule(fields))).toBe(expected);
});

let app: RunningApp;
let insight: unknown;
let board: unknown;
beforeAll(async () => {
  app = await startApp();
  const query = { kind: "TrendsQuery", series: [{ event: "visit" }] };
  board = (await ask(app, "POST", "/api/projects/1/dashboards/", { name: "d" })).body["id"];
  insight = (await ask(app, "POST", "/api/projects/1/insights/", { name: "n", query, dashboards: [board] }))
    .body["id"];
}, startMsMax);
afterAll(cleanUp, startMsMax);

const path = "/api/projects/1/subscriptions";
const subscribe = (fields: object = {}): Promise<Answer> =>
  ask(app, "POST", path, {
    insight,
    target_type: "email",
    target_value: "test@example.com",
    frequency: "weekly",
    interval: 1,
    start_date: "2022-01-01T00:00:00",
    title: "My Subscription",
    invite_message: "hey there!",
    ...fields,
  });

// test_can_create_new_subscription, which does not show the message of the invitation.
test("a subscription is created as PostHog's is", async () => {
  const { status, body } = await subscribe();
  expect(status).toBe(201);
  expect(body).toMatchObject({
    dashboard: null,
    insight,
    target_type: "email",
    target_value: "test@example.com",
    frequency: "weekly",
    interval: 1,
    byweekday: null,
    bysetpos: null,
    count: null,
    start_date: "2022-01-01T00:00:00Z",
    until_date: null,
    deleted: false,
    title: "My Subscription",
    summary: "sent every week",
  });
  const next = new Date(String(body["next_delivery_date"]));
  expect([next.getUTCDay(), next.getUTCHours(), next.getTime() > Date.now()]).toEqual([6, 0, true]);
  expect(body["created_by"]).toMatchObject({ email: expect.any(String) });
});

// test_can_update_existing_subscription, test_only_updates_next_delivery_date_if_rrule_changes.
test("a change of the addresses leaves the next delivery as it is, another start does not", async () => {
  const made = (await subscribe({ invite_message: null })).body;
  const one = `${path}/${String(made["id"])}`;
  const moved = await ask(app, "PATCH", one, {
    target_value: "test@example.com,new@example.com",
    invite_message: "hi new user",
    title: "My new title",
  });
  expect([moved.status, moved.body["target_value"]]).toEqual([200, "test@example.com,new@example.com"]);
  expect(moved.body["next_delivery_date"]).toBe(made["next_delivery_date"]);
  const later = await ask(app, "PATCH", one, { start_date: "2022-01-02T00:00:00Z" });
  expect(later.body["next_delivery_date"]).not.toBe(made["next_delivery_date"]);
});

// test_can_create_dashboard_subscription_with_dashboard_export_insights and six others; PostHog/posthog#42362.
test.each([
  [{ dashboard_export_insights: ["insight"] }, 400],
  [{ insight: null, dashboard: "board", dashboard_export_insights: [987_654] }, 400],
  [{ insight: null, dashboard: "board" }, 201],
  [{ insight: null, dashboard: 987_654 }, 400],
  [{ insight: 987_654 }, 400],
])("a subscription with %j is answered %d", async (fields, expected) => {
  const known = new Map<unknown, unknown>([
    ["board", board],
    ["insight", insight],
  ]);
  const input = Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      Array.isArray(value) ? value.map((item) => known.get(item) ?? item) : (known.get(value) ?? value),
    ]),
  );
  expect((await subscribe(input)).status).toBe(expected);
});

// PostHog/posthog#15305: days by number were never saved.
test("weekdays have names", async () => {
  expect((await subscribe({ frequency: "monthly", byweekday: ["0", "1"], bysetpos: 1 })).status).toBe(400);
  const { status, body } = await subscribe({ frequency: "monthly", byweekday: weekdays, bysetpos: 3 });
  expect([status, body["summary"]]).toEqual([201, "sent every month on the third day"]);
});

// A schedule that is never due is refused (PostHog's "would never fire").
test.each([{ until_date: "2022-02-01T00:00:00Z" }, { count: 1 }])(
  "a schedule that has ended (%j) has no next delivery",
  async (fields) => {
    const { status, body } = await subscribe(fields);
    expect(status === 400 || body["next_delivery_date"] === null).toBe(true);
  },
);

// test_unsubscribe…, deletion and its reversal.
test("a deleted subscription is off the list, and back when a PATCH says so", async () => {
  const { id } = (await subscribe({ title: "gone" })).body as { id: number };
  expect((await ask(app, "PATCH", `${path}/${id}/`, { deleted: true })).status).toBe(200);
  const titles = async () =>
    ((await ask(app, "GET", `${path}/?limit=200`)).body["results"] as { id: number }[]).map(
      (item) => item.id,
    );
  expect(await titles()).not.toContain(id);
  expect((await ask(app, "PATCH", `${path}/${id}/`, { deleted: false })).status).toBe(200);
  expect(await titles()).toContain(id);
  expect(
    (await ask(app, "GET", `${path}/?insight=${String(insight)}&limit=200`)).body["count"],
  ).toBeGreaterThan(0);
});

// PostHog's newest field: a subscription that waits.
test("a subscription is paused and resumed", async () => {
  const { id } = (await subscribe()).body as { id: number };
  const paused = await ask(app, "PATCH", `${path}/${id}/`, { enabled: false });
  expect([paused.status, paused.body["enabled"]]).toEqual([200, false]);
  const renamed = await ask(app, "PATCH", `${path}/${id}/`, { title: "still" });
  expect([renamed.body["title"], renamed.body["enabled"]]).toEqual(["still", false]);
  expect((await ask(app, "PATCH", `${path}/${id}/`, { enabled: true })).body["enabled"]).toBe(true);
  expect((await subscribe({ enabled: false })).body["enabled"]).toBe(false);
  expect((await subscribe()).body["enabled"]).toBe(true);
});
