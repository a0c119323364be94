// Questions of public threads, and scripts that read and manage. Each test names its thread; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { personalKey, projectKey, until } from "../support/server.ts";

let app: RunningApp;
const home = "/api/projects/1/";
type Properties = Record<string, unknown>;
const visit = (path: string) => ({
  $session_id: "0194d59e-6a00-7000-8000-000000000001",
  $current_url: `https://shop.example${path}`,
  $pathname: path,
});
/** The event, its person, when it was (UTC) and its properties. */
const world: [string, string, string, Properties?][] = [
  // The clocks of Cairo went forward on 25 April 2025 at midnight.
  ["clock", "a", "2025-04-23T10:00:00Z"],
  ["clock", "a", "2025-04-24T10:00:00Z"],
  ["clock", "b", "2025-04-24T21:30:00Z"],
  ["clock", "c", "2025-04-24T22:30:00Z"],
  ["clock", "a", "2025-04-25T21:30:00Z"],
  ["month", "a", "2025-01-10T10:00:00Z", { email: "a@example.com" }],
  ["month", "b", "2025-01-11T10:00:00Z", { email: "b@example.com" }],
  ["month", "a", "2025-03-10T10:00:00Z", { email: "a@example.com" }],
  ["hour", "a", "2025-02-03T08:10:00Z", { server: "https://eu.example.com" }],
  ["hour", "b", "2025-02-03T09:10:00Z", { server: "https://eu.example.com" }],
  ["hour", "c", "2025-02-03T09:20:00Z", { server: "https://us.example.org" }],
  ["late", "a", "2025-02-07T22:30:00Z"],
  ["nulls", "a", "2025-02-03T08:00:00Z", { plan: null, go: { into: { json: 5 } } }],
  ["nulls", "b", "2025-02-03T08:00:00Z", { plan: "pro" }],
  ["nulls", "c", "2025-02-03T08:00:00Z", {}],
  ["start", "a", "2025-02-03T08:00:00Z"],
  ["page", "a", "2025-02-03T08:00:10Z", { url: "/pricing" }],
  ["buy", "a", "2025-02-03T08:00:40Z"],
  ["start", "b", "2025-02-03T08:00:00Z"],
  ["page", "b", "2025-02-03T08:00:10Z", { url: "/docs" }],
  ["buy", "b", "2025-02-03T08:30:00Z"],
  ["buy", "b", "2025-02-04T08:00:00Z"],
  ["trial", "a", "2025-01-01T08:00:00Z"],
  ["subscribe", "a", "2025-01-31T08:00:00Z"],
  ["trial", "b", "2025-01-01T08:00:00Z"],
  ["subscribe", "b", "2025-02-03T08:00:00Z"],
  // One visit over the end of an hour.
  ["$pageview", "d", "2025-02-05T09:58:00Z", visit("/merchant/1/home")],
  ["$pageview", "d", "2025-02-05T10:02:00Z", visit("/merchant/2/home")],
  ["$pageview", "d", "2025-02-05T10:03:00Z", visit("/bye")],
];

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  expect((await ask(app, "PATCH", home, { timezone: "Africa/Cairo" })).status).toBe(200);
  const batch = world.map(([event, distinct_id, timestamp, properties = {}]) => ({
    event,
    distinct_id,
    timestamp,
    properties: { ...properties, $set: { name: distinct_id } },
  }));
  expect((await ask(app, "POST", "/batch/", { api_key: projectKey, batch }, "")).status).toBe(200);
  await until(async () => (await ask(app, "GET", `${home}persons/`)).text.includes('"d"'));
}, startMsMax);
afterAll(cleanUp, startMsMax);

async function answer(query: object): Promise<Record<string, unknown>> {
  const { status, body, text } = await ask(app, "POST", `${home}query/`, { query });
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  return body;
}
const nodes = (...events: string[]) => events.map((event) => ({ kind: "EventsNode", event }));
const range = (date_from: string, date_to: string | null, interval = "day") => ({
  dateRange: { date_from, date_to },
  interval,
});
const trends = (event: string, ...more: object[]) =>
  Object.assign({ kind: "TrendsQuery", series: nodes(event) }, ...more);
