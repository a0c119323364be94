// The figures of a site, of a day that has not ended, are compared with the same part of the day before. Each test names
// the public threads that it stands for.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { WebFigure } from "../../src/query/result.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, projectKey, rested } from "../support/server.ts";

let app: RunningApp;
const now = Date.now();
const [minuteMs, dayMs] = [60_000, 86_400_000];

/** A zone in which it is noon, so that some hours before and after are of the same day. */
const fromNoon = 12 - new Date(now).getUTCHours();
const timezone = `Etc/GMT${fromNoon > 0 ? "-" : "+"}${Math.abs(fromNoon)}`;

/** Visits by how long ago they began, in days and minutes, and the minutes between their two views. */
const visits: [days: number, minutes: number, between: number][] = [
  [0, 30, 1],
  [0, 60, 1],
  [0, 90, 1],
  [1, 45, 1],
  [1, 50, 100],
  [1, -70, 1],
  [1, -80, 1],
  [7, 40, 1],
  [7, -60, 1],
  [7, -70, 1],
  [7, -90, 1],
  [8, 10, 1],
  [364, 10, 1],
];

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const set = await ask(app, "PATCH", "/api/projects/1/", { timezone });
  expect(set.status).toBe(200);
  const batch = visits.flatMap(([days, minutes, between], i) => {
    const at = now - days * dayMs - minutes * minuteMs;
    const hex = at.toString(16).padStart(12, "0");
    return [at, at + between * minuteMs].map((moment) => ({
      event: "$pageview",
      distinct_id: `v${i}`,
      timestamp: new Date(moment).toISOString(),
      properties: { $session_id: `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-00000000000${i % 10}` },
    }));
  });
  await post({ url: app.url }, "/batch/", { api_key: projectKey, batch, historical_migration: true });
  await rested({ url: app.url });
}, startMsMax);
afterAll(cleanUp, startMsMax);

/** Of each figure: its value, that of the time before, and that of the part. */
async function figures(date_from: string, compare_to?: string, more: object = {}) {
  const compareFilter = { compare: true, ...(compare_to && { compare_to }) };
  const query = {
    kind: "WebOverviewQuery",
    properties: [],
    dateRange: { date_from },
    compareFilter,
    ...more,
  };
  const { status, text, body } = await ask(app, "POST", "/api/projects/1/query/", { query });
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  const results = body["results"] as WebFigure[];
  const numbers = results.map(({ key, value, previous, until }) => [key, [value, previous, until?.value]]);
  return Object.fromEntries(numbers) as Record<string, [number, number, number]>;
}

// Plausible discussion 344, issue 1650, PR 6205; matomo 10282.
test("today so far beside yesterday until this time: visits that began, and views that there were", async () => {
  const { visitors, views, sessions } = await figures("dStart");
  expect(visitors).toEqual([3, 4, 2]);
  expect(sessions).toEqual([3, 4, 2]);
  expect(views).toEqual([6, 8, 3]);
});

test("a goal is compared so far as well: visitors, conversions and their rate", async () => {
  const goal = { conversionGoal: { customEventName: "$pageview" } };
  expect(await figures("dStart", undefined, goal)).toEqual({
    visitors: [3, 4, 2],
    "total conversions": [6, 8, 3],
    "unique conversions": [3, 4, 2],
    "conversion rate": [100, 100, 100],
  });
});

test("the last seven days begin on the weekday on which those before begin", async () => {
  const { visitors } = await figures("-7d");
  // Seven days ago is in both: its evening is not in the part.
  expect(visitors).toEqual([11, 5, 2]);
});

// PostHog/posthog#14991; Plausible 277.
test("today beside the same weekday of the week before, and of 52 weeks before", async () => {
  expect((await figures("dStart", "-1w"))["visitors"]).toEqual([3, 4, 1]);
  expect((await figures("dStart", "-52w"))["visitors"]).toEqual([3, 1, 1]);
});
