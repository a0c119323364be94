// Lifecycles as strangers expect them. Each test names the public threads that it stands for; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { TrendLine } from "../../src/query/result.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, projectKey, rested } from "../support/server.ts";

let app: RunningApp;

/** Days of March 2024 by visitor, the first four without a profile. */
const visits: Record<string, number[]> = {
  anon1: [4, 5],
  anon2: [5],
  anon3: [1, 6],
  anon4: [4],
  known: [4, 6],
  early: [2, 4],
};

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const batch = Object.entries(visits).flatMap(([distinct_id, days]) =>
    days.map((day) => ({
      // The first day of one is of another event: a person is new with any.
      event: day === 1 ? "other" : "visit",
      distinct_id,
      timestamp: new Date(Date.UTC(2024, 2, day, 10)).toISOString(),
      properties: distinct_id.startsWith("anon") ? { $process_person_profile: false } : {},
    })),
  );
  await post({ url: app.url }, "/batch/", { api_key: projectKey, batch, historical_migration: true });
  await rested({ url: app.url });
}, startMsMax);
afterAll(cleanUp, startMsMax);

const dateRange = { date_from: "2024-03-04", date_to: "2024-03-06" };
const query = (interval: string) => ({
  kind: "LifecycleQuery",
  series: [{ event: "visit" }],
  interval,
  dateRange,
});

async function lifecycle(interval: string) {
  const { status, text, body } = await ask(app, "POST", "/api/projects/1/query/", { query: query(interval) });
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  const lines = body["results"] as TrendLine[];
  return Object.fromEntries(lines.map((line) => [line.status, line.data]));
}

// PostHog/posthog#25367, #26319.
test("visitors without a profile are new with their first event, and resurrect after a pause", async () => {
  expect(await lifecycle("day")).toEqual({
    new: [3, 1, 0],
    returning: [0, 1, 0],
    resurrecting: [1, 0, 2],
    dormant: [0, -3, -2],
  });
  expect(await lifecycle("week")).toEqual({ new: [4], returning: [1], resurrecting: [1], dormant: [0] });
});

test("the persons behind new and resurrecting visitors are as many as the numbers", async () => {
  const behind = async (day: string, status: string) => {
    const source = { kind: "InsightActorsQuery", source: query("day"), day, status };
    const { body } = await ask(app, "POST", "/api/projects/1/query/", {
      query: { kind: "ActorsQuery", select: ["id"], source },
    });
    return (body["results"] as unknown[]).length;
  };
  expect(await behind("2024-03-04", "new")).toBe(3);
  expect(await behind("2024-03-05", "new")).toBe(1);
  expect(await behind("2024-03-06", "resurrecting")).toBe(2);
});
