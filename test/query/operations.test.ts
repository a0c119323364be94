import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { queryLimits } from "../../src/query/limits.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { storesOf } from "../support/server.ts";
import { storeEvents } from "./naive.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
let stores: Stores;
const minute = 60_000;
const noon = Date.UTC(2024, 2, 30, 12);

beforeAll(async () => {
  app = await startApp();
  stores = await storesOf(app);
  const event = (i: number, name: string, user: string, at: number, properties = {}) => ({
    uuid: `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`,
    event: name,
    distinct_id: user,
    at,
    properties,
  });
  const own = [
    event(1, "seen", "ann", noon, { plan: "pro", price: 10 }),
    event(2, "seen", "bob", noon + minute, { plan: "free", price: 2.5 }),
    event(3, "bought", "ann", noon + 30 * minute, { plan: "pro", "a name": { deep: [1] } }),
    event(4, "seen", "ann", noon + 24 * 60 * minute, { plan: "pro", long: 1 }),
  ];
  await storeEvents(stores, 1, own);
  // What another project has is never counted.
  await storeEvents(
    stores,
    2,
    own.map((one, i) => ({ ...one, uuid: one.uuid.replace(/^0/, String(i + 1)) })),
  );
}, startMsMax);

const path = "/api/projects/1/query/";

function run(query: unknown): Promise<Answer> {
  return ask({ url: app.url } as never, "POST", path, { query });
}

const dateRange = { date_from: "2024-03-29", date_to: "2024-03-31" };
const trend = { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "seen" }], dateRange };

describe("a trend over HTTP", () => {
  test("answers in the shape scripts know", async () => {
    const { status, body } = await run(trend);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      timezone: "UTC",
      is_cached: false,
      error: null,
      result_type: "series",
      resolved_date_range: { date_from: "2024-03-29T00:00:00+00:00", date_to: "2024-03-31T23:59:59+00:00" },
      results: [
        {
          label: "seen",
          count: 3,
          data: [0, 2, 1],
          days: ["2024-03-29", "2024-03-30", "2024-03-31"],
          labels: ["29-Mar-2024", "30-Mar-2024", "31-Mar-2024"],
          action: { id: "seen", type: "events", order: 0, math: "total" },
        },
      ],
    });
  });

  test("is the same below environments, and inside the nodes that show it", async () => {
    const node = { kind: "InsightVizNode", source: trend };
    const wrapped = await ask(app as never, "POST", "/api/environments/1/query", { query: node });
    expect(wrapped.body["results"]).toEqual((await run(trend)).body["results"]);
  });

  test("has hours as labels and days as texts with an hour", async () => {
    const day = { date_from: "2024-03-30T11:30:00", date_to: "2024-03-30T13:00:00" };
    const { body } = await run({ ...trend, interval: "hour", dateRange: day });
    expect(body["results"]).toMatchObject([
      {
        data: [0, 2, 0],
        days: ["2024-03-30 11:00:00", "2024-03-30 12:00:00", "2024-03-30 13:00:00"],
        labels: ["30-Mar 11:00", "30-Mar 12:00", "30-Mar 13:00"],
      },
    ]);
  });

  test("names its lines after series and breakdown values", async () => {
    const series = [{ event: "seen", custom_name: "Looks" }, { event: "bought" }];
    const both = await run({ ...trend, series, breakdownFilter: { breakdown: "plan" } });
    const labels = (both.body["results"] as { label: string }[]).map(({ label }) => label);
    expect(labels).toEqual(["Looks - pro", "Looks - free", "bought - pro"]);
    const one = await run({
      ...trend,
      breakdownFilter: { breakdowns: [{ property: "plan" }], breakdown_limit: 1 },
    });
    expect(one.body["results"]).toMatchObject([
      { label: "pro", breakdown_value: ["pro"], count: 2 },
      { label: "Other", breakdown_value: ["$$_posthog_breakdown_other_$$"], count: 1 },
    ]);
  });

  test("adds up over time where it is shown so", async () => {
    const { body } = await run({ ...trend, trendsFilter: { display: "ActionsLineGraphCumulative" } });
    expect(body["results"]).toMatchObject([{ data: [0, 2, 3], count: 3 }]);
  });

  test("reaches from the project's first event on, where all is requested", async () => {
    const { body } = await run({ ...trend, dateRange: { date_from: "all", date_to: "2024-03-31" } });
    expect(body["results"]).toMatchObject([{ data: [2, 1] }]);
  });

  test("is about the last week by default", async () => {
    const { body } = await run({ kind: "TrendsQuery", series: [{}] });
    expect((body["results"] as { data: number[] }[])[0]?.data).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
  });
});

