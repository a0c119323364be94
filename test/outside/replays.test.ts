// Lists of recordings: further assertions of PostHog's test_session_recording_list_event_filters.py,
// …_misc_filters.py and …_date_time_filters.py, and the public threads that each test names.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { bodyOf, event } from "../support/recordings.ts";
import { projectKey, rested, until } from "../support/server.ts";

let app: RunningApp;
const dayMs = 86_400_000;
const hourAgo = Date.now() - 3_600_000;
/** Name, start, seconds. */
const recorded: [string, number, number][] = [
  ["flag-on", hourAgo, 29],
  ["flag-off", hourAgo, 61],
  ["flag-other", hourAgo, 10],
  ["two-days", hourAgo - 2 * dayMs, 100],
  ["three-days", hourAgo - 3 * dayMs - 100_000, 100],
];
const sessions = new Map(recorded.map(([name, at]) => [name, Bun.randomUUIDv7("hex", at)]));

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  await ask(app, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
  for (const [name, at, seconds] of recorded) {
    const events = [
      event.page(at, `https://ex.example/${name}`),
      event.whole(at + 1),
      event.click(at + seconds * 1000),
    ];
    const body = bodyOf({ session: sessions.get(name)!, events, distinct_id: "user" });
    await until(async () => (await ask(app, "POST", "/s/", body, "")).text === '{"status":"Ok"}');
  }
  const send = (name: string, session: string, properties: object, at = hourAgo + 100) => ({
    event: name,
    distinct_id: "user",
    timestamp: new Date(at).toISOString(),
    properties: { $session_id: sessions.get(session) ?? session, $window_id: "1", ...properties },
  });
  const batch = [
    send("$pageview", "flag-on", {
      "$feature/target": true,
      $browser: "Chrome",
      $host: "google.com",
      foo: "bar",
    }),
    send("$pageview", "flag-on", { bar: "foo", $browser: "Chrome", $host: "google.com" }),
    send("new-event", "flag-on", { bar: "foo", $browser: "Chrome", $host: "google.com" }),
    send("$pageview", "flag-off", {
      "$feature/target": false,
      $browser: "Chrome",
      $host: "localhost:3000",
      $groups: { organization: "org:1" },
    }),
    send("other-event", "flag-other", {
      "$feature/different": false,
      $browser: "Safari",
      $groups: { project: "project:1" },
    }),
    {
      ...send("$groupidentify", "", {}),
      properties: { $group_type: "organization", $group_key: "org:1", $group_set: { name: "org one" } },
    },
    {
      ...send("$groupidentify", "", {}),
      properties: { $group_type: "project", $group_key: "project:1", $group_set: { name: "project one" } },
    },
    send("$autocapture", Bun.randomUUIDv7("hex", hourAgo), {}),
    send("$pageview", "two-days", {}, hourAgo - 2 * dayMs + 100),
    { event: "identified", distinct_id: "user", properties: { $set: { email: "bla" } } },
  ];
  expect((await ask(app, "POST", "/batch/", { api_key: projectKey, batch }, "")).status).toBe(200);
  await rested(app);
}, startMsMax);
afterAll(cleanUp, startMsMax);

