// Visits and recordings as strangers expect them. Each test names the public threads that it stands for; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { bodyOf, compressed, event } from "../support/recordings.ts";
import { projectKey, rested, until } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  const opted = await ask(app, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
  expect(opted.status).toBe(200);
}, startMsMax);
afterAll(cleanUp, startMsMax);

const secondMs = 1000;
const dayMs = 86_400_000;
const iso = (ms: number) => new Date(ms).toISOString();

async function capture(events: readonly [event: string, at: number, properties: object][], id: string) {
  const batch = events.map(([event, at, properties]) => ({
    event,
    distinct_id: id,
    timestamp: iso(at),
    properties,
  }));
  expect((await ask(app, "POST", "/batch/", { api_key: projectKey, batch }, "")).status).toBe(200);
}

async function answer(query: object): Promise<Record<string, unknown>> {
  const { status, body } = await ask(app, "POST", "/api/projects/1/query/", {
    refresh: "force_blocking",
    query,
  });
  expect([status, body["detail"]]).toEqual([200, undefined]);
  return body;
}

async function rowsOf(query: string): Promise<unknown[][]> {
  await rested(app);
  return (await answer({ kind: "HogQLQuery", query }))["results"] as unknown[][];
}

async function sessionRow(session: string, events: number): Promise<unknown[]> {
  const text = `select $session_duration, $start_timestamp, $entry_current_url, $end_current_url, $event_count
    from sessions where session_id = '${session}'`;
  const [row] = await rowsOf(text);
  expect(row?.[4]).toBe(events);
  return row!;
}

// PostHog/posthog#34980, #51306; aws-amplify/aws-sdk-ios#198: an order dated by its shop, 1970, six days ahead.
test("an event that is dated outside of its session moves neither the visit nor its length, and is named", async () => {
  const now = Date.now();
  const session = Bun.randomUUIDv7("hex", now - 51 * secondMs);
  const url = "https://shop.example/";
  const view = (at: number, path: string) =>
    ["$pageview", at, { $session_id: session, $current_url: url + path, $host: "shop.example" }] as const;
  await capture([[...view(now - 50 * secondMs, "in")], [...view(now - 20 * secondMs, "out")]], "visitor");
  const before = await sessionRow(session, 2);
  const figures = async () => {
    const query = { kind: "WebOverviewQuery", dateRange: { date_from: "-1d" }, properties: [] };
    const results = (await answer(query))["results"] as { key: string; value: number }[];
    return results.map(({ key, value }) => [key, value]);
  };
  const overview = await figures();
  expect(overview.slice(0, 4)).toEqual([
    ["visitors", 1],
    ["views", 2],
    ["sessions", 1],
    ["session duration", 30],
  ]);
  const strays = [now - 3 * dayMs, 0, now - 2 * 3600 * secondMs];
  await capture(
    strays.map((at) => ["order placed", at, { $session_id: session, $current_url: `${url}order` }]),
    "visitor",
  );
  expect((await sessionRow(session, 5)).slice(0, 4)).toEqual(before.slice(0, 4));
  expect(await figures()).toEqual(overview);
  const text =
    "select event, distinct_id, details from ingestion_warnings where type = 'event_outside_session'";
  await until(async () => (await rowsOf(text)).length === 3);
  const warnings = (await rowsOf(text)) as [string, string, string][];
  expect(warnings.map(([event, id]) => [event, id])).toEqual(strays.map(() => ["order placed", "visitor"]));
  expect(warnings.map(([, , details]) => JSON.parse(details).event_timestamp).toSorted()).toEqual(
    strays.map(iso).toSorted(),
  );
});

// posthog-ios#104, PostHog/posthog#93203: a clock that is ten days behind makes ids of ten days ago.
test("a client whose clock is wrong has the visits that it made, and no warning", async () => {
  const [now, behind] = [Date.now(), Date.now() - 10 * dayMs];
  const session = Bun.randomUUIDv7("hex", behind - 60 * secondMs);
  const properties = { $session_id: session, $current_url: "https://late.example/" };
  const batch = [50, 10].map((seconds) => ({
    event: "$pageview",
    distinct_id: "late",
    timestamp: iso(behind - seconds * secondMs),
    properties,
  }));
  const sent = { api_key: projectKey, sent_at: iso(behind), batch };
  expect((await ask(app, "POST", "/batch/", sent, "")).status).toBe(200);
  const [duration, start] = await sessionRow(session, 2);
  expect(duration).toBe(40);
  expect(Math.abs(new Date(start as string).getTime() - (now - 50 * secondMs))).toBeLessThan(60 * secondMs);
  const text = "select count() from ingestion_warnings where distinct_id = 'late'";
  expect(await rowsOf(text)).toEqual([[0]]);
});