test("ids that were merged are one user, in trends, funnels and retention", async () => {
  await stores.clickhouse.command(`
    INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at)
    SELECT generateUUIDv4(), 1, 'merged', ['anonymous', 'known', 'other'][number + 1], '{}', ${noon / 1000} + number,
      now64(6) FROM numbers(3)`);
  const users = async () => {
    const series = [{ event: "merged", math: "dau" }];
    return ((await run({ ...trend, series })).body["results"] as { count: number }[])[0]?.count;
  };
  expect(await users()).toBe(3);
  await stores.clickhouse.command(`
    INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version)
    VALUES (1, 'anonymous', 'known', now64(6), now64(6), 1), (1, 'known', 'known', now64(6), now64(6), 1)`);
  expect(await users()).toBe(2);
  const steps = await run({
    kind: "FunnelsQuery",
    series: [{ event: "merged" }, { event: "merged" }],
    dateRange,
  });
  expect((steps.body["results"] as { count: number }[]).map(({ count }) => count)).toEqual([2, 1]);
  const entity = { id: "merged", type: "events" };
  const retentionFilter = { totalIntervals: 1, targetEntity: entity, returningEntity: entity };
  const back = await run({ kind: "RetentionQuery", dateRange: { date_to: "2024-03-30" }, retentionFilter });
  expect(back.body["results"]).toMatchObject([{ values: [{ count: 2 }] }]);
});

test("groups are counted by the place of their type", async () => {
  await stores.clickhouse.command(`
    INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, gt, gk)
    SELECT generateUUIDv4(), 1, 'grouped', 'ann', '{}', ${noon / 1000}, now64(6), ['team', 'company'],
      [toString(number), if(number < 4, 'acme', '')] FROM numbers(5)`);
  await stores.clickhouse.command(
    "INSERT INTO group_type_rows (project_id, group_type, place, version) VALUES (1, 'company', 0, 1), (1, 'team', 1, 1)",
  );
  const counted = async (math_group_type_index: number) => {
    const series = [{ event: "grouped", math: "unique_group", math_group_type_index }];
    return ((await run({ ...trend, series })).body["results"] as { data: number[] }[])[0]?.data;
  };
  expect([await counted(0), await counted(1), await counted(2)]).toEqual([
    [0, 1, 0],
    [0, 5, 0],
    [0, 0, 0],
  ]);
});

test("a group's key is the property `$group_0` to `$group_4` of its events: in filters, breakdowns, maths and SQL", async () => {
  const counted = async (more: object, math: object = {}) => {
    const { body } = await run({ ...trend, series: [{ event: "grouped", ...math }], ...more });
    return (body["results"] as { count: number; label: string }[]).map(({ count, label }) => [label, count]);
  };
  const company = { key: "$group_0", value: "acme" };
  expect(await counted({ properties: [company] })).toEqual([["grouped", 4]]);
  const inTeam = { properties: [{ key: "$group_1", operator: "is_set" }] };
  expect(await counted(inTeam, { math: "first_time_for_user" })).toEqual([["grouped", 1]]);
  expect(await counted({}, { math: "unique", math_property: "$group_1" })).toEqual([["grouped", 5]]);
  expect(await counted({}, { math: "sum", math_property: "$group_1" })).toEqual([["grouped", 10]]);
  const byCompany = await counted({ breakdownFilter: { breakdown: "$group_0", breakdown_type: "event" } });
  expect(byCompany.map(([, count]) => count)).toEqual([4, 1]);
  const query =
    "SELECT properties.$group_1 AS team, $group_1 FROM events WHERE properties.$group_0 = 'acme' ORDER BY team";
  const { body } = await run({ kind: "HogQLQuery", query });
  expect(body["results"]).toEqual(["0", "1", "2", "3"].map((team) => [team, team]));
  const list = { kind: "EventsQuery", select: ["properties.$group_1"], properties: [company], after: "all" };
  const listed = (await run(list)).body["results"] as string[][];
  expect(listed.flat().toSorted()).toEqual(["0", "1", "2", "3"]);
});

