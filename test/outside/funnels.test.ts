// Funnels and filters as strangers expect them. Each test names the public threads that it stands for; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { FunnelStep, TrendLine } from "../../src/query/result.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, projectKey, rested } from "../support/server.ts";

let app: RunningApp;
const at = Date.UTC(2024, 2, 4, 10);
const session = (day: number) => `018e0${day}00-0000-7000-8000-000000000000`;

/** Person, event, minutes after the start, and properties. */
const events: [user: string, event: string, minutes: number, properties: object][] = [
  // Two visits of one person, the second without an order; a visit without a session counts for none.
  ["ann", "open", 0, { $session_id: session(1), browser: "Chrome" }],
  ["ann", "order", 1, { $session_id: session(1), browser: "Safari" }],
  ["ann", "open", 1440, { $session_id: session(2), browser: "Safari" }],
  ["ann", "open", 3000, {}],
  ["ann", "order", 3001, { browser: "Safari" }],
  ["bob", "open", 5, { $session_id: session(3), browser: "Chrome" }],
  ["bob", "order", 6, { $session_id: session(3), browser: "Chrome" }],
  ["cid", "open", 7, { $session_id: session(4), browser: "Firefox" }],
];

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const batch = events.map(([distinct_id, event, minutes, properties]) => ({
    event,
    distinct_id,
    timestamp: new Date(at + minutes * 60_000).toISOString(),
    properties,
  }));
  await post({ url: app.url }, "/batch/", { api_key: projectKey, batch, historical_migration: true });
  await rested({ url: app.url });
}, startMsMax);
afterAll(cleanUp, startMsMax);

const run = (query: object) => ask(app, "POST", "/api/projects/1/query/", { query });
const dateRange = { date_from: "2024-03-04", date_to: "2024-03-08" };
const funnel = (funnelsFilter: object, more: object = {}) => ({
  kind: "FunnelsQuery",
  series: [{ event: "open" }, { event: "order" }],
  dateRange,
  funnelsFilter,
  ...more,
});

async function results<Result>(query: object): Promise<Result[]> {
  const { status, text, body } = await run(query);
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  return body["results"] as Result[];
}

const counts = (steps: readonly FunnelStep[]) => steps.map(({ count }) => count);

// PostHog/posthog#16069.
test("a funnel by session counts visits instead of persons", async () => {
  const bySession = { funnelAggregateByHogQL: "properties.$session_id" };
  expect(counts(await results(funnel({})))).toEqual([3, 2]);
  expect(counts(await results(funnel(bySession)))).toEqual([4, 2]);
  const unordered = funnel({ ...bySession, funnelOrderType: "unordered" });
  expect(counts(await results(unordered))).toEqual([4, 2]);
  const [trend] = await results<TrendLine>(funnel({ ...bySession, funnelVizType: "trends" }));
  expect(trend!.data).toEqual([66.67, 0, 0, 0, 0]);
  const source = { kind: "FunnelsActorsQuery", source: funnel(bySession), funnelStep: 1 };
  const { status, body } = await run({ kind: "ActorsQuery", select: ["id"], source });
  expect([status, String(body["detail"])]).toEqual([400, "Only the persons of a funnel are listed."]);
  const { status: other } = await run(funnel({ funnelAggregateByHogQL: "sleep(3)" }));
  expect(other).toBe(400);
});

// PostHog's BreakdownAttributionType: each value has a funnel of the events that have it.
test("attribution to all events counts a person for each value, by the events that have it", async () => {
  const byBrowser = async (more: object, limit = 25) => {
    const filter = { breakdownAttributionType: "all_events", ...more };
    const breakdownFilter = { breakdown: "browser", breakdown_limit: limit };
    const found = await results<FunnelStep[]>(funnel(filter, { breakdownFilter }));
    return Object.fromEntries(found.map((steps) => [String(steps[0]!.breakdown_value), counts(steps)]));
  };
  const none = "$$_posthog_breakdown_null_$$";
  expect(await byBrowser({})).toEqual({ Chrome: [2, 1], Firefox: [1, 0], Safari: [1, 1], [none]: [1, 0] });
  const unordered = await byBrowser({ funnelOrderType: "unordered" });
  expect(unordered).toEqual({ Chrome: [2, 1], Firefox: [1, 0], Safari: [1, 1], [none]: [1, 0] });
  expect(await byBrowser({}, 1)).toEqual({ Chrome: [2, 1], Other: [3, 1] });
});

// PostHog/posthog#15971.
test("a filter with an empty list filters nothing", async () => {
  const series = [{ event: "open" }];
  for (const operator of ["exact", "is_not", "icontains", "not_icontains", "regex", "in"]) {
    const properties = [{ key: "browser", value: [], operator }];
    const [line] = await results<TrendLine>({ kind: "TrendsQuery", series, dateRange, properties });
    expect([operator, line!.count]).toEqual([operator, 5]);
  }
  const properties = [
    { key: "browser", value: [], type: "person" },
    { key: "browser", value: ["Chrome"] },
  ];
  const [line] = await results<TrendLine>({ kind: "TrendsQuery", series, dateRange, properties });
  expect(line!.count).toBe(2);
  const listed = encodeURIComponent(JSON.stringify([{ key: "name", value: [], type: "person" }]));
  const { body } = await ask(app, "GET", `/api/projects/1/persons/?properties=${listed}`);
  expect(body["results"]).toHaveLength(3);
});
