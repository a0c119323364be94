// Recordings and visits as strangers expect them, after public threads: each test names those that it stands for; the
// inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { bodyOf, event } from "../support/recordings.ts";
import { projectKey, rested, until } from "../support/server.ts";

let app: RunningApp;
const home = "/api/projects/1";
const href = "https://x.example/";
const now = Date.now();
const minute = 60_000;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  await ask(app, "PATCH", `${home}/`, { session_recording_opt_in: true });
  const body = bodyOf({ session: "first", events: [event.click(now)] });
  await until(async () => (await ask(app, "POST", "/s/", body, "")).text === '{"status":"Ok"}');
}, startMsMax);
afterAll(cleanUp, startMsMax);

type Sent = Parameters<typeof bodyOf>[0];

async function record(...pieces: Sent[]): Promise<void> {
  expect((await ask(app, "POST", "/s/", bodyOf(...pieces), "")).status).toBe(200);
  await rested(app);
}

async function capture(batch: object[]): Promise<void> {
  expect((await ask(app, "POST", "/batch/", { api_key: projectKey, batch }, "")).status).toBe(200);
  await rested(app);
}

const read = async (session: string) =>
  (await ask(app, "GET", `${home}/session_recordings/${session}/`)).body;

/** Its rrweb events with their windows, as a player loads them. */
async function play(session: string): Promise<[string, Record<string, unknown>][]> {
  const path = `${home}/session_recordings/${session}/snapshots/?source=blob_v2`;
  const { text } = await ask(app, "GET", path);
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as [string, Record<string, unknown>]);
}

