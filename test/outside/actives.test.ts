// Weekly active persons, and persons that add up over time, with the numbers of PostHog's own tests. Each test names the
// public threads that it stands for.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { TrendLine } from "../../src/query/result.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, projectKey, rested } from "../support/server.ts";

let app: RunningApp;

/** PostHog's test_trends.py: who did it, when, and a property. */
const active: [user: string, at: string, key: string][] = [
  ["p0", "2020-01-03T11:00:00Z", "val"],
  ["p0", "2020-01-03T12:00:00Z", "val"],
  ["p1", "2020-01-09T12:00:00Z", "bor"],
  ["p2", "2020-01-09T12:00:00Z", "val"],
  ["p1", "2020-01-10T12:00:00Z", "bor"],
  ["p1", "2020-01-11T12:00:00Z", "val"],
  ["p2", "2020-01-11T12:00:00Z", "bor"],
  ["p0", "2020-01-12T12:00:00Z", "val"],
];

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const batch = active.map(([distinct_id, timestamp, key]) => ({
    event: "$pageview",
    distinct_id,
    timestamp,
    properties: { key, $groups: { company: key } },
  }));
  await post({ url: app.url }, "/batch/", { api_key: projectKey, batch, historical_migration: true });
  await rested({ url: app.url });
}, startMsMax);
afterAll(cleanUp, startMsMax);

async function run(math: object, range: [string, string], more: object = {}): Promise<TrendLine[]> {
  const dateRange = { date_from: range[0], date_to: range[1] };
  const query = { kind: "TrendsQuery", series: [{ event: "$pageview", ...math }], dateRange, ...more };
  const { status, text, body } = await ask(app, "POST", "/api/projects/1/query/", { query });
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  return body["results"] as TrendLine[];
}

const weekly = { math: "weekly_active" };

// PostHog/posthog#9668, #17384: an interval of a week or more is its own.
test("weekly active persons by day, week and hour", async () => {
  const [byDay] = await run(weekly, ["2020-01-08", "2020-01-19"]);
  expect(byDay!.data).toEqual([1, 3, 2, 2, 3, 3, 3, 3, 3, 3, 1, 0]);
  const [byWeek] = await run(weekly, ["2019-12-29", "2020-01-18"], { interval: "week" });
  expect(byWeek!.days).toEqual(["2019-12-29", "2020-01-05", "2020-01-12"]);
  expect(byWeek!.data).toEqual([1, 2, 1]);
  const [byHour] = await run(weekly, ["2020-01-09T06:00:00Z", "2020-01-09T17:00:01Z"], { interval: "hour" });
  expect(byHour!.data).toEqual([1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3]);
});

// PostHog/posthog#12986.
test("weekly active persons as one number are those of the last seven days", async () => {
  const number = { trendsFilter: { display: "ActionsTable" } };
  expect((await run(weekly, ["2020-01-01", "2020-01-18"], number))[0]!.aggregated_value).toBe(1);
  expect((await run(weekly, ["2020-01-11", "2020-01-12"], number))[0]!.aggregated_value).toBe(3);
});

test("weekly active persons by a property, and who they are", async () => {
  const breakdownFilter = { breakdown: "key" };
  const range: [string, string] = ["2020-01-08", "2020-01-12"];
  const lines = await run(weekly, range, { breakdownFilter });
  const byValue = Object.fromEntries(lines.map(({ breakdown_value, data }) => [breakdown_value, data]));
  expect(byValue).toEqual({ val: [1, 2, 1, 2, 3], bor: [0, 1, 1, 2, 2] });
  const series = [{ event: "$pageview", ...weekly }];
  const source = {
    kind: "TrendsQuery",
    series,
    dateRange: { date_from: range[0], date_to: range[1] },
    breakdownFilter,
  };
  const figure = { kind: "InsightActorsQuery", source, day: "2020-01-11", breakdown: "bor" };
  const { body } = await ask(app, "POST", "/api/projects/1/query/", {
    query: { kind: "ActorsQuery", select: ["id"], source: figure },
  });
  expect(body["results"]).toHaveLength(2);
});

test("with a group type, weekly active groups are counted instead", async () => {
  const groups = { ...weekly, math_group_type_index: 0 };
  const range: [string, string] = ["2020-01-08", "2020-01-12"];
  expect((await run(groups, range))[0]!.data).toEqual([1, 2, 2, 2, 2]);
  expect((await run(groups, range, { interval: "week" }))[0]!.data).toEqual([2, 1]);
});

// PostHog/posthog#20686, #6802, #13486.
test("a cumulative line counts each person and each group once", async () => {
  const added = { trendsFilter: { display: "ActionsLineGraphCumulative" } };
  const range: [string, string] = ["2020-01-09", "2020-01-12"];
  const [persons] = await run({ math: "dau" }, range, added);
  expect([persons!.data, persons!.count]).toEqual([[2, 2, 2, 3], 3]);
  const [groups] = await run({ math: "unique_group", math_group_type_index: 0 }, range, added);
  expect(groups!.data).toEqual([2, 2, 2, 2]);
  const byKey = await run({ math: "dau" }, range, { ...added, breakdownFilter: { breakdown: "key" } });
  const byValue = Object.fromEntries(byKey.map(({ breakdown_value, data }) => [breakdown_value, data]));
  expect(byValue).toEqual({ val: [1, 1, 2, 3], bor: [1, 1, 2, 2] });
});
