// Retention as strangers expect it. Each test names the public threads that it stands for; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { RetentionCohort } from "../../src/query/result.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, projectKey, rested } from "../support/server.ts";

let app: RunningApp;

/** How often each person was there, by the day of March 2024. */
const visits: Record<string, Record<number, number>> = {
  ann: { 4: 1, 7: 1 },
  bob: { 4: 1, 5: 2 },
  cid: { 4: 2, 6: 3, 7: 2 },
};

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const batch = Object.entries(visits).flatMap(([distinct_id, days]) =>
    Object.entries(days).flatMap(([day, count]) =>
      Array.from({ length: count }, (_, i) => ({
        event: "visit",
        distinct_id,
        timestamp: new Date(Date.UTC(2024, 2, Number(day), 10, i)).toISOString(),
      })),
    ),
  );
  await post({ url: app.url }, "/batch/", { api_key: projectKey, batch, historical_migration: true });
  await rested({ url: app.url });
}, startMsMax);
afterAll(cleanUp, startMsMax);

async function firstRow(more: object): Promise<number[]> {
  const entity = { id: "visit", type: "events" };
  const retentionFilter = { totalIntervals: 4, targetEntity: entity, returningEntity: entity, ...more };
  const query = { kind: "RetentionQuery", dateRange: { date_to: "2024-03-07" }, retentionFilter };
  const { status, text, body } = await ask(app, "POST", "/api/projects/1/query/", { query });
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  return (body["results"] as RetentionCohort[])[0]!.values.map(({ count }) => count);
}

// PostHog/posthog#23661, #24926.
test("retention on or after an interval counts those who come back later", async () => {
  expect(await firstRow({})).toEqual([3, 1, 1, 2]);
  expect(await firstRow({ cumulative: true })).toEqual([3, 3, 2, 2]);
});

// PostHog/posthog#34306: only the returning event has to occur so often.
test("a minimum of occurrences is of the returns in an interval", async () => {
  expect(await firstRow({ minimumOccurrences: 2 })).toEqual([3, 1, 1, 1]);
  expect(await firstRow({ minimumOccurrences: 3 })).toEqual([3, 0, 1, 0]);
  expect(await firstRow({ minimumOccurrences: 3, cumulative: true })).toEqual([3, 1, 1, 0]);
});