test("a funnel says who got how far and how long it took", async () => {
  const { body } = await run({
    kind: "FunnelsQuery",
    series: [{ event: "seen" }, { event: "bought" }],
    dateRange,
  });
  expect(body["results"]).toMatchObject([
    { name: "seen", order: 0, count: 2, average_conversion_time: null },
    { name: "bought", order: 1, count: 1, average_conversion_time: 1800, median_conversion_time: 1800 },
  ]);
});

test("a step's time is of the attempt that came furthest, as documented", async () => {
  const made = (user: string, steps: [string, number][]) =>
    steps.map(([event, seconds], i) => ({
      uuid: `00000000-0000-4000-9${user === "cleo" ? "0" : "1"}00-${String(i).padStart(12, "0")}`,
      event: `funnel ${event}`,
      distinct_id: user,
      at: noon - 60 * minute + seconds * 1000,
      properties: {},
    }));
  await storeEvents(stores, 1, [
    // The last a before the first c begins it, and the first b after that one counts; what comes later does not.
    ...made("cleo", [
      ["a", 0],
      ["b", 10],
      ["a", 20],
      ["b", 50],
      ["c", 55],
      ["b", 60],
      ["c", 160],
    ]),
    // The last a begins it; without a c this person is not in the time of c.
    ...made("dan", [
      ["a", 0],
      ["a", 70],
      ["b", 100],
    ]),
  ]);
  const series = ["a", "b", "c"].map((name) => ({ event: `funnel ${name}` }));
  const { body } = await run({ kind: "FunnelsQuery", series, dateRange });
  expect(body["results"]).toMatchObject([
    { count: 2, average_conversion_time: null, median_conversion_time: null },
    { count: 2, average_conversion_time: 30, median_conversion_time: 30 },
    { count: 1, average_conversion_time: 5, median_conversion_time: 5 },
  ]);
  const reply = await fetch(`${app.url}/docs/json`);
  const { paths } = (await reply.json()) as { paths: Record<string, { post: { description: string } }> };
  const { description } = paths["/api/projects/{project_id}/query/"]!.post;
  expect(description).toContain("the attempt that came furthest counts, of these the first to get there");
});

test("times to convert are an object, of an insight too, and so are paths a list", async () => {
  const query = {
    kind: "InsightVizNode",
    source: {
      kind: "FunnelsQuery",
      series: [{ event: "seen" }, { event: "bought" }],
      dateRange,
      funnelsFilter: { funnelVizType: "time_to_convert", binCount: 2 },
    },
  };
  const times = {
    bins: [
      [1800, 1],
      [1860, 0],
      [1920, 0],
    ],
    average_conversion_time: 1800,
  };
  expect((await run(query)).body["results"]).toEqual(times);
  const made = await ask(app as never, "POST", "/api/projects/1/insights/", { query });
  const shown = await ask(app as never, "GET", `/api/projects/1/insights/${made.body["id"]}/?refresh=true`);
  expect([made.status, shown.body["result"]]).toEqual([201, times]);
  const paths = await run({ kind: "DataVisualizationNode", source: { kind: "PathsQuery", dateRange } });
  expect([paths.status, paths.body["results"]]).toEqual([200, expect.any(Array)]);
});

test("a funnel's window holds its last moment, and nothing after", async () => {
  const within = async (funnelWindowInterval: number) => {
    const funnelsFilter = { funnelWindowInterval, funnelWindowIntervalUnit: "second" };
    const series = [{ event: "seen" }, { event: "bought" }];
    const { body } = await run({ kind: "FunnelsQuery", series, dateRange, funnelsFilter });
    return (body["results"] as { count: number }[])[1]?.count;
  };
  expect([await within(1800), await within(1799)]).toEqual([1, 0]);
});

