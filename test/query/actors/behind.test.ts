// Persons behind a number: as many as the number says, and those that a computation of our own finds.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { issueKey } from "../../../src/personal_api_keys/store.ts";
import type { FunnelStep, PathLink, RetentionCohort, TrendLine } from "../../../src/query/result.ts";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { post, projectKey, rested, storesOf } from "../../support/server.ts";
import type { NaiveEvent } from "../naive.ts";
import { linksOf, type NaivePaths } from "../paths/naive_paths.ts";

afterAll(cleanUp, startMsMax);

const zone = "Europe/Berlin";
const path = "/api/projects/1/query/";
let app: RunningApp;

interface Sent {
  event: string;
  distinct_id: string;
  at: number;
  plan: string | undefined;
  price: number;
}

/** `anon` becomes ann; nobody has a profile of gus. */
const users = ["ann", "anon", "bob", "cid", "dot", "eve", "gus"];
const personOf = (distinct_id: string): string => (distinct_id === "anon" ? "ann" : distinct_id);

const [events = []] = fc
  .sample(
    fc.array(
      fc.record({
        event: fc.constantFrom("seen", "tried", "bought"),
        distinct_id: fc.constantFrom(...users),
        // Around the change of clocks in Berlin.
        at: fc
          .integer({ min: Date.UTC(2024, 2, 27) / 1_200_000, max: Date.UTC(2024, 3, 2) / 1_200_000 })
          .map((part) => part * 1_200_000),
        plan: fc.option(fc.constantFrom("free", "pro", "team"), { nil: undefined }),
        price: fc.integer({ min: 1, max: 50 }),
      }),
      { minLength: 90, maxLength: 90 },
    ),
    { numRuns: 1, seed: 3 },
  )
  .map((list): Sent[] => list.map((one, i) => ({ ...one, at: one.at + i * 1000 })));

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  expect((await ask(app, "PATCH", "/api/projects/1/", { timezone: zone })).status).toBe(200);
  const sent = events.map(({ event, distinct_id, at, plan, price }) => ({
    event,
    distinct_id,
    timestamp: new Date(at).toISOString(),
    properties: { plan, price, ...(distinct_id === "gus" && { $process_person_profile: false }) },
  }));
  const others = ["ann", "bob", "cid", "dot", "eve"].map((distinct_id, i) => ({
    event: "$set",
    distinct_id,
    timestamp: "2024-03-20T12:00:00Z",
    properties: { $set: { tier: i % 2 === 0 ? "gold" : "grey" } },
  }));
  const merge = {
    event: "$identify",
    distinct_id: "ann",
    timestamp: "2024-03-20T13:00:00Z",
    properties: { $anon_distinct_id: "anon" },
  };
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ api_key: projectKey, batch: [...others, merge, ...sent] });
  expect((await fetch(`${app.url}/batch/`, { method: "POST", headers, body })).status).toBe(200);
  await rested(app);
}, startMsMax);

async function run(query: object): Promise<unknown[]> {
  const { status, body } = await ask(app, "POST", path, { query });
  expect([query, status, body["detail"]]).toEqual([query, 200, undefined]);
  return body["results"] as unknown[];
}

const behind = (source: object, figure: object) => ({ kind: "InsightActorsQuery", source, ...figure });

async function countBehind(source: object): Promise<number> {
  const [[count] = []] = (await run({ kind: "ActorsQuery", source, select: ["count()"] })) as [number][];
  return count!;
}

const everyStep: NaivePaths = {
  includeEventTypes: ["custom_event"],
  excludeEvents: [],
  pathGroupings: [],
  startPoint: null,
  endPoint: null,
  stepLimit: null,
  edgeLimit: 1000,
  minEdgeWeight: null,
  maxEdgeWeight: null,
};
const dateRange = { date_from: "2024-03-28", date_to: "2024-04-02" };
const seen = [{ event: "seen", math: "dau" }];
const trend = { kind: "TrendsQuery", series: seen, dateRange };

/** Each number of each line. */
async function checkLines(query: object, name: (line: TrendLine, i: number) => object): Promise<number> {
  let some = 0;
  for (const line of (await run(query)) as TrendLine[]) {
    for (const [i, count] of line.data.entries()) {
      const figure = name(line, i);
      expect([figure, await countBehind(behind(query, figure))]).toEqual([figure, Math.abs(count)]);
      if (count !== 0) some++;
    }
  }
  return some;
}

