// Breakdowns as strangers expect them. Each test names the public source that it stands for; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { made, openProject } from "../support/projects.ts";
import { post, projectKey, rested } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const at = Date.UTC(2024, 2, 4, 10);
  const paid = (plan: string, price: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      event: "paid",
      distinct_id: `${plan}-${i}`,
      timestamp: new Date(at + i * 1000).toISOString(),
      properties: { plan, price },
    }));
  const batch = [...paid("small", 1, 10), ...paid("large", 1000, 1), ...paid("middle", 30, 3)];
  await post({ url: app.url }, "/batch/", { api_key: projectKey, batch, historical_migration: true });
  await rested({ url: app.url });
}, startMsMax);
afterAll(cleanUp, startMsMax);

/** The values that have a line, without the others', and the numbers. */
async function linesBy(math: object, display?: string): Promise<[string, number][]> {
  const query = {
    kind: "TrendsQuery",
    series: [{ event: "paid", ...math }],
    dateRange: { date_from: "2024-03-04", date_to: "2024-03-04" },
    breakdownFilter: { breakdown: "plan", breakdown_limit: 2, breakdown_hide_other_aggregation: true },
    ...(display && { trendsFilter: { display } }),
  };
  const { status, text, body } = await ask(app, "POST", "/api/projects/1/query/", { query });
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  const lines = body["results"] as { breakdown_value: string; count: number; aggregated_value?: number }[];
  return lines.map((line) => [line.breakdown_value, display ? line.aggregated_value! : line.count]);
}

const price = { math_property: "price" };

// PostHog's trends_query_builder.py: values are kept and ordered by the sum of their own line, the largest first.
test.each([
  [
    { math: "sum", ...price },
    [
      ["large", 1000],
      ["middle", 90],
    ],
  ],
  [
    { math: "avg", ...price },
    [
      ["large", 1000],
      ["middle", 30],
    ],
  ],
  [
    { math: "max", ...price },
    [
      ["large", 1000],
      ["middle", 30],
    ],
  ],
  [
    { math: "median", ...price },
    [
      ["large", 1000],
      ["middle", 30],
    ],
  ],
  [
    { math: "min", ...price },
    [
      ["large", 1000],
      ["middle", 30],
    ],
  ],
  [
    { math: "hogql", math_hogql: "sum(toFloat(properties.price))" },
    [
      ["large", 1000],
      ["middle", 90],
    ],
  ],
  [
    { math: "total" },
    [
      ["small", 10],
      ["middle", 3],
    ],
  ],
  [
    { math: "dau" },
    [
      ["small", 10],
      ["middle", 3],
    ],
  ],
])("the values that %p keeps rank by it", async (math, expected) => {
  expect(await linesBy(math)).toEqual(expected as [string, number][]);
  expect(await linesBy(math, "ActionsPie")).toEqual(expected as [string, number][]);
});

type Ranked = [day: number, user: string, p: string | null, number?: number];

/** Sends events, each with its day of March 2024. */
async function sendRanked(event: string, rows: readonly Ranked[]) {
  const batch = rows.map(([day, distinct_id, p, number], i) => ({
    event,
    distinct_id,
    timestamp: new Date(Date.UTC(2024, 2, day, 10, 0, i)).toISOString(),
    properties: { ...(p !== null && { p, side: "left" }), ...(number !== undefined && { number }) },
  }));
  await post({ url: app.url }, "/batch/", { api_key: projectKey, batch, historical_migration: true });
  await rested({ url: app.url });
}

const otherLine = "$$_posthog_breakdown_other_$$";
const noneLine = "$$_posthog_breakdown_null_$$";

/** The lines of a week with a limit of one value: value and number. */
async function firstOfWeek(
  node: object,
  display?: string,
  breakdown: object = { breakdown: "p" },
): Promise<[unknown, number][]> {
  const query = {
    kind: "TrendsQuery",
    series: [node],
    dateRange: { date_from: "2024-03-11", date_to: "2024-03-17" },
    breakdownFilter: { ...breakdown, breakdown_limit: 1 },
    ...(display && { trendsFilter: { display } }),
  };
  const { status, text, body } = await ask(app, "POST", "/api/projects/1/query/", { query });
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  const lines = body["results"] as { breakdown_value: string; count: number; aggregated_value?: number }[];
  return lines.map((line) => [line.breakdown_value, line.aggregated_value ?? line.count]);
}