async function list(parameters: Record<string, unknown>): Promise<string[]> {
  const texts = Object.entries(parameters).map(([key, value]): [string, string] => [
    key,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  const { status, body, text } = await ask(
    app,
    "GET",
    `${home}/session_recordings/?${new URLSearchParams(texts)}`,
  );
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  return (body["results"] as { id: string }[]).map(({ id }) => id);
}

async function query(asked: object): Promise<unknown[]> {
  const { status, body, text } = await ask(app, "POST", `${home}/query/`, {
    query: asked,
    refresh: "force_blocking",
  });
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  return body["results"] as unknown[];
}

const whole = (at: number) => ({
  type: 2,
  timestamp: at,
  data: { node: { type: 0, id: 1, childNodes: [] }, initialOffset: { top: 0, left: 0 } },
});

// PostHog/posthog#21825, #12971, #3154: a recorder that changed its form left a white screen; PostHog/posthog#21751: a
// player waited for pieces that no answer named.
test("a piece's events are played whichever form they have, and one that holds none is a warning", async () => {
  const at = now - 5 * minute;
  const events = [event.page(at, href), whole(at + 1), event.click(at + 500)];
  const [piece] = bodyOf({ session: "forms", events: [] }) as { properties: Record<string, unknown> }[];
  const forms: [string, unknown][] = [
    ["list", events],
    ["text", JSON.stringify(events)],
    ["one", events[0]],
  ];
  for (const [name, $snapshot_data] of forms) {
    const properties = { ...piece!.properties, $session_id: `forms-${name}`, $snapshot_data };
    const sent = { ...piece, uuid: crypto.randomUUID(), properties };
    expect([name, (await ask(app, "POST", "/s/", [sent], "")).status]).toEqual([name, 200]);
  }
  await rested(app);
  expect((await play("forms-list")).map(([, one]) => one["type"])).toEqual([4, 2, 3]);
  expect((await play("forms-one")).map(([, one]) => one["type"])).toEqual([4]);
  expect((await read("forms-text"))["detail"]).toBe("Recording not found");
  const warnings = (await ask(app, "GET", `${home}/ingestion_warnings/`)).text;
  expect(warnings).toContain("$snapshot_data holds no rrweb event");
});

// PostHog/posthog#19375: a recorder that sends no window, or no size, is played under its session.
test("a piece without a window or a size is played", async () => {
  const at = now - 4 * minute;
  const [piece] = bodyOf({
    session: "bare",
    events: [event.page(at, href), whole(at + 1), event.click(at + 10)],
  });
  const { properties, ...rest } = piece as { properties: Record<string, unknown> };
  const { $window_id: _window, $snapshot_bytes: _bytes, ...bare } = properties;
  expect((await ask(app, "POST", "/s/", [{ ...rest, properties: bare }], "")).status).toBe(200);
  await rested(app);
  expect((await play("bare")).length).toBe(3);
});

// PostHog/posthog#2927, #3632, JSONbored/metagraphed#8262: a full snapshot of some megabytes was dropped on its way.
test("a full snapshot of four megabytes in a compressed body is stored and played whole", async () => {
  const at = now - 3 * minute;
  const words = Array.from({ length: 250_000 }, (_, i) => `word ${i * 7919}, `).join("");
  const text = { type: 3, id: 2, textContent: words };
  const data = { node: { type: 0, id: 1, childNodes: [text] }, initialOffset: { top: 0, left: 0 } };
  const events = [event.page(at, href), { type: 2, timestamp: at + 1, data }, event.click(at + 100)];
  const reply = await fetch(`${app.url}/s/?compression=gzip-js`, {
    method: "POST",
    headers: { "content-type": "text/plain" },
    body: gzipSync(JSON.stringify(bodyOf({ session: "large", events }))),
  });
  expect(reply.status).toBe(200);
  await rested(app);
  const [, second] = await play("large");
  expect(JSON.stringify(second).length).toBeGreaterThan(4_000_000);
});

// PostHog/posthog-js#318, #1411: what a page recorded after its session had ended went into the earlier one.
test("a request with pieces of two sessions is two recordings", async () => {
  const at = now - 10 * minute;
  const of = (session: string, from: number) => ({
    session,
    events: [event.page(from, href), whole(from + 1), event.click(from + 2000)],
  });
  await record(of("ended", at), of("begun", at + 5000));
  const [ended, begun] = [await read("ended"), await read("begun")];
  expect([ended["recording_duration"], begun["recording_duration"]]).toEqual([2, 2]);
  expect(Date.parse(String(begun["start_time"])) - Date.parse(String(ended["start_time"]))).toBe(5000);
});

// PostHog/posthog#20724, rrweb-io/rrweb#393, highlight/rrweb#71: events before the page's own had negative offsets.
test("console lines before the page begin the recording, and none is played before its start", async () => {
  const at = now - 9 * minute;
  await record({
    session: "early",
    events: [event.page(at, href), whole(at + 1), event.log(at - 1200, "error"), event.log(at - 700, "warn")],
  });
  const found = await read("early");
  expect(Date.parse(String(found["start_time"]))).toBe(at - 1200);
  const times = (await play("early")).map(([, one]) => Number(one["timestamp"]));
  expect(Math.min(...times)).toBe(at - 1200);
  expect([found["console_error_count"], found["console_warn_count"]]).toEqual([1, 1]);
});

// getsentry/sentry-replay#182, #208, #148: one stray event of three days ago made a replay three days long.
test("an event of three days ago makes no recording of three days", async () => {
  const at = now - 8 * minute;
  const session = Bun.randomUUIDv7("hex", at);
  const stray = event.click(at - 3 * 86_400_000);
  await record({ session, events: [event.page(at, href), whole(at + 1), stray, event.click(at + 4000)] });
  expect((await read(session))["recording_duration"]).toBe(4);
});

// PostHog/posthog#13044, #34191, #15845, #15858: a tab that rested for half an hour counted as watched.
test("time without movement is inactive, and the list can be filtered by active seconds", async () => {
  const at = now - 50 * minute;
  const moves = [0, 1, 2, 3].flatMap((second) => [
    event.move(at + second * 1000),
    event.move(at + 30 * minute + second * 1000),
  ]);
  await record({ session: "rested", events: [event.page(at, href), whole(at), ...moves] });
  const found = await read("rested");
  expect(found["recording_duration"]).toBe(1803);
  expect(Number(found["active_seconds"])).toBeLessThanOrEqual(10);
  const having = (key: string) => ({
    date_from: "-2h",
    having_predicates: [{ type: "recording", key, value: 60, operator: "gt" }],
  });
  expect(await list(having("duration"))).toContain("rested");
  expect(await list(having("active_seconds"))).not.toContain("rested");
});

// PostHog/posthog#6240, #2281: recordings by what happened in them, and how long they are.
test("recordings are found by an event with a property and a duration together", async () => {
  const at = now - 40 * minute;
  const session = Bun.randomUUIDv7("hex", at);
  await record({ session, events: [event.page(at, href), whole(at), event.click(at + 45_000)] });
  const properties = { $session_id: session, plan: "gold" };
  await capture([
    { event: "bought", distinct_id: "zoe", timestamp: new Date(at + 1000).toISOString(), properties },
  ]);
  const asked = (value: string, seconds: number) => ({
    date_from: "-2h",
    events: [
      {
        id: "bought",
        type: "events",
        properties: [{ key: "plan", value, type: "event", operator: "exact" }],
      },
    ],
    having_predicates: [{ type: "recording", key: "duration", value: seconds, operator: "gt" }],
  });
  expect(await list(asked("gold", 30))).toEqual([session]);
  expect(await list(asked("gold", 60))).toEqual([]);
  expect(await list(asked("tin", 30))).toEqual([]);
});

// PostHog/posthog#16068: a filter without a sensible duration answered nothing at all.
test("a duration that is no number is refused by name, and zero filters nothing", async () => {
  const by = (value: unknown) => ({
    date_from: "-3h",
    having_predicates: [{ type: "recording", key: "duration", value, operator: "gte" }],
  });
  const all = await list({ date_from: "-3h" });
  expect(await list(by(0))).toEqual(all);
  const path = `${home}/session_recordings/?having_predicates=${encodeURIComponent(JSON.stringify(by("long").having_predicates))}`;
  expect((await ask(app, "GET", path)).status).toBe(400);
});

// PostHog/posthog-flutter#143, #184: only the first screenshot was shown, and the recording was "eleven hours ago".
test("each screenshot of an app is an event of its own, and its time is the server's", async () => {
  const png =
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const ahead = now - 11 * 3_600_000;
  const shot = (id: number) => ({ id, type: "screenshot", base64: png, x: 0, y: 0, width: 400, height: 800 });
  const change = (wireframe: object, at: number) => ({
    type: 3,
    timestamp: at,
    data: { source: 0, updates: [{ parentId: 0, wireframe }], adds: [], removes: [] },
  });
  const events = [
    event.page(ahead - 3000, "app://home"),
    { type: 2, timestamp: ahead - 2900, data: { wireframes: [shot(7)], initialOffset: { top: 0, left: 0 } } },
    change(shot(7), ahead - 2000),
    change(shot(7), ahead - 1000),
  ];
  const body = bodyOf({ session: "shots", events }) as { properties: object }[];
  Object.assign(body[0]!.properties, { $snapshot_source: "mobile" });
  expect((await ask(app, "POST", `/s/?_=${ahead}`, body, "")).status).toBe(200);
  await rested(app);
  const found = await read("shots");
  expect(found["snapshot_source"]).toBe("mobile");
  const began = Date.parse(String(found["start_time"]));
  expect([began > now - minute, began < Date.now()]).toEqual([true, true]);
  expect((await play("shots")).filter(([, one]) => JSON.stringify(one).includes("base64")).length).toBe(3);
});

// rrweb-io/rrweb#42: events before the first full snapshot stopped a player; #674, #1406: with none it showed nothing.
test("a recording says whether a full snapshot has arrived, in whichever order", async () => {
  const at = now - 7 * minute;
  await record({ session: "late-whole", events: [event.click(at), event.click(at + 900)] });
  await record({ session: "late-whole", events: [event.page(at + 1000, href), whole(at + 1001)] });
  await record({ session: "none", events: [event.click(at), event.click(at + 900)] });
  expect((await play("late-whole")).map(([, one]) => one["type"]).toSorted()).toEqual([2, 3, 3, 4]);
  expect((await play("none")).length).toBe(2);
});

// rrweb-io/rrweb#553, #1065: a page that was recorded twice was built twice.
test("a piece that is sent again under its uuid is played once", async () => {
  const at = now - 6 * minute;
  const piece = {
    uuid: crypto.randomUUID(),
    session: "again",
    events: [event.page(at, href), whole(at + 1), event.click(at + 10)],
  };
  await record(piece);
  await record(piece, piece);
  expect((await play("again")).length).toBe(3);
  expect((await read("again"))["click_count"]).toBe(1);
});

// PostHog/posthog#23675, pirsch-analytics/pirsch#185: a bounce rate over 1, of events that were counted twice.
// PostHog/posthog#44361: bounces as a line of a trend.
test("a bounce rate is of sessions, between zero and one, also over midnight and of repeats", async () => {
  const midnight = Math.floor(now / 86_400_000) * 86_400_000;
  const view = (session: string, at: number, uuid: string = crypto.randomUUID()) => ({
    event: "$pageview",
    uuid,
    distinct_id: session,
    timestamp: new Date(at).toISOString(),
    properties: { $session_id: session, $current_url: href, $pathname: "/", $host: "bounce.example" },
  });
  const over = Bun.randomUUIDv7("hex", midnight - 5000);
  const bounced = Bun.randomUUIDv7("hex", midnight - 3_600_000);
  const uuid = crypto.randomUUID();
  const at = midnight - 3_600_000;
  await capture([
    view(over, midnight - 5000),
    view(over, midnight + 5000),
    ...[0, 0, 0].map(() => view(bounced, at, uuid)),
  ]);
  const [row] = await query({
    kind: "HogQLQuery",
    query: `select count(), sum($is_bounce), max($session_duration) from sessions where session_id in ('${over}', '${bounced}')`,
  });
  expect((row as unknown[]).map(Number)).toEqual([2, 1, 10]);
});

// PostHog/posthog#23110, #11743: a histogram of session durations failed, and the median had no such property.
test("session durations are a histogram and a median", async () => {
  const series = (more: object) => [{ kind: "EventsNode", event: "$pageview", ...more }];
  const session = { math_property: "$session_duration", math_property_type: "session_properties" };
  const bins = {
    breakdowns: [{ property: "$session_duration", type: "session", histogram_bin_count: 3 }],
  };
  const dateRange = { date_from: "-3d" };
  const of = await query({ kind: "TrendsQuery", series: series({}), breakdownFilter: bins, dateRange });
  expect(of.length).toBeGreaterThan(0);
  const medians = await query({
    kind: "TrendsQuery",
    series: series({ math: "median", ...session }),
    dateRange,
  });
  expect(Math.max(...(medians as { data: number[] }[])[0]!.data)).toBeGreaterThan(0);
});

// PostHog/posthog#4853: a visit of one event showed one second though its recording had ten; getsentry/sentry#34361.
test("a recording is as long as its pieces, whatever the events of its session say", async () => {
  const at = now - 20 * minute;
  const session = Bun.randomUUIDv7("hex", at);
  await capture([
    {
      event: "x",
      distinct_id: "zoe",
      timestamp: new Date(at).toISOString(),
      properties: { $session_id: session },
    },
  ]);
  const last = { type: 5, timestamp: at + 10_000, data: { tag: "end", payload: {} } };
  await record({ session, events: [event.page(at, href), whole(at), last] });
  expect((await read(session))["recording_duration"]).toBe(10);
});