describe("as many persons are behind a number as it says", () => {
  const ofTrend = ({ days, breakdown_value: breakdown, compare_label: compare }: TrendLine, i: number) => ({
    day: days[i],
    ...(breakdown !== undefined && { breakdown }),
    ...(compare && { compare }),
  });

  test("of trends, with the time before", async () => {
    expect(await checkLines({ ...trend, compareFilter: { compare: true } }, ofTrend)).toBeGreaterThan(5);
    const weeks = {
      ...trend,
      interval: "week",
      properties: [{ type: "hogql", key: "properties.price > 10" }],
    };
    expect(await checkLines(weeks, ofTrend)).toBeGreaterThan(0);
  });

  test("of trends with a breakdown", async () => {
    const breakdownFilter = { breakdown: "plan", breakdown_limit: 2 };
    expect(await checkLines({ ...trend, breakdownFilter }, ofTrend)).toBeGreaterThan(5);
    const breakdowns = [
      { property: "tier", type: "person" },
      { property: "properties.price > 25", type: "hogql" },
    ];
    const two = {
      ...trend,
      dateRange: { ...dateRange, date_from: "2024-04-01" },
      breakdownFilter: { breakdowns },
    };
    expect(await checkLines(two, ofTrend)).toBeGreaterThan(3);
  });

  test("of math over days and of first times", async () => {
    for (const math of ["weekly_active", "first_time_for_user", "first_matching_event_for_user"]) {
      const query = {
        ...trend,
        series: [{ event: "seen", math }],
        dateRange: { ...dateRange, date_from: "2024-03-26" },
      };
      expect(await checkLines(query, ofTrend)).toBeGreaterThan(0);
    }
  });

  test("of one number for each line", async () => {
    const query = { ...trend, trendsFilter: { display: "BoldNumber" } };
    const [line] = (await run(query)) as TrendLine[];
    expect(await countBehind(behind(query, { series: 0 }))).toBe(line!.aggregated_value!);
  });

  test("of lifecycles", async () => {
    const query = { kind: "LifecycleQuery", series: [{ event: "seen" }], dateRange };
    const some = await checkLines(query, ({ days, status }, i) => ({ day: days[i], status }));
    expect(some).toBeGreaterThan(8);
  });

  test("of stickiness, with the time before", async () => {
    const query = { kind: "StickinessQuery", series: [{ event: "seen" }], dateRange };
    for (const computedAs of ["non_cumulative", "cumulative"]) {
      const asked = { ...query, compareFilter: { compare: true }, stickinessFilter: { computedAs } };
      const some = await checkLines(asked, ({ days, compare_label: compare }, i) => ({
        day: days[i],
        compare,
      }));
      expect(some).toBeGreaterThan(2);
    }
  });

  test("of retention, of all who began and of each cell", async () => {
    for (const retentionType of ["retention_recurring", "retention_first_time"]) {
      const retentionFilter = { retentionType, totalIntervals: 6, targetEntity: { id: "seen" } };
      const query = { kind: "RetentionQuery", dateRange, retentionFilter };
      for (const [interval, row] of ((await run(query)) as RetentionCohort[]).entries()) {
        const source = behind(query, { interval });
        expect([interval, await countBehind(source)]).toEqual([interval, row.values[0]!.count]);
        const rows = await run({
          kind: "ActorsQuery",
          source,
          select: ["person", "appearances"],
          orderBy: ["length(appearances) DESC", "actor_id"],
        });
        const appearances = (rows as [object, number[]][]).map(([, list]) => list);
        expect(
          row.values.map((_, later) => appearances.filter((list) => list.includes(later)).length),
        ).toEqual(row.values.map(({ count }) => count));
        expect(appearances).toEqual(appearances.toSorted((a, b) => b.length - a.length));
        for (const [later, { count }] of row.values.entries()) {
          const properties = [{ type: "hogql", key: `has(appearances, ${later})` }];
          const asked = { kind: "ActorsQuery", source, select: ["count()"], properties };
          expect([retentionType, interval, later, await run(asked)]).toEqual([
            retentionType,
            interval,
            later,
            [[count]],
          ]);
        }
      }
    }
  });

  test("of paths: who took one step after another", async () => {
    const names = ["opened", "read", "opened", "shared", "closed", "read"];
    const walks: NaiveEvent[] = Array.from({ length: 20 }, (_, user) =>
      names.slice(user % 4, 3 + (user % 5)).map((event, i) => ({
        uuid: crypto.randomUUID(),
        event,
        distinct_id: `walker ${user}`,
        at: Date.UTC(2024, 4, 1, 12, user, 0) + i * 60_000 * (1 + (user % 3)),
        properties: {},
      })),
    ).flat();
    const batch = walks.map(({ at, ...one }) => ({ ...one, timestamp: new Date(at).toISOString() }));
    await post(app, "/batch/", { api_key: projectKey, historical_migration: true, batch });
    await rested(app);
    const range = { date_from: "2024-05-01", date_to: "2024-05-01" };
    const query = {
      kind: "PathsQuery",
      dateRange: range,
      pathsFilter: { includeEventTypes: ["custom_event"] },
    };
    const links = (await run(query)) as PathLink[];
    expect(links.length).toBeGreaterThan(8);
    const own = [...Map.groupBy(walks, ({ distinct_id }) => distinct_id).values()].map((list) =>
      linksOf(list, everyStep).map((link) => `${link.source} ${link.target}`),
    );
    for (const { source, target } of links) {
      const pathsFilter = { ...query.pathsFilter, pathStartKey: source, pathEndKey: target };
      const found = await countBehind(behind({ ...query, pathsFilter }, {}));
      const expected = own.filter((one) => one.includes(`${source} ${target}`)).length;
      expect([source, target, found]).toEqual([source, target, expected]);
    }
  });

  test("of funnels: who came to a step, and who stopped before it", async () => {
    const steps = [{ event: "seen" }, { event: "tried" }, { event: "bought" }];
    for (const more of [{}, { breakdownFilter: { breakdown: "plan", breakdown_limit: 1 } }]) {
      const query = { kind: "FunnelsQuery", series: steps, dateRange, ...more };
      const lines = (await run(query)) as FunnelStep[] | FunnelStep[][];
      for (const line of (Array.isArray(lines[0]) ? lines : [lines]) as FunnelStep[][]) {
        for (const [i, { count, breakdown_value }] of line.entries()) {
          const figure = { ...(breakdown_value && { funnelStepBreakdown: breakdown_value }) };
          const of = (funnelStep: number) =>
            countBehind({ kind: "FunnelsActorsQuery", source: query, funnelStep, ...figure });
          expect([figure, i, await of(i + 1)]).toEqual([figure, i, count]);
          if (i > 0) expect(await of(-i - 1)).toBe(line[i - 1]!.count - count);
        }
      }
    }
  });
});