// trends_query_builder.py: `_outer_select_query` ranks by a line's sum, `_total_value_by_breakdown_query` by its number.
test("values rank by what their line adds up to, never by their events", async () => {
  await sendRanked("ranked", [
    ...Array<Ranked>(10).fill([11, "a", "many events", 1]),
    [11, "b", "many users", 2],
    [11, "c", "many users"],
    [11, "d", "many users"],
    [12, "e", "many days", 15],
    [13, "e", "many days", 15],
    [14, "e", "many days", 15],
    [15, "e", "many days", 15],
    [16, "f", "one number", 40],
  ]);
  const ranked = { event: "ranked" };
  const number = { math_property: "number" };
  for (const [math, display, expected] of [
    [{}, undefined, ["many events", 10]],
    [{ math: "dau" }, undefined, ["many days", 4]],
    [{ math: "dau" }, "ActionsPie", ["many users", 3]],
    [{ math: "weekly_active" }, undefined, ["many users", 21]],
    [{ math: "first_time_for_user" }, undefined, ["many users", 3]],
    [{ math: "dau" }, "ActionsLineGraphCumulative", ["many users", 3]],
    [{ math: "avg_count_per_actor" }, undefined, ["many events", 10]],
    [{ math: "avg", ...number }, undefined, ["many days", 60]],
    [{ math: "avg", ...number }, "ActionsPie", ["one number", 40]],
    [{ math: "min", ...number }, "ActionsPie", ["one number", 40]],
    [{ math: "hogql", math_hogql: "max(toFloat(properties.number))" }, undefined, ["many days", 60]],
    [{ math: "hogql", math_hogql: "max(toFloat(properties.number))" }, "ActionsPie", ["one number", 40]],
  ] as const) {
    const [first, other] = await firstOfWeek({ ...ranked, ...math }, display);
    expect([math, display, first, other?.[0]]).toEqual([math, display, [...expected], otherLine]);
  }
  const source = {
    kind: "TrendsQuery",
    series: [{ ...ranked, math: "dau" }],
    dateRange: { date_from: "2024-03-11", date_to: "2024-03-17" },
    breakdownFilter: { breakdown: "p", breakdown_limit: 1 },
    trendsFilter: { display: "ActionsPie" },
  };
  const figure = { kind: "InsightActorsQuery", source, breakdown: otherLine };
  const query = { kind: "ActorsQuery", select: ["id"], source: figure };
  const { body } = await ask(app, "POST", "/api/projects/1/query/", { query });
  expect(body["results"]).toHaveLength(3);
});

// `_breakdown_query_order_by`: in a line over time none is after all values before the limit, a number ranks it by itself.
test("none takes the place of no value over time", async () => {
  await sendRanked("nones", [
    ...Array<Ranked>(5).fill([11, "a", null]),
    [11, "a", "A"],
    [11, "a", "A"],
    [12, "a", "A"],
    [11, "a", "B"],
    [11, "b", "B"],
  ]);
  const several = { breakdowns: [{ property: "p" }, { property: "side" }] };
  for (const math of ["total", "hogql"]) {
    const node = { event: "nones", math, ...(math === "hogql" && { math_hogql: "count()" }) };
    expect(await firstOfWeek(node)).toEqual([
      ["A", 3],
      [otherLine, 7],
    ]);
    expect(await firstOfWeek(node, "ActionsPie")).toEqual([
      [noneLine, 5],
      [otherLine, 5],
    ]);
    expect(await firstOfWeek(node, undefined, several)).toEqual([
      [["A", "left"], 3],
      [[otherLine, otherLine], 7],
    ]);
    expect(await firstOfWeek(node, "ActionsPie", several)).toEqual([
      [[noneLine, noneLine], 5],
      [[otherLine, otherLine], 5],
    ]);
  }
  const query = {
    kind: "TrendsQuery",
    series: [{ event: "nones" }, { event: "nones", properties: [{ key: "p", operator: "is_not_set" }] }],
    dateRange: { date_from: "2024-03-11", date_to: "2024-03-17" },
    breakdownFilter: { breakdown: "p", breakdown_limit: 1 },
    trendsFilter: { formula: "A + B" },
  };
  const { body } = await ask(app, "POST", "/api/projects/1/query/", { query });
  expect((body["results"] as { breakdown_value: string }[])[0]!.breakdown_value).toBe("A");
});

// PostHog/posthog#28108, and its test of a formula with a breakdown: the largest number first.
test("a formula over a limited breakdown keeps the same values in each series", async () => {
  const counts: Record<string, [number, number]> = { big: [1, 9], mid: [5, 0], z: [2, 3], y: [3, 1] };
  const at = Date.UTC(2024, 2, 6, 10);
  const batch = Object.entries(counts).flatMap(([k, numbers]) =>
    numbers.flatMap((count, i) =>
      Array.from({ length: count }, (_, n) => ({
        event: i === 0 ? "fa" : "fb",
        distinct_id: `${k}${n}`,
        timestamp: new Date(at + n).toISOString(),
        properties: { k },
      })),
    ),
  );
  await post({ url: app.url }, "/batch/", { api_key: projectKey, batch, historical_migration: true });
  await rested({ url: app.url });
  const lines = async (breakdown_limit: number, more: object = {}) => {
    const query = {
      kind: "TrendsQuery",
      series: [{ event: "fa" }, { event: "fb" }],
      dateRange: { date_from: "2024-03-06", date_to: "2024-03-06" },
      breakdownFilter: { breakdown: "k", breakdown_limit },
      trendsFilter: { formula: "A + B" },
      ...more,
    };
    const { body } = await ask(app, "POST", "/api/projects/1/query/", { query });
    const results = body["results"] as {
      breakdown_value: string;
      count: number;
      aggregated_value?: number;
    }[];
    return results.map((line) => [line.breakdown_value, line.aggregated_value ?? line.count]);
  };
  expect(await lines(1)).toEqual([
    ["big", 10],
    ["$$_posthog_breakdown_other_$$", 14],
  ]);
  const all = [
    ["big", 10],
    ["mid", 5],
    ["z", 5],
    ["y", 4],
  ];
  expect(await lines(4)).toEqual(all);
  expect(await lines(4, { trendsFilter: { formula: "A + B", display: "ActionsTable" } })).toEqual(all);
});