const funnel = (series: object[], filter: object = {}) => ({
  kind: "FunnelsQuery",
  series,
  dateRange: { date_from: "2025-01-01", date_to: "2025-02-28" },
  funnelsFilter: filter,
});
const lines = async (query: object) => (await answer(query))["results"] as Record<string, unknown>[];
const rows = async (sql: string) =>
  (await answer({ kind: "HogQLQuery", query: sql }))["results"] as unknown[][];
const counts = async (query: object) => (await lines(query)).map((step) => step["count"]);

// PostHog/posthog#31775.
test("a day whose clocks change is one day, with all its events", async () => {
  const [line] = await lines(trends("clock", range("2025-04-23", "2025-04-26")));
  expect(line).toMatchObject({
    days: ["2025-04-23", "2025-04-24", "2025-04-25", "2025-04-26"],
    data: [1, 2, 1, 1],
  });
});

// PostHog/posthog#7820, #18382.
test("yesterday is one point with its whole day", async () => {
  const [line] = await lines(trends("clock", range("-1dStart", "-1dEnd")));
  expect((line!["days"] as string[]).length).toBe(1);
  const [day] = await lines(trends("clock", range("2025-04-24", "2025-04-24")));
  expect([day!["days"], day!["data"]]).toEqual([["2025-04-24"], [2]]);
});

// PostHog/posthog#2661.
test("days asked by hours are all their hours", async () => {
  const [line] = await lines(trends("hour", range("2025-02-02", "2025-02-04", "hour")));
  expect([(line!["data"] as number[]).length, line!["count"]]).toEqual([72, 3]);
});

// PostHog/posthog#10569.
test("a value without a month has a zero there", async () => {
  const found = await lines(
    trends("month", range("2025-01-01", "2025-03-31", "month"), {
      breakdownFilter: { breakdown: "email", breakdown_type: "event" },
    }),
  );
  expect(found.map((line) => [line["breakdown_value"], line["data"]])).toEqual([
    ["a@example.com", [1, 0, 1]],
    ["b@example.com", [1, 0, 0]],
  ]);
});

// PostHog/posthog#12387.
test("a week counts the same in every range that has it", async () => {
  for (const from of ["2025-01-05", "2024-10-01", "2024-01-01"]) {
    const [line] = await lines(trends("month", range(from, "2025-03-31", "week")));
    const at = (line!["days"] as string[]).indexOf("2025-01-05");
    expect((line!["data"] as number[])[at]).toBe(2);
  }
});

// PostHog/posthog#22155.
test.each([
  [{ breakdown: "server", breakdown_type: "event" }, "https://eu.example.com"],
  [{ breakdown: "ifNull(domain(properties.server), '')", breakdown_type: "hogql" }, "eu.example.com"],
])("persons are behind a number of %j by hours", async (breakdownFilter, breakdown) => {
  const source = {
    kind: "InsightActorsQuery",
    source: trends("hour", range("2025-02-03", "2025-02-03", "hour"), { breakdownFilter }),
    day: "2025-02-03T11:00:00",
    series: 0,
    breakdown,
  };
  const found = await answer({ kind: "ActorsQuery", select: ["person"], source });
  expect(found["results"] as unknown[]).toHaveLength(1);
});

// PostHog/posthog#11466.
test("persons behind a day are those of the day in the project's zone", async () => {
  const source = {
    kind: "InsightActorsQuery",
    source: trends("late", range("2025-02-07", "2025-02-09")),
    series: 0,
  };
  const behind = async (day: string) =>
    (await answer({ kind: "ActorsQuery", select: ["person"], source: { ...source, day } }))[
      "results"
    ] as unknown[];
  expect([(await behind("2025-02-07")).length, (await behind("2025-02-08")).length]).toEqual([0, 1]);
});