test("they are who did it, with those who have no profile, filtered as requested", async () => {
  const day = "2024-03-29";
  const from = Temporal.PlainDate.from(day).toZonedDateTime(zone);
  const to = from.add({ days: 1 });
  const expected = events
    .filter(({ event, at }) => event === "seen" && at >= from.epochMilliseconds && at < to.epochMilliseconds)
    .map(({ distinct_id }) => personOf(distinct_id));
  const source = behind(
    { ...trend, series: [{ event: "seen", math: "sum", math_property: "price" }] },
    { day },
  );
  const rows = await run({ kind: "ActorsQuery", source, select: ["actor", "distinct_ids", "created_at"] });
  const found = (rows as [{ id: string }, string[], string | null][]).map(([, ids, created_at]) =>
    ids.length === 0 ? ["gus", created_at] : [personOf(ids.toSorted()[0]!), "some"],
  );
  expect(found.map(([name]) => name).toSorted()).toEqual([...new Set(expected)].toSorted());
  for (const [name, created_at] of found) if (name === "gus") expect(created_at).toBeNull();
  const all = await countBehind(source);
  const pages = [];
  for (let offset = 0; offset < all; offset++) {
    pages.push(
      ...(await run({ kind: "ActorsQuery", source, select: ["id"], orderBy: ["id"], limit: 1, offset })),
    );
  }
  expect(new Set(pages.flat()).size).toBe(all);
  const gold = await run({
    kind: "ActorsQuery",
    source,
    select: ["properties.tier"],
    properties: [{ key: "tier", value: "gold", type: "person" }],
  });
  const golden = new Set(expected).intersection(new Set(["ann", "cid", "eve"]));
  expect(gold).toEqual([...golden].map(() => ["gold"]));
});