test("retention says who came back", async () => {
  const retentionFilter = { period: "Day", totalIntervals: 2, targetEntity: { id: "seen", type: "events" } };
  const returningEntity = { id: "seen", type: "events" };
  const { body } = await run({
    kind: "RetentionQuery",
    dateRange: { date_to: "2024-03-31" },
    retentionFilter: { ...retentionFilter, returningEntity },
  });
  expect(body["results"]).toEqual([
    {
      label: "Day 0",
      date: "2024-03-30T00:00:00+00:00",
      values: [
        { count: 2, label: "Day 0" },
        { count: 1, label: "Day 1" },
      ],
    },
    { label: "Day 1", date: "2024-03-31T00:00:00+00:00", values: [{ count: 1, label: "Day 0" }] },
  ]);
});

describe("a list of events", () => {
  const list = { kind: "EventsQuery", after: "2024-03-29", before: "2024-04-02" };

  test("has the columns requested, newest first, and says whether there are more", async () => {
    const select = ["event", "timestamp", "properties.plan", "properties['a name']"];
    const { body } = await run({ ...list, select, limit: 2, offset: 1 });
    expect(body).toMatchObject({
      columns: select,
      hasMore: true,
      limit: 2,
      offset: 1,
      results: [
        ["bought", "2024-03-30T12:30:00Z", "pro", { deep: [1] }],
        ["seen", "2024-03-30T12:01:00Z", "free", null],
      ],
    });
  });

  test("is filtered, ordered the other way, and whole with *", async () => {
    const properties = [{ key: "plan", value: "pro", type: "event" }];
    const query = { ...list, select: ["*"], event: "seen", properties, orderBy: ["timestamp ASC"] };
    const { body } = await run(query);
    const rows = (body["results"] as Record<string, unknown>[][]).map(([one]) => one);
    expect(rows).toMatchObject([
      { event: "seen", distinct_id: "ann", properties: { price: 10 } },
      { event: "seen", properties: { long: 1 } },
    ]);
    expect(body["hasMore"]).toBe(false);
  });

  test("is about the last day by default", async () => {
    const { status, body } = await run({ kind: "EventsQuery", select: ["uuid"] });
    expect([status, body["results"]]).toEqual([200, []]);
  });
});

test("a kind that is not answered is refused by a sentence that names those that are", async () => {
  const refused = [
    [
      { kind: "DataTableNode", source: { kind: "TeamTaxonomyQuery" } },
      "TeamTaxonomyQuery",
      "query__source__kind",
    ],
    [{ kind: "TeamTaxonomyQuery" }, "TeamTaxonomyQuery", "query__kind"],
    [{ kind: 1 }, "1", "query__kind"],
  ] as const;
  const answered =
    "Kinds of queries that are: TrendsQuery, FunnelsQuery, RetentionQuery, LifecycleQuery, StickinessQuery, PathsQuery, HogQLQuery, EventsQuery, ActorsQuery, SessionsQuery, WebOverviewQuery, WebStatsTableQuery, and InsightVizNode " +
    "and DataVisualizationNode and DataTableNode around them.";
  for (const [query, kind, attr] of refused) {
    const detail = `"${kind}" is not answered by this server. ${answered}`;
    expect(problemOf(await run(query))).toEqual([400, "invalid_request", "not_supported", detail, attr]);
  }
});