// PostHog/posthog#15244, #14569.
test.each([
  ["properties.plan IS NULL AND event = 'nulls'", 2],
  ["properties.plan != 'pro' AND event = 'nulls'", 2],
  ["properties.go.into.json = 5", 1],
  ["toInt(properties.go.into.json) + 1 = 6", 1],
])("SQL counts what %s", async (condition, count) => {
  expect(await rows(`SELECT count() FROM events WHERE ${condition}`)).toEqual([[count]]);
  const filter = [{ type: "hogql", key: condition }];
  const [line] = await lines(
    trends(
      "",
      { series: [{ kind: "EventsNode", event: null }], properties: filter },
      range("2025-01-01", "2025-02-28"),
    ),
  );
  expect(line!["count"]).toBe(count);
});

// PostHog/posthog#5677: only the times of those who converted within the window.
test("a funnel's times are within its window", async () => {
  const steps = await lines(
    funnel(nodes("start", "buy"), { funnelWindowInterval: 1, funnelWindowIntervalUnit: "minute" }),
  );
  expect(steps.map(({ count }) => count)).toEqual([2, 1]);
  expect(steps[1]!["average_conversion_time"]).toBe(40);
});

// PostHog/posthog#6499.
test("a funnel counts by its own steps and window", async () => {
  expect(await counts(funnel(nodes("start", "page", "buy")))).toEqual([2, 2, 2]);
  expect(await counts(funnel(nodes("page", "buy")))).toEqual([2, 2]);
  const window = { funnelWindowInterval: 31, funnelWindowIntervalUnit: "day" };
  expect(await counts(funnel(nodes("trial", "subscribe"), window))).toEqual([2, 1]);
  const all = { ...funnel(nodes("trial", "subscribe"), window), dateRange: { date_from: "all" } };
  expect(await counts(all)).toEqual([2, 1]);
});

// PostHog/posthog#16756, #5553.
test("an exclusion may have filters, and takes a person out of the whole funnel", async () => {
  const exclude = (properties: object[]) => ({
    exclusions: [{ kind: "EventsNode", event: "page", properties, funnelFromStep: 0, funnelToStep: 1 }],
  });
  const pricing = [{ key: "url", value: ["/pricing"], operator: "exact", type: "event" }];
  expect(await counts(funnel(nodes("start", "buy"), exclude(pricing)))).toEqual([1, 1]);
  expect(await counts(funnel(nodes("start", "buy"), exclude([])))).toEqual([0, 0]);
});

// umami-software/umami#2228.
test("a visit over the end of an hour is one, and no bounce", async () => {
  const dateRange = { date_from: "2025-02-05", date_to: "2025-02-05" };
  const figures = await lines({ kind: "WebOverviewQuery", dateRange, properties: [] });
  const values = Object.fromEntries(figures.map(({ key, value }) => [String(key), value]));
  expect([values["sessions"], values["bounce rate"]]).toEqual([1, 0]);
});

// PostHog/posthog#9164, #5466.
test("a lifecycle counts persons, with its filters, and shows them", async () => {
  const series = [
    { kind: "EventsNode", event: "nulls", properties: [{ key: "plan", value: ["pro"], type: "event" }] },
  ];
  const source = { kind: "LifecycleQuery", series, ...range("2025-02-03", "2025-02-03") };
  const found = (await lines(source)).find(({ status }) => status === "returning" || status === "new");
  const all = (
    await lines({ ...source, series: nodes("$pageview"), ...range("2025-02-05", "2025-02-05") })
  ).map(({ data }) => (data as number[]).map(Math.abs));
  expect([...new Set(all.flat())].toSorted()).toEqual([0, 1]);
  const behind = async (status: unknown) => {
    const actors = { kind: "InsightActorsQuery", source, day: "2025-02-03", status };
    return (await answer({ kind: "ActorsQuery", select: ["person"], source: actors }))[
      "results"
    ] as unknown[];
  };
  const counted = await Promise.all(["new", "returning", "resurrecting"].map(behind));
  expect([found !== undefined, counted.flat().length]).toEqual([true, 1]);
});

