// A time that has not ended is compared with the same part of the time before. Each test names the public threads that
// it stands for; the world is our own: the same visitors each day, more of them in its evening.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { systemClock } from "../../src/core/clock.ts";
import { createOrganization } from "../../src/organizations/store.ts";
import { openQueryEngine, type QueryEngine } from "../../src/query/engine.ts";
import type { TrendLine } from "../../src/query/result.ts";
import { type NaiveEvent, storeEvents } from "../query/naive.ts";
import { addUser } from "../support/accounts.ts";
import { cleanUp } from "../support/cleanup.ts";
import { noSqlParser } from "../support/sql_parser.ts";
import { openMadeStores, storesStartMsMax } from "../support/stores.ts";

/** A Friday evening. */
const now = Date.UTC(2026, 10, 27, 18, 43);
const dayMs = 86_400_000;
let engine: QueryEngine;
let project_id: number;

/** Views of one visitor each, some days ago; those after 18:43 are still to come today. */
function views(back: number, hours: readonly number[]): NaiveEvent[] {
  const day = Date.UTC(2026, 10, 27) - back * dayMs;
  return hours
    .map((hour, i) => ({
      uuid: crypto.randomUUID(),
      event: "$pageview",
      distinct_id: `v${back}-${i}`,
      at: day + hour * 3_600_000,
      properties: { plan: i === 0 ? "pro" : "free" },
    }))
    .filter(({ at }) => at < now);
}

/** Days ago, and the hours of its views. */
const world: Record<number, number[]> = {
  0: [8, 9, 10, 21],
  1: [8, 9, 18.9, 20, 21],
  7: [8, 12, 18.5, 19],
  8: [3],
  14: [5, 6],
  364: [8],
  365: [9, 10, 22],
};

beforeAll(async () => {
  const stores = await openMadeStores();
  const { sql, clickhouse } = stores;
  const owner_id = await addUser(sql, "ann@example.com");
  await createOrganization(sql, { name: "Ours", owner_id, project_name: "First" });
  [{ id: project_id }] = (await sql`SELECT id FROM projects`) as unknown as [{ id: number }];
  const clock = { ...systemClock, now: () => now };
  engine = openQueryEngine({ parser: noSqlParser, sql, clickhouse, clock });
  await storeEvents(
    stores,
    project_id,
    Object.entries(world).flatMap(([back, hours]) => views(Number(back), hours)),
  );
}, storesStartMsMax);
afterAll(cleanUp, storesStartMsMax);

const compareFilter = { compare: true };

async function previous(more: object, math = "total"): Promise<TrendLine[]> {
  const series = [{ event: "$pageview", math }];
  const { results } = await engine.run(project_id, { kind: "TrendsQuery", series, compareFilter, ...more });
  return (results as TrendLine[]).filter(({ compare_label }) => compare_label === "previous");
}

const number = { trendsFilter: { display: "BoldNumber" } };
const today = { dateRange: { date_from: "dStart" } };

// Plausible discussion 344, issue 1650; PostHog/posthog#30345; matomo 10282.
test("today so far is compared with yesterday until this time", async () => {
  for (const math of ["total", "dau"]) {
    const [line] = await previous({ ...today, ...number }, math);
    expect(line!.aggregated_value).toBe(5);
    expect(line!.until).toEqual({
      date_to: "2026-11-26T18:43:00+00:00",
      data: [],
      count: 0,
      aggregated_value: 2,
    });
    const [byHour] = await previous({ ...today, interval: "hour" }, math);
    expect([byHour!.count, byHour!.until!.count, byHour!.until!.data.length]).toEqual([3, 2, 19]);
  }
});

test("the last seven days are compared with seven days until this time of the last of them", async () => {
  const [line] = await previous({ dateRange: { date_from: "-7d" } });
  expect([line!.count, line!.data.at(-1)]).toEqual([7, 4]);
  expect(line!.until).toEqual({
    date_to: "2026-11-20T18:43:00+00:00",
    data: [2, 0, 0, 0, 0, 0, 1, 3],
    count: 6,
  });
});

test("a time that has ended, and the current line, have no part", async () => {
  const yesterday = { date_from: "2026-11-26", date_to: "2026-11-26" };
  const [line] = await previous({ dateRange: yesterday });
  expect(line).not.toHaveProperty("until");
  const series = [{ event: "$pageview" }];
  const { results } = await engine.run(project_id, { kind: "TrendsQuery", series, compareFilter, ...today });
  expect(results[0]).not.toHaveProperty("until");
});

test("each value of a breakdown, a formula and a cumulative line have the part", async () => {
  const breakdownFilter = { breakdown: "plan" };
  const byPlan = await previous({ ...today, breakdownFilter });
  const numbers = byPlan.map((line) => [line.breakdown_value, line.count, line.until!.count]);
  expect(numbers).toEqual([
    ["free", 4, 1],
    ["pro", 1, 1],
  ]);
  const series = [{ event: "$pageview" }, { event: "$pageview", math: "dau" }];
  const [doubled] = await previous({ ...today, series, trendsFilter: { formula: "A + B" } });
  expect([doubled!.count, doubled!.until!.count]).toEqual([10, 4]);
  const [cumulative] = await previous({
    dateRange: { date_from: "-7d" },
    trendsFilter: { display: "ActionsLineGraphCumulative" },
  });
  expect([cumulative!.data.at(-1), cumulative!.until!.data.at(-1)]).toEqual([7, 6]);
});

// PostHog/posthog#14991; Plausible 277: `compare_to` of its CompareFilter.
test.each([
  ["-7d", 4, 3],
  ["-1w", 4, 3],
  ["-1y", 3, 2],
  ["-52w", 1, 1],
  ["-8d", 1, 1],
])("today is compared with the day %p back", async (compare_to, whole, part) => {
  const [line] = await previous({ ...today, ...number, compareFilter: { compare: true, compare_to } });
  expect([line!.aggregated_value, line!.until!.aggregated_value]).toEqual([whole, part]);
  const [byDay] = await previous({ ...today, compareFilter: { compare: true, compare_to } });
  expect([byDay!.count, byDay!.until!.count]).toEqual([whole, part]);
});

test("a text that goes back no time is refused by name", async () => {
  for (const compare_to of ["7d", "-0d", "-1wStart", "all", "-9999y"]) {
    const query = { kind: "TrendsQuery", series: [{}], compareFilter: { compare: true, compare_to } };
    const refused = engine.run(project_id, query).catch((thrown: { attr: string }) => thrown.attr);
    expect(await refused).toBe("query__compareFilter__compare_to");
  }
});

test("stickiness has the part: persons by days as far as now", async () => {
  const query = { kind: "StickinessQuery", series: [{ event: "$pageview" }], compareFilter, ...today };
  const { results } = await engine.run(project_id, query);
  const [line] = (results as TrendLine[]).filter(({ compare_label }) => compare_label === "previous");
  expect([line!.count, line!.until!.count]).toEqual([5, 2]);
});