async function record(session: string, events: object[]): Promise<void> {
  expect((await ask(app, "POST", "/s/", bodyOf({ session, events }), "")).status).toBe(200);
}

async function listRecordings(query: Record<string, string>): Promise<Record<string, unknown>[]> {
  const path = `/api/projects/1/session_recordings/?${new URLSearchParams(query)}`;
  const { status, body } = await ask(app, "GET", path);
  expect([status, body["detail"]]).toEqual([200, undefined]);
  return body["results"] as Record<string, unknown>[];
}

// PostHog/posthog#93203, #26646; highlight/highlight#10122: events were corrected, their recording lay days off.
test.each([
  ["ten days behind", -10],
  ["three days ahead", 3],
  // A device that has not been told the time yet; a number so small in an address is none.
  ["in January 1970", 2 - Math.floor(Date.now() / dayMs)],
])("a client whose clock is %s has its recording beside its events", async (name, days) => {
  const now = Date.now();
  const client = now + days * dayMs;
  const session = Bun.randomUUIDv7("hex", client - 6 * secondMs);
  const page = event.page(client - 5 * secondMs, "https://ex.example/a");
  const second = [event.whole(client - 4 * secondMs), event.click(client - secondMs)];
  const piece = bodyOf({ session, events: [page, ...second] });
  const isYoung = client < Date.UTC(2021, 0, 1);
  const body = isYoung ? { api_key: projectKey, sent_at: iso(client), batch: piece } : piece;
  const path = isYoung ? "/batch/" : `/s/?_=${client}`;
  expect((await ask(app, "POST", path, body, "")).status).toBe(200);
  const batch = [
    {
      event: "seen",
      distinct_id: "zoe",
      timestamp: iso(client - 4 * secondMs),
      properties: { $session_id: session },
    },
  ];
  const sent = { api_key: projectKey, sent_at: iso(client), batch };
  expect((await ask(app, "POST", "/batch/", sent, "")).status).toBe(200);
  await rested(app);
  const events = JSON.stringify([{ id: "seen", type: "events" }]);
  const ids = JSON.stringify([session]);
  const found = await listRecordings({
    date_from: "-1d",
    date_to: iso(Date.now()),
    events,
    session_ids: ids,
  });
  expect(found).toMatchObject([{ id: session, recording_duration: 4 }]);
  const off = new Date(found[0]!["start_time"] as string).getTime() - (now - 5 * secondMs);
  expect([name, Math.abs(off) < 60 * secondMs]).toEqual([name, true]);
});

// PostHog/posthog#16142, #11827, #27122: one time of 1970, days behind or ahead, in a piece of its own or beside others.
test.each([0, -3 * dayMs, 6 * dayMs, 400 * dayMs])(
  "a recording is as long as its visit, whatever one of its times is (%p ms off)",
  async (off) => {
    const now = Date.now();
    const at = off === 0 ? 0 : now + off;
    const session = Bun.randomUUIDv7("hex", now - 11 * secondMs);
    const page = event.page(now - 10 * secondMs, "https://ex.example/a");
    await record(session, [page, event.click(at), event.click(now - secondMs)]);
    await record(session, [event.click(at)]);
    await rested(app);
    const [found] = await listRecordings({ session_ids: JSON.stringify([session]) });
    expect(found!["recording_duration"] as number).toBeGreaterThanOrEqual(9);
    expect(found!["recording_duration"] as number).toBeLessThan(60);
    expect(Math.abs(new Date(found!["start_time"] as string).getTime() - now)).toBeLessThan(60 * secondMs);
  },
);