// PostHog/posthog#1314, #5639.
test("a stickiness counts the days of each event, with its filters", async () => {
  const stickiness = async (node: object) => {
    const dateRange = { date_from: "2025-04-23", date_to: "2025-04-26" };
    const [line] = await lines({
      kind: "StickinessQuery",
      series: [{ kind: "EventsNode", ...node }],
      dateRange,
    });
    return line!["data"];
  };
  expect(await stickiness({ event: "clock" })).toEqual([2, 0, 1, 0]);
  const none = [{ key: "nothing", value: ["x"], operator: "exact", type: "event" }];
  expect(await stickiness({ event: "clock", properties: none })).toEqual([0, 0, 0, 0]);
});

const get = async (path: string) => (await ask(app, "GET", path)).body;
const results = async (path: string) => (await get(path))["results"] as Record<string, unknown>[];

// PostHog/posthog#24787, mvanhorn/printing-press-library#499.
test("a page of persons is full while there are more, and its links lead through all", async () => {
  const seen: unknown[] = [];
  for (let path: string | null = `${home}persons/?limit=2`; path !== null;) {
    const { results: page, next } = (await get(path)) as { results: { uuid: string }[]; next: string | null };
    seen.push(...page.map(({ uuid }) => uuid));
    if (next !== null) expect(page).toHaveLength(2);
    path = next && next.slice(new URL(next).origin.length);
  }
  expect([seen.length, new Set(seen).size]).toEqual([4, 4]);
});

// PostHog/posthog#13508.
test("the pages of events lead through all of them once", async () => {
  const seen: unknown[] = [];
  for (let path: string | null = `${home}events/?after=all&limit=10`; path !== null;) {
    const { results: page, next } = (await get(path)) as { results: { id: string }[]; next: string | null };
    seen.push(...page.map(({ id }) => id));
    path = next && next.slice(new URL(next).origin.length);
  }
  expect([seen.length, new Set(seen).size]).toEqual([world.length, world.length]);
});

// PostHog/posthog#12141.
test("persons are found by properties, and each listed one is there", async () => {
  const filter = encodeURIComponent(
    JSON.stringify([{ key: "name", value: "b", operator: "exact", type: "person" }]),
  );
  expect((await results(`${home}persons/?properties=${filter}`)).map((row) => row["distinct_ids"])).toEqual([
    ["b"],
  ]);
  for (const { id, uuid } of await results(`${home}persons/`)) {
    for (const name of [id, uuid]) expect((await get(`${home}persons/${name}/`))["uuid"]).toBe(uuid);
  }
});

// PostHog/posthog#12507, tlon-apps#4353 (tloncorp), PostHog/posthog#30993, #25865.
test("what a key cannot do is said plainly, and what it can do is shown", async () => {
  expect((await ask(app, "POST", `${home}persons/`, { name: "My name" })).status).toBe(405);
  const event = { event: "x", distinct_id: "a" };
  expect((await ask(app, "POST", "/capture/", { ...event, api_key: personalKey }, "")).status).toBe(401);
  const { body } = await ask(app, "POST", "/api/personal_api_keys/", {
    label: "reads",
    scopes: ["query:read"],
  });
  const key = String(body["value"]);
  const values = await ask(app, "GET", `${home}sessions/values/?key=$entry_pathname`, undefined, key);
  expect(values.status).toBe(200);
  const own = await ask(app, "GET", "/api/personal_api_keys/@current/", undefined, key);
  expect([own.status, own.body["scopes"]]).toEqual([200, ["query:read"]]);
});

// PostHog/posthog#24210, PostHog/posthog.com#5171.
test("insights are found by tags, and one has its result", async () => {
  const query = { kind: "InsightVizNode", source: trends("hour", range("2025-02-03", "2025-02-03")) };
  const { body } = await ask(app, "POST", `${home}insights/`, { name: "hours", query, tags: ["reviewed"] });
  expect((await results(`${home}insights/?tags=["reviewed"]`)).map(({ name }) => name)).toEqual(["hours"]);
  const { result } = (await get(`${home}insights/${body["id"]}/`)) as { result: { count: number }[] };
  expect(result[0]!.count).toBe(3);
});