// PostHog's test_trends_query_runner.py: a histogram of four bins.
test("a breakdown into bins has equal ranges of its numbers, and none for what is no number", async () => {
  const numbers = [10, 10, 10, 10, 10, 20, 20, 30, 40, "many", null];
  const at = Date.UTC(2024, 2, 8, 10);
  const batch = numbers.map((prop, i) => ({
    event: "binned",
    distinct_id: `b${i}`,
    timestamp: new Date(at + i).toISOString(),
    properties: { prop, side: i % 2 === 0 ? "left" : "right" },
  }));
  await post({ url: app.url }, "/batch/", { api_key: projectKey, batch, historical_migration: true });
  await rested({ url: app.url });
  const query = (breakdownFilter: object, math = "total") => ({
    kind: "TrendsQuery",
    series: [{ event: "binned", math }],
    dateRange: { date_from: "2024-03-08", date_to: "2024-03-08" },
    breakdownFilter,
  });
  const lines = async (...parts: Parameters<typeof query>) => {
    const { status, text, body } = await ask(app, "POST", "/api/projects/1/query/", {
      query: query(...parts),
    });
    expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
    const results = body["results"] as { breakdown_value: string | string[]; count: number }[];
    return Object.fromEntries(results.map((line) => [String(line.breakdown_value), line.count]));
  };
  const none = "$$_posthog_breakdown_null_$$";
  const four = { breakdown: "prop", breakdown_histogram_bin_count: 4 };
  const expected = { "[10,17.5]": 5, "[17.5,25]": 2, [none]: 2, "[25,32.5]": 1, "[32.5,40.01]": 1 };
  for (const math of ["total", "dau"]) expect(await lines(four, math)).toEqual(expected);
  const breakdowns = [{ property: "prop", histogram_bin_count: 2 }, { property: "side" }];
  expect(await lines({ breakdowns })).toEqual({
    "[10,25],left": 4,
    "[10,25],right": 3,
    "[25,40.01],left": 1,
    "[25,40.01],right": 1,
    [`${none},left`]: 1,
    [`${none},right`]: 1,
  });
  expect(await lines({ breakdown: "side", breakdown_histogram_bin_count: 3 })).toEqual({ [none]: 11 });
  const source = {
    kind: "InsightActorsQuery",
    source: query(four),
    day: "2024-03-08",
    breakdown: "[17.5,25]",
  };
  const { body } = await ask(app, "POST", "/api/projects/1/query/", {
    query: { kind: "ActorsQuery", select: ["id"], source },
  });
  expect(body["results"]).toHaveLength(2);
  const refused = await ask(app, "POST", "/api/projects/1/query/", {
    query: { kind: "FunnelsQuery", series: [{}, {}], breakdownFilter: four },
  });
  expect([refused.status, refused.body["attr"]]).toEqual([
    400,
    "query__breakdownFilter__breakdown_histogram_bin_count",
  ]);
});

// breakdown.py cuts values at BREAKDOWN_VALUE_MAX_LENGTH; a session's moments are those of the project's zone.
test("a breakdown tells values apart by 400 letters, and shows a session's start in the project's zone", async () => {
  const zoned = await openProject(app, "zoned", [], { timezone: "America/New_York" });
  const long = "é".repeat(400);
  const start = "2024-03-08T03:00:00Z";
  const $session_id = Bun.randomUUIDv7("hex", Date.parse(start));
  await zoned.send(["a", "b"].map((end) => made("cut", end, start, { v: long + end, $session_id })));
  const lines = async (breakdownFilter: object) => {
    const dateRange = { date_from: "2024-03-07", date_to: "2024-03-08" };
    const query = { kind: "TrendsQuery", series: [{ event: "cut" }], dateRange, breakdownFilter };
    const found = await zoned.query<{ breakdown_value: string; count: number }>(query);
    return found.map((line) => [line.breakdown_value, line.count]);
  };
  expect(await lines({ breakdown: "v" })).toEqual([[long, 2]]);
  const started = await lines({ breakdown: "$start_timestamp", breakdown_type: "session" });
  expect(started).toEqual([[expect.stringMatching(/^2024-03-07 22:00:00/), 2]]);
});
