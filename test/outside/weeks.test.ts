// Weeks that begin on Monday, in a project that says so. Each test names the public threads that it stands for.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { RetentionCohort, TrendLine } from "../../src/query/result.ts";
import { trimCohorts } from "../../src/query/results/figures.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, projectKey, rested } from "../support/server.ts";

let app: RunningApp;

/** Days on which each person was there; 3 and 10 March 2024 are Sundays. */
const days: Record<string, string[]> = {
  ann: ["2024-03-03", "2024-03-04", "2024-03-10"],
  bob: ["2024-03-10", "2024-03-11"],
  cid: ["2024-03-04", "2024-03-17"],
};

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const batch = Object.entries(days).flatMap(([distinct_id, own]) =>
    own.map((day) => ({ event: "seen", distinct_id, timestamp: `${day}T10:00:00Z` })),
  );
  await post({ url: app.url }, "/batch/", { api_key: projectKey, batch, historical_migration: true });
  await rested({ url: app.url });
}, startMsMax);
afterAll(cleanUp, startMsMax);

async function begin(week_start_day: number | null): Promise<void> {
  const { status, body } = await ask(app, "PATCH", "/api/projects/1/", { week_start_day });
  expect([status, body["week_start_day"]]).toEqual([200, week_start_day]);
}

async function run<Line>(query: object): Promise<Line[]> {
  const { status, text, body } = await ask(app, "POST", "/api/projects/1/query/", { query });
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  return body["results"] as Line[];
}

const march = { dateRange: { date_from: "2024-03-03", date_to: "2024-03-17" } };
const series = [{ event: "seen", math: "dau" }];
const byWeek = { series, interval: "week", ...march };

// PostHog/posthog#25841, #2795, #8353, #49786: WeekStartDay, with ClickHouse's modes 0 and 3.
test("trends, lifecycle and stickiness count weeks from the project's day on", async () => {
  await begin(1);
  const [monday] = await run<TrendLine>({ kind: "TrendsQuery", ...byWeek });
  expect([monday!.days, monday!.data]).toEqual([
    ["2024-02-26", "2024-03-04", "2024-03-11"],
    [1, 3, 2],
  ]);
  const [lifecycle] = await run<TrendLine>({ kind: "LifecycleQuery", ...byWeek });
  expect([lifecycle!.days, lifecycle!.data]).toEqual([
    ["2024-02-26", "2024-03-04", "2024-03-11"],
    [1, 2, 0],
  ]);
  const [sticky] = await run<TrendLine>({ kind: "StickinessQuery", ...byWeek });
  expect(sticky!.data).toEqual([0, 3, 0]);
  for (const sunday of [0, null]) {
    await begin(sunday);
    const [line] = await run<TrendLine>({ kind: "TrendsQuery", ...byWeek });
    expect([line!.days, line!.data]).toEqual([
      ["2024-03-03", "2024-03-10", "2024-03-17"],
      [2, 2, 1],
    ]);
  }
});

test("retention by week begins on the project's day", async () => {
  const entity = { id: "seen" };
  const retentionFilter = {
    period: "Week",
    totalIntervals: 3,
    targetEntity: entity,
    returningEntity: entity,
  };
  const query = { kind: "RetentionQuery", retentionFilter, dateRange: { date_to: "2024-03-17" } };
  const rows = async () => {
    const cohorts = await run<RetentionCohort>(query);
    return [
      cohorts[0]!.date.slice(0, 10),
      trimCohorts(cohorts).map(({ values }) => values.map(({ count }) => count)),
    ];
  };
  await begin(1);
  expect(await rows()).toEqual(["2024-02-26", [[1, 1, 0], [3, 2], [2]]]);
  await begin(0);
  expect(await rows()).toEqual(["2024-03-03", [[2, 1, 1], [2, 0], [1]]]);
});

test("SQL's toStartOfWeek without a mode is the project's week; with one it is that", async () => {
  const text = `select toStartOfWeek(toDateTime('2024-03-10 10:00:00')), toStartOfWeek(toDate('2024-03-10')),
    toStartOfWeek(toDateTime('2024-03-10 10:00:00'), 0), toStartOfWeek(toDateTime('2024-03-10 10:00:00'), 1)`;
  const sql = { kind: "HogQLQuery", query: text };
  await begin(1);
  expect(await run<string[]>(sql)).toEqual([["2024-03-04", "2024-03-04", "2024-03-10", "2024-03-04"]]);
  const grouped = "select toStartOfWeek(timestamp) as week, count() from events group by week order by week";
  expect(await run<unknown[]>({ kind: "HogQLQuery", query: grouped })).toEqual([
    ["2024-02-26", 1],
    ["2024-03-04", 4],
    ["2024-03-11", 2],
  ]);
  await begin(0);
  expect(await run<string[]>(sql)).toEqual([["2024-03-10", "2024-03-10", "2024-03-10", "2024-03-04"]]);
});

test("this week begins on the project's day, and is compared with the one before", async () => {
  for (const [day, isoDay] of [
    [1, 1],
    [0, 7],
  ] as const) {
    await begin(day);
    const query = {
      kind: "TrendsQuery",
      series,
      dateRange: { date_from: "wStart" },
      compareFilter: { compare: true },
    };
    const lines = await run<TrendLine>(query);
    const starts = lines.map((line) => Temporal.PlainDate.from(String(line.days[0])));
    expect(starts.map(({ dayOfWeek }) => dayOfWeek)).toEqual([isoDay, isoDay]);
    expect(starts[1]!.until(starts[0]!).days).toBe(7);
  }
});