test("filters of test accounts are of the events behind the number", async () => {
  const test_account_filters = [{ key: "price", operator: "gt", value: 25 }];
  expect((await ask(app, "PATCH", "/api/projects/1/", { test_account_filters })).status).toBe(200);
  const query = { ...trend, filterTestAccounts: true };
  const [line] = (await run(query)) as TrendLine[];
  for (const [i, day] of line!.days.entries()) {
    expect(await countBehind(behind(query, { day }))).toBe(line!.data[i]!);
  }
  await ask(app, "PATCH", "/api/projects/1/", { test_account_filters: [] });
});

test("they require person:read", async () => {
  const { sql } = await storesOf(app);
  const [user] = await sql<{ id: number }[]>`SELECT min(id) AS id FROM users`;
  const query = { kind: "ActorsQuery", source: behind(trend, { day: "2024-03-29" }), select: ["count()"] };
  const answerOf = async (...scopes: string[]) => {
    const { value } = await issueKey(sql, user!.id, { label: "some", scopes });
    return await ask({ url: app.url } as never, "POST", path, { query }, value);
  };
  const refused = await answerOf("query:read");
  expect([refused.status, refused.body["detail"]]).toEqual([
    403,
    "API key missing required scope 'person:read'",
  ]);
  expect((await answerOf("query:read", "person:read")).status).toBe(200);
});

test("what is behind nothing is refused by its field", async () => {
  const day = "2024-03-29";
  const funnel = { kind: "FunnelsQuery", series: [{ event: "seen" }, { event: "tried" }], dateRange };
  const ofFunnel = (figure: object) => ({ kind: "FunnelsActorsQuery", source: funnel, ...figure });
  const cases: [source: unknown, attr: string][] = [
    ["persons", ""],
    [{ kind: "EventsQuery", select: ["*"] }, "__kind"],
    [{ kind: "HogQLQuery", query: "select event from events" }, "__query"],
    [{ kind: "HogQLQuery", query: "select person_id from nowhere" }, "__query"],
    [{ kind: "InsightActorsQuery" }, "__source"],
    [behind({ kind: "EventsQuery", select: ["*"] }, {}), "__source__kind"],
    [behind({ ...trend, sampling: 1 }, { day }), "__source__sampling"],
    [behind(trend, { days: day }), "__days"],
    [behind(trend, { day: "2024-01-01" }), "__day"],
    [behind(trend, { day, series: 1 }), "__series"],
    [behind(trend, { day, breakdown: "pro" }), "__breakdown"],
    [
      behind({ ...trend, breakdownFilter: { breakdown: "plan" } }, { day, breakdown: ["a", "b"] }),
      "__breakdown",
    ],
    [behind(trend, { day, compare: "previous" }), "__compare"],
    [behind(trend, { day, status: "new" }), "__status"],
    [behind(trend, { day, interval: 1 }), "__interval"],
    [behind({ ...trend, series: [{ math: "unique_group", math_group_type_index: 0 }] }, { day }), "__series"],
    [
      behind({ kind: "LifecycleQuery", series: [{ event: "seen" }], dateRange }, { day, status: "old" }),
      "__status",
    ],
    [behind({ kind: "StickinessQuery", series: [{ event: "seen" }], dateRange }, { day: 99 }), "__day"],
    [behind({ kind: "RetentionQuery", retentionFilter: {} }, { interval: 8 }), "__interval"],
    [behind({ kind: "RetentionQuery", retentionFilter: {} }, {}), "__interval"],
    [ofFunnel({ funnelStep: 3 }), "__funnelStep"],
    [ofFunnel({ funnelStep: -1 }), "__funnelStep"],
    [ofFunnel({}), "__funnelStep"],
    [ofFunnel({ funnelStep: 1, funnelStepBreakdown: "pro" }), "__funnelStepBreakdown"],
  ];
  for (const [source, attr] of cases) {
    const query = { kind: "ActorsQuery", source, select: ["id"] };
    const { status, body } = await ask(app, "POST", path, { query });
    expect([source, status, body["attr"]]).toEqual([source, 400, `query__source${attr}`]);
  }
});