describe("a query is refused", () => {
  const cases: [string, unknown, string, string][] = [
    ["without a kind", {}, "required", "query__kind"],
    ["that is a list", [], "not_a_dict", "query"],
    ["without series", { kind: "TrendsQuery" }, "required", "query__series"],
    ["of no series", { ...trend, series: [] }, "empty", "query__series"],
    [
      "of actions",
      { ...trend, series: [{ kind: "ActionsNode", id: 1 }] },
      "invalid_choice",
      "query__series__0__kind",
    ],
    [
      "with unknown math",
      { ...trend, series: [{ math: "mode" }] },
      "invalid_choice",
      "query__series__0__math",
    ],
    [
      "to add up no property",
      { ...trend, series: [{ math: "sum" }] },
      "required",
      "query__series__0__math_property",
    ],
    [
      "with a formula",
      { ...trend, trendsFilter: { formula: "A/B" } },
      "invalid_input",
      "query__trendsFilter__formula",
    ],
    ["by decade", { ...trend, interval: "decade" }, "invalid_choice", "query__interval"],
    [
      "with a date that is none",
      { ...trend, dateRange: { date_from: "2024-02-30" } },
      "invalid_input",
      "query__dateRange__date_from",
    ],
    [
      "that ends before it begins",
      { ...trend, dateRange: { date_from: "2024-03-02", date_to: "2024-03-01" } },
      "invalid_input",
      "query__dateRange__date_from",
    ],
    [
      "of too many intervals",
      { ...trend, interval: "hour", dateRange: { date_from: "2010-01-01", date_to: "2024-03-01" } },
      "invalid_input",
      "query__interval",
    ],
    [
      "of too many numbers",
      {
        ...trend,
        interval: "hour",
        dateRange: { date_from: "2023-06-01", date_to: "2024-03-01" },
        breakdownFilter: { breakdown: "plan", breakdown_limit: queryLimits.breakdownValuesMax },
      },
      "invalid_input",
      "query",
    ],
    [
      "of too many numbers by formulas",
      {
        ...trend,
        interval: "hour",
        dateRange: { date_from: "2023-06-01", date_to: "2024-03-01" },
        trendsFilter: { formulas: Array.from({ length: 10 }, (_, i) => `A + ${i}`) },
        breakdownFilter: { breakdown: "plan", breakdown_limit: 5 },
      },
      "invalid_input",
      "query",
    ],
    [
      "of too many numbers of stickiness",
      {
        kind: "StickinessQuery",
        series: Array.from({ length: 26 }, () => ({ event: "seen" })),
        interval: "hour",
        compareFilter: { compare: true },
        dateRange: { date_from: "2023-06-01", date_to: "2024-03-01" },
      },
      "invalid_input",
      "query",
    ],
    [
      "with a broken regular expression",
      { ...trend, properties: [{ key: "plan", operator: "regex", value: "(" }] },
      "invalid_input",
      "query",
    ],
    [
      "with filters on cohorts",
      {
        ...trend,
        properties: { type: "AND", values: [{ type: "AND", values: [{ key: "id", type: "cohort" }] }] },
      },
      "invalid_choice",
      "query__properties__values__0__values__0__type",
    ],
    [
      "broken down by more than three properties",
      { ...trend, breakdownFilter: { breakdown: ["plan", "price", "a", "b"] } },
      "invalid_input",
      "query__breakdownFilter__breakdown",
    ],
    ["of a funnel of one step", { kind: "FunnelsQuery", series: [{}] }, "empty", "query__series"],
    [
      "of a funnel without order with more steps that one event may be than it can tell apart",
      {
        kind: "FunnelsQuery",
        series: ["a", "b", "c", "d", "e", null].map((event) => ({ event })),
        funnelsFilter: { funnelOrderType: "unordered" },
      },
      "invalid_input",
      "query__series",
    ],
    [
      "that selects no expression",
      { kind: "EventsQuery", select: ["count("] },
      "invalid_input",
      "query__select__0",
    ],
    [
      "inside a node",
      { kind: "InsightVizNode", source: { ...trend, interval: "decade" } },
      "invalid_choice",
      "query__source__interval",
    ],
  ];
  for (const [name, query, code, attr] of cases)
    test(name, async () => {
      const answer = await run(query);
      const [status, type, said, detail, where] = problemOf(answer);
      expect([status, type, said, where]).toEqual([400, "validation_error", code, attr]);
      expect(detail).not.toMatch(/SELECT|FROM|src\//);
    });
});

test("what is in names and values stays a value", async () => {
  const crooked = ["'", "`", "\\", '"', "{x:String}", "') OR 1 --", "\n", "🦔", "%"].join("");
  const { status, body } = await run({
    ...trend,
    series: [{ event: crooked, math: "sum", math_property: crooked }],
    properties: [{ key: crooked, value: [crooked] }],
    breakdownFilter: { breakdown: crooked },
  });
  expect([status, body["results"]]).toEqual([200, []]);
});