// PostHog/posthog#36992, #17250: from a day to the same day found nothing.
test("a list from a day to a day has that whole day, in the project's zone", async () => {
  const day = new Date(Date.now() - 2 * dayMs).toISOString().slice(0, 10);
  const last = new Date(`${day}T23:59:59.500Z`).getTime();
  const session = Bun.randomUUIDv7("hex", last);
  await record(session, [event.page(last, "https://ex.example/day"), event.click(last + 100)]);
  await rested(app);
  const ids = JSON.stringify([session]);
  const count = async (query: Record<string, string>) =>
    (await listRecordings({ ...query, session_ids: ids })).length;
  expect(await count({ date_from: day, date_to: day })).toBe(1);
  expect(await count({ date_from: day, date_to: `${day}T23:59:59Z` })).toBe(0);
  const before = new Date(Date.now() - 3 * dayMs).toISOString().slice(0, 10);
  expect(await count({ date_from: before, date_to: before })).toBe(0);
  expect(await count({ date_from: "-2d", date_to: "-2d" })).toBe(1);
});

// PostHog/posthog#23689, #45216, and the parameters that its player sends.
test("a recording is found by a page that its session visited, and played with the player's parameters", async () => {
  const now = Date.now();
  const session = Bun.randomUUIDv7("hex", now - 5 * secondMs);
  const url = "https://ex.example/visited?q=1";
  await record(session, [event.page(now - 4 * secondMs, url), event.whole(now - 3 * secondMs)]);
  await capture([["$pageview", now - 4 * secondMs, { $session_id: session, $current_url: url }]], "zoe");
  await rested(app);
  const found = async (value: string, operator: string) => {
    const properties = JSON.stringify([{ type: "recording", key: "visited_page", value: [value], operator }]);
    return (await listRecordings({ properties, session_ids: JSON.stringify([session]) })).length;
  };
  expect(await found(url, "exact")).toBe(1);
  expect(await found("visited", "icontains")).toBe(1);
  expect(await found("elsewhere", "icontains")).toBe(0);
  expect(await found("visited", "not_icontains")).toBe(0);
  const path = `/api/projects/1/session_recordings/${session}/snapshots`;
  for (const query of ["blob_v2=true", "source=blob_v2&blob_key=0&decompress=true&blob_v2=true"])
    expect((await ask(app, "GET", `${path}?${query}`)).status).toBe(200);
  for (const [query, way] of [
    ["source=realtime", "Use source=blob_v2"],
    ["source=blob_v2&blob_key=0&decompress=false", "leave decompress out"],
  ] as const) {
    const { status, body } = await ask(app, "GET", `${path}?${query}`);
    expect([status, String(body["detail"]).includes(way)]).toEqual([400, true]);
  }
});

// PostHog/posthog#23703, #63270, #90545: a page of nine megabytes was stored, and its player was blank without a word.
test("a snapshot that players do not get is named in a warning", async () => {
  const now = Date.now();
  const session = Bun.randomUUIDv7("hex", now - 5 * secondMs);
  const node = { id: 1, type: 0, childNodes: [], note: "x".repeat(9_000_000) };
  const page = event.page(now - 5 * secondMs, "https://ex.example/large");
  const click = event.click(now - secondMs);
  await record(session, [page, { type: 2, timestamp: now - 4 * secondMs, data: { node } }, click]);
  const inflating = { node: { ...node, note: "x".repeat(20_000_000) } };
  const bomb = { type: 2, timestamp: now - 3 * secondMs, cv: "2024-10", data: compressed(inflating) };
  await record(session, [bomb]);
  const text = "select event, distinct_id, count from ingestion_warnings where type = 'snapshot_left_out'";
  await until(async () => (await rowsOf(text)).length > 1);
  expect(await rowsOf(text)).toEqual([
    ["$snapshot", "zoe", 1],
    ["$snapshot", "zoe", 1],
  ]);
  // What shares a piece with it is played; the second is a page of its own.
  expect(await played(session)).toEqual([page, expect.objectContaining({ type: 5 }), click, bomb]);
});

// Several checkouts of a large page in a megabyte: PostHog/posthog#63270, #90545.
test("full snapshots that are inflated together beyond a page's bound are all played", async () => {
  const now = Date.now();
  const session = Bun.randomUUIDv7("hex", now - 60 * secondMs);
  const data = { node: { id: 1, type: 0, childNodes: [], note: "x".repeat(6_000_000) } };
  const sent = [9, 8, 7, 6, 5].map((ago) => ({ type: 2, timestamp: now - ago * secondMs, data }));
  for (const whole of sent) await record(session, [{ ...whole, cv: "2024-10", data: compressed(data) }]);
  await rested(app);
  expect(await played(session)).toEqual(sent);
});

