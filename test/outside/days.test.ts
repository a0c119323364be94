// Dates of lists: one day named twice is that day, in every list that takes dates; PostHog's relative_date_parse.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey, until } from "../support/server.ts";

let app: RunningApp;
const home = "/api/projects/1/";
const today = new Date().toISOString().slice(0, 10);
const times = [
  "2024-03-18T23:59:59Z",
  "2024-03-19T00:00:00Z",
  "2024-03-19T23:59:59.999Z",
  "2024-03-20T00:00:00Z",
];

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  const batch = times.map((timestamp, i) => ({ event: `e${i}`, distinct_id: "u", timestamp }));
  batch.push({ event: "now", distinct_id: "u", timestamp: new Date().toISOString() });
  const sent = await ask(app, "POST", "/batch/", { api_key: projectKey, batch }, "");
  expect(sent.status).toBe(200);
  const query = { kind: "TrendsQuery", series: [{ event: "visit" }] };
  expect((await ask(app, "POST", `${home}insights/`, { name: "i", query })).status).toBe(201);
}, startMsMax);
afterAll(cleanUp, startMsMax);

const list = async (path: string): Promise<Record<string, unknown>[]> => {
  const { status, body, text } = await ask(app, "GET", home + path);
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  return body["results"] as Record<string, unknown>[];
};

// PostHog/posthog#20536 and others: a day is the day, with its midnight and without the next.
test("events of one day are those between its midnights", async () => {
  const names = async (dates: string) => (await list(`events/?${dates}`)).map((row) => row["event"]);
  expect(await names("after=2024-03-19&before=2024-03-19")).toEqual(["e2", "e1"]);
  // Two days are what they were: the first is exclusive at its midnight, the second does not begin.
  expect(await names("after=2024-03-19&before=2024-03-20")).toEqual(["e2"]);
  expect(await names("after=2024-03-19T00:00:00Z&before=2024-03-19T00:00:00Z")).toEqual([]);
});

test("an EventsQuery of one day likewise", async () => {
  const query = { kind: "EventsQuery", select: ["event"], after: "2024-03-19", before: "2024-03-19" };
  const { body } = await ask(app, "POST", `${home}query/`, { query });
  expect((body["results"] as string[][]).flat().toSorted()).toEqual(["e1", "e2"]);
});

test.each([
  `insights/?created_date_from=${today}&created_date_to=${today}`,
  `insights/?date_from=${today}&date_to=${today}`,
])("%s has what was made today", async (path) => {
  expect(await list(path)).toHaveLength(1);
});

test("warnings of one day are listed", async () => {
  const old = [{ event: "old", distinct_id: "u", timestamp: "1960-01-01T00:00:00Z", properties: 1 }];
  await ask(app, "POST", "/batch/", { api_key: projectKey, batch: old }, "");
  await until(async () => (await list("ingestion_warnings/")).length > 0);
  const warnings = await list(`ingestion_warnings/?after=${today}&before=${today}`);
  expect(warnings).toHaveLength(1);
});

// relative_date_parse: M minutes, s seconds.
test.each(["-5M", "-300s", "-1h"])("events after %s", async (after) => {
  expect((await list(`events/?after=${after}`)).map((row) => row["event"])).toEqual(["now"]);
});
