import { afterAll, beforeAll, expect, test } from "bun:test";
import { bootstrap } from "../../src/accounts/prepare.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { Insight } from "../../src/insights/model.ts";
import { type InsightResultReader, openInsightReader, withResults } from "../../src/insights/show.ts";
import { createInsight, removeInsight } from "../../src/insights/store.ts";
import { openQueryEngine, type QueryEngine } from "../../src/query/engine.ts";
import { ResultCache, writtenResult } from "../../src/query/results/result_cache.ts";
import { ClickHouseError } from "../../src/storage/clickhouse/clickhouse.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { cleanUp } from "../support/cleanup.ts";
import { noSqlParser } from "../support/sql_parser.ts";
import { openMadeStores, storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp, storesStartMsMax);

let stores: Stores;
let reader: InsightResultReader;
let project_id = 0;
let user_id = 0;

beforeAll(async () => {
  stores = await openMadeStores();
  const { sql } = stores;
  const unset = {
    bootstrapProjectApiKey: undefined,
    bootstrapPersonalApiKey: undefined,
    bootstrapEmail: undefined,
  };
  project_id = (await bootstrap(sql, unset))?.project_id ?? 0;
  user_id = (await sql<{ id: number }[]>`SELECT id FROM users`)[0]?.id ?? 0;
  reader = openInsightReader({
    sql,
    queries: openQueryEngine({ parser: noSqlParser, ...stores, clock: systemClock }),
  });
}, storesStartMsMax);

const trend = {
  kind: "TrendsQuery",
  series: [{ event: "seen" }],
  interval: "week",
  dateRange: { date_from: "-7d" },
};

async function make(fields: { name?: string; query?: unknown; dashboards?: number[] }): Promise<number> {
  const input = {
    name: null,
    derived_name: "seen count",
    query: trend,
    description: "",
    tags: [],
    favorited: false,
    saved: true,
    order: null,
    filters: {},
    deleted: false,
    dashboards: [],
    ...fields,
  };
  return await createInsight(stores.sql, input, { project_id, user_id });
}

async function makeDashboard(): Promise<number> {
  const [row] = await stores.sql<{ id: number }[]>`
    INSERT INTO dashboards (project_id, name) VALUES (${project_id}, 'Board') RETURNING id`;
  return row?.id ?? 0;
}

test("an insight is read with its results, its span and a name", async () => {
  const id = await make({});
  expect(await reader.insight(project_id, id)).toMatchObject({
    id,
    name: "seen count",
    type: "series",
    interval: "week",
    date_from: expect.stringMatching(/T00:00:00\+00:00$/),
    date_to: expect.stringMatching(/T23:59:59\+00:00$/),
    timezone: "UTC",
    results: [{ label: "seen", count: 0 }],
  });
});

test("a failing query is an error beside the others' results", async () => {
  const dashboard = await makeDashboard();
  await make({ name: "good", dashboards: [dashboard] });
  const dateRange = { date_from: "2024-03-02", date_to: "2024-03-01" };
  await make({ name: "bad", query: { ...trend, dateRange }, dashboards: [dashboard] });
  const found = await reader.dashboard(project_id, dashboard);
  expect(found).toMatchObject({ id: dashboard, name: "Board" });
  expect(
    found?.insights.map(({ name, type, results, error }) => [name, type, results.length, error]),
  ).toEqual([
    ["good", "series", 1, undefined],
    ["bad", null, 0, expect.stringContaining("date_from")],
  ] as never);
});

test("the texts of a dashboard are left out", async () => {
  const dashboard = await makeDashboard();
  const { sql } = stores;
  await sql`INSERT INTO dashboard_tiles (dashboard_id, text_body) VALUES (${dashboard}, '## Key metrics')`;
  const id = await make({ name: "only", dashboards: [dashboard] });
  expect((await reader.dashboard(project_id, dashboard))?.insights.map((one) => one.id)).toEqual([id]);
});

test("an unavailable store is an error without its message", async () => {
  const id = await make({});
  const away = new ClickHouseError("connect ECONNREFUSED 10.0.0.1", "ECONNREFUSED", "NETWORK");
  const engine = openQueryEngine({ parser: noSqlParser, ...stores, clock: systemClock });
  const queries = { ...engine, run: () => Promise.reject(away) };
  const alone = openInsightReader({ sql: stores.sql, queries });
  expect(await alone.insight(project_id, id)).toMatchObject({
    error: "The event store cannot be reached.",
    isAway: true,
  });
});

test("what a page has no time for shows its last result, or that it was not computed", async () => {
  let elapsed = 0;
  const engine = openQueryEngine({ parser: noSqlParser, ...stores, clock: systemClock });
  const [first, second, third, fourth] = ["a", "b", "c", "d"].map((event) => ({
    ...trend,
    series: [{ event }],
  }));
  const room = new ResultCache(systemClock);
  const computed = { ...(await engine.run(project_id, third)), computed_at: "2024-01-01T00:00:00Z" };
  room.retain("third", project_id, await writtenResult(computed));
  const kept = room.find("third")!;
  const queries: QueryEngine = {
    ...engine,
    answer: async (...asked) => {
      elapsed += 5000;
      return await engine.answer(...asked);
    },
    findCached: (_, query) => Promise.resolve(query === third ? { ...kept, is_cached: true } : undefined),
  };
  const clock = { ...systemClock, elapsed: () => elapsed };
  const insights = [first, second, third, fourth].map((query) => ({ query }) as Insight);
  const shown = await withResults({ queries, clock }, project_id, insights, {}, 8);
  expect(
    shown.map(({ is_cached, result, query_status }) => [
      is_cached,
      result === null ? undefined : [...(result as Iterable<unknown>)].length,
      query_status,
    ]),
  ).toEqual([
    [false, 1, null],
    [false, 1, null],
    [true, 1, null],
    [
      false,
      undefined,
      { complete: true, error: true, error_message: expect.stringContaining("8 s") as string },
    ],
  ]);
  expect(shown[2]?.last_refresh).toBe("2024-01-01T00:00:00Z");
});

test("what is deleted, or another project's, is not there", async () => {
  const id = await make({});
  const dashboard = await makeDashboard();
  expect(await reader.insight(project_id + 1, id)).toBeUndefined();
  expect(await reader.dashboard(project_id + 1, dashboard)).toBeUndefined();
  await removeInsight(stores.sql, id, { project_id, user_id });
  expect(await reader.insight(project_id, id)).toBeUndefined();
});