async function find(parameters: Record<string, unknown>): Promise<string[]> {
  const texts = Object.entries({ date_from: "-12h", ...parameters }).map(([key, value]) => [
    key,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  const path = `/api/projects/1/session_recordings/?${new URLSearchParams(texts as [string, string][])}`;
  const { status, body } = await ask(app, "GET", path);
  expect([status, body["detail"]]).toEqual([200, undefined]);
  const names = new Map([...sessions].map(([name, session]) => [session, name]));
  return (body["results"] as { id: string }[]).map(({ id }) => names.get(id)!).toSorted();
}

const seen = (id: string | null, ...properties: object[]) => ({
  id,
  type: "events",
  order: 0,
  name: id,
  properties,
});
const is = (key: string, value: string) => ({ key, value: [value], operator: "exact", type: "event" });
const own = (property: object) => ({ properties: [property] });
const flag = (operator: string, value: unknown) =>
  own({ type: "event", key: "$feature/target", operator, value });
const lasts = (operator: string) => ({
  having_predicates: [{ type: "recording", key: "duration", value: 60, operator }],
});
const organization = (group_type_index: number) => ({
  key: "name",
  value: ["org one"],
  operator: "exact",
  type: "group",
  group_type_index,
});
const all = ["flag-off", "flag-on", "flag-other"];

// PostHog/posthog#2735, #41687, #102775; posthog-js#1301.
test.each([
  [{ events: [seen("$pageview")] }, ["flag-off", "flag-on"]],
  [{ events: [seen("$autocapture")] }, []],
  [{ events: [seen("$pageview", is("$browser", "Chrome"))] }, ["flag-off", "flag-on"]],
  [{ events: [seen("$pageview", is("$browser", "Firefox"))] }, []],
  [{ events: [seen("other-event", is("$browser", "Chrome"))] }, []],
  [{ events: [seen("other-event", is("$browser", "Safari"))] }, ["flag-other"]],
  [{ events: [seen("$pageview"), seen("new-event")] }, ["flag-on"]],
  [{ events: [seen("$pageview"), seen("new-event2")] }, []],
  [{ events: [seen("new-event"), seen("new-event2")], operand: "OR" }, ["flag-on"]],
  [
    { events: [seen("$pageview", is("foo", "bar")), seen("$pageview", is("bar", "foo"))], operand: "AND" },
    ["flag-on"],
  ],
  [
    { events: [seen("$pageview", is("foo", "bar")), seen("new-event", is("foo", "bar"))], operand: "AND" },
    [],
  ],
  [
    { events: [seen("$pageview", is("foo", "bar")), seen("new-event", is("foo", "bar"))], operand: "OR" },
    ["flag-on"],
  ],
  [{ events: [seen(null)] }, all],
  [{ events: [seen(null, is("$browser", "Chrome"))] }, ["flag-off", "flag-on"]],
  [{ events: [seen(null, is("$browser", "Firefox"))] }, []],
  [flag("exact", ["true"]), ["flag-on"]],
  [flag("exact", ["false"]), ["flag-off"]],
  [flag("is_set", "is_set"), ["flag-off", "flag-on"]],
  [flag("is_not_set", "is_not_set"), ["flag-other"]],
  [
    {
      properties: [
        { ...is("foo", "bar"), operator: "is_not" },
        { ...is("bar", "foo"), operator: "is_not" },
      ],
    },
    ["flag-off", "flag-other"],
  ],
  [
    own({
      key: "$host",
      value: String.raw`^(localhost|127\.0\.0\.1)($|:)`,
      operator: "not_regex",
      type: "event",
    }),
    ["flag-on", "flag-other"],
  ],
  [{ events: [seen("$pageview", organization(0))] }, ["flag-off"]],
  [own(organization(0)), ["flag-off"]],
  [own(organization(1)), []],
  [own(organization(2)), []],
  [lasts("gt"), ["flag-off"]],
  [lasts("lt"), ["flag-on", "flag-other"]],
  [
    {
      ...lasts("gt"),
      events: [seen("$pageview")],
      ...own({ type: "person", key: "email", operator: "exact", value: ["bla"] }),
    },
    ["flag-off"],
  ],
])("recordings by %j", async (parameters, expected) => {
  expect(await find(parameters)).toEqual(expected);
});

const day = (back: number) => new Date(hourAgo - back * dayMs).toISOString();

test.each([
  [{ date_from: day(2).slice(0, 10) }, [...all, "two-days"]],
  [{ date_from: day(10).slice(0, 10), date_to: day(4).slice(0, 10) }, []],
  [{ date_from: day(10).slice(0, 10), date_to: day(3).slice(0, 19) }, ["three-days"]],
  [{ date_from: day(10).slice(0, 10), date_to: day(-3).slice(0, 10) }, [...all, "three-days", "two-days"]],
  [{ date_from: "-10d", events: [seen("$pageview")] }, ["flag-off", "flag-on", "two-days"]],
])("recordings of %j", async (parameters, expected) => {
  expect(await find(parameters)).toEqual(expected);
});