/** The events that a player gets, page by page. */
async function played(session: string): Promise<unknown[]> {
  const events: unknown[] = [];
  for (let path: string | null = `/api/projects/1/session_recordings/${session}/snapshots/`; path !== null;) {
    const { status, body } = await ask(app, "GET", path);
    expect(status).toBe(200);
    events.push(...Object.values(body["snapshot_data_by_window_id"] as Record<string, unknown[]>).flat());
    const next = body["next"] as string | null;
    path = next === null ? null : new URL(next).pathname + new URL(next).search;
  }
  return events;
}

// PostHog/posthog#14159, #102120: an open tab goes on recording after the deletion.
test("a late piece of a deleted recording is in no list and in no SQL", async () => {
  const now = Date.now();
  const [gone, kept] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
  for (const session of [gone, kept]) await record(session, [event.page(now, "https://ex.example/a")]);
  await rested(app);
  const text = `select session_id from session_recordings where session_id in ('${gone}', '${kept}')`;
  expect(await rowsOf(text)).toHaveLength(2);
  expect((await ask(app, "DELETE", `/api/projects/1/session_recordings/${gone}/`)).status).toBe(204);
  await until(async () => (await rowsOf(text)).length === 1);
  await record(gone, [event.page(now + 1000, "https://ex.example/private?token=x")]);
  expect(await rowsOf(text)).toEqual([[kept]]);
  expect(await listRecordings({ session_ids: JSON.stringify([gone]) })).toEqual([]);
});

const custom = (timestamp: number, tag: string) => ({ type: 5, timestamp, data: { tag, payload: {} } });

// What posthog-js sends when sessions rotate, tabs sleep and recorders wake up: start and length by the session's own time.
test.each<[source: string, make: (start: number) => object[], seconds: number, lacks: number]>([
  [
    "PostHog/posthog-js#4202",
    (at) => [custom(at, "$session_starting"), event.page(at, "https://r.example/")],
    0,
    1,
  ],
  [
    "PostHog/posthog-js#4588",
    (at) => [
      custom(at - 97 * 60_000, "sessionIdle"),
      event.page(at, "https://r.example/"),
      event.whole(at),
      event.click(at + 9000),
    ],
    9,
    0,
  ],
  [
    "PostHog/posthog-js#2666",
    (at) => [
      event.page(at, "https://r.example/"),
      event.whole(at),
      event.click(at + 5000),
      event.click(at + 70 * 3_600_000),
    ],
    5,
    0,
  ],
  [
    "PostHog/posthog-js#4788",
    (at) => [event.whole(at - 20 * 3_600_000), event.page(at, "https://r.example/"), event.click(at + 4000)],
    4,
    0,
  ],
  ["PostHog/posthog-js#4403", (at) => [event.page(at, "https://r.example/"), event.whole(at)], 0, 0],
  ["PostHog/posthog-js#3228", (at) => [event.click(at), custom(at + 3000, "$session_ending")], 3, 1],
  [
    "PostHog/posthog-js#3690",
    (at) => [event.page(at, "https://r.example/"), event.whole(at), event.click(at + 29 * 60_000)],
    1740,
    0,
  ],
  [
    "PostHog/posthog#88616",
    (at) => [
      event.page(at, "https://r.example/"),
      event.whole(at),
      { type: 6, timestamp: at + 2000, data: { plugin: "rrweb/console@1" } },
    ],
    2,
    0,
  ],
])("a recording of %s has the start and the length of its session", async (_, make, seconds, lacks) => {
  const start = Date.now() - 40 * 60_000;
  const session = Bun.randomUUIDv7("hex", start);
  await record(session, make(start));
  await rested(app);
  const [found] = await listRecordings({ session_ids: JSON.stringify([session]) });
  expect(found).toMatchObject({ recording_duration: seconds });
  expect(Math.abs(new Date(found!["start_time"] as string).getTime() - start)).toBeLessThan(60 * secondMs);
  const text = `select lacks_full_snapshot from session_recordings where session_id = '${session}'`;
  expect(await rowsOf(text)).toEqual([[lacks]]);
});
