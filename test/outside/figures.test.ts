// Lines, formulas and the persons behind them as strangers expect them: the numbers of PostHog's
// test_trends_query_runner.py and test_insight_actors_query_runner.py, and the public threads that each test names.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readDateSpan } from "../../src/query/date_range.ts";
import { noValue, otherValues, type TrendLine } from "../../src/query/result.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { made, openProject, type Project } from "../support/projects.ts";

let app: RunningApp;
let usual: Project;
let many: Project;
const noon = (day: number) => `2020-01-${String(day).padStart(2, "0")}T12:00:00Z`;
const people: [string, string, number, boolean, number[], number[]][] = [
  ["p1", "Chrome", 10, true, [11, 12, 13, 15, 17, 19], [11, 12, 13]],
  ["p2", "Firefox", 20, false, [9, 12], [13]],
  ["p3", "Edge", 30, true, [12], [13]],
  ["p4", "Safari", 40, false, [15], [16]],
];

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const events = people.flatMap(([who, $browser, prop, bool_field, views, leaves]) => {
    const properties = { $browser, prop, bool_field, $set: { name: who } };
    const of = (event: string, days: number[]) => days.map((day) => made(event, who, noon(day), properties));
    return [...of("view", views), ...of("leave", leaves)];
  });
  usual = await openProject(app, "usual", events);
  const values = Array.from({ length: 250 }, (_, i) =>
    made("view", `p${i}`, noon(11), { v: `${i}`, w: `${i % 30}` }),
  );
  many = await openProject(app, "many", [
    ...values,
    made("bare", "q", noon(11), { k: "x" }),
    made("bare", "r", noon(11)),
  ]);
  await many.send([made("bare", "s", noon(11), { k: "" }), made("bare", "t", noon(11), { k: null })]);
}, startMsMax);
afterAll(cleanUp, startMsMax);

const trend = (series: unknown[], more: object = {}) => ({
  kind: "TrendsQuery",
  series: series.map((one) => (typeof one === "string" ? { event: one } : one)),
  dateRange: { date_from: "2020-01-09", date_to: "2020-01-20" },
  ...more,
});
const lines = (project: Project, ...query: Parameters<typeof trend>) =>
  project.query<TrendLine>(trend(...query));
const counts = async (project: Project, ...query: Parameters<typeof trend>) =>
  (await lines(project, ...query)).map(({ label, count }) => [label, count]);
const byBrowser = { breakdownFilter: { breakdown_type: "event", breakdown: "$browser" } };

test.each([
  [{ event: "view", math: "monthly_active" }, {}, [1, 1, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4]],
  [{ event: "view", math: "weekly_active" }, { interval: "week" }, [2, 4, 1]],
  [{ event: "view", math: "sum", math_property: "prop" }, {}, [20, 0, 10, 60, 10, 0, 50, 0, 10, 0, 10, 0]],
  [{ event: "view", math: "avg", math_property: "prop" }, {}, [20, 0, 10, 20, 10, 0, 25, 0, 10, 0, 10, 0]],
  [
    { event: "view", math: "hogql", math_hogql: "sum(properties.prop)" },
    {},
    [20, 0, 10, 60, 10, 0, 50, 0, 10, 0, 10, 0],
  ],
  [{ event: "view", math: "first_time_for_user" }, {}, [1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0]],
  [
    "view",
    { trendsFilter: { display: "ActionsLineGraphCumulative" } },
    [1, 1, 2, 5, 6, 6, 8, 8, 9, 9, 10, 10],
  ],
])("the numbers of %j with %j", async (series, more, data) => {
  expect((await lines(usual, [series], more)).map((line) => line.data)).toEqual([data]);
});

// PostHog/posthog#5341, #5427: what has no line of its own is in one of all others.
test.each([
  [{ breakdown: "w" }, "ActionsLineGraph", 26],
  [{ breakdown: "w", breakdown_limit: 10 }, "ActionsLineGraph", 11],
  [{ breakdown: "w", breakdown_limit: 10, breakdown_hide_other_aggregation: true }, "ActionsTable", 10],
  [{ breakdowns: [{ property: "w" }] }, "ActionsLineGraph", 26],
  [{ breakdowns: [{ property: "w" }], breakdown_limit: 10 }, "ActionsTable", 11],
  [{ breakdown: "v" }, "WorldMap", 250],
])("a breakdown by %j as %s has %d lines", async (breakdownFilter, display, count) => {
  const found = await lines(many, ["view"], { breakdownFilter, trendsFilter: { display } });
  expect(found).toHaveLength(count);
  const all = found.reduce((sum, line) => sum + (line.aggregated_value ?? line.count), 0);
  expect(all <= 250 && (count === 10 || all === 250)).toBe(true);
  if (count % 10 > 0) expect([found.at(-1)!.breakdown_value].flat()).toEqual([otherValues]);
});

// PostHog/posthog#22211, #17994, #20711, #758: no value is a line, behind those that have one.
test("a line without a value comes after the others, of properties and of SQL", async () => {
  for (const [breakdown_type, breakdown] of [
    ["event", "k"],
    ["hogql", "properties.k"],
  ]) {
    const found = await lines(many, ["bare"], { breakdownFilter: { breakdown_type, breakdown } });
    expect(found.map(({ breakdown_value, count }) => [breakdown_value, count])).toEqual([
      ["x", 1],
      [noValue, 3],
    ]);
  }
  const numbers = await lines(usual, ["view"], { breakdownFilter: { breakdown: "prop" } });
  expect(numbers.map(({ breakdown_value, count }) => [breakdown_value, count])).toEqual([
    ["10", 6],
    ["20", 2],
    ["30", 1],
    ["40", 1],
  ]);
});

test("breakdowns by several properties, by persons, and of two series are named and ordered", async () => {
  const parts = (...breakdowns: object[]) => ({ breakdownFilter: { breakdowns } });
  const browser = { property: "$browser", type: "event" };
  expect(
    await counts(usual, ["view"], parts(browser, { property: "prop" }, { property: "bool_field" })),
  ).toEqual([
    ["Chrome::10::true", 6],
    ["Firefox::20::false", 2],
    ["Edge::30::true", 1],
    ["Safari::40::false", 1],
  ]);
  expect(await counts(usual, ["view"], parts(browser, { property: "name", type: "person" }))).toEqual([
    ["Chrome::p1", 6],
    ["Firefox::p2", 2],
    ["Edge::p3", 1],
    ["Safari::p4", 1],
  ]);
  expect((await counts(usual, ["view", "leave"], byBrowser)).slice(3, 6)).toEqual([
    ["view - Safari", 1],
    ["leave - Chrome", 3],
    ["leave - Edge", 1],
  ]);
  expect(await counts(usual, ["none"], byBrowser)).toEqual([]);
});

// PostHog/posthog#20262, #8190, #13388, #4399, #21690: divisions, zeros, breakdowns and comparisons of formulas.
test("formulas are computed by value and by period", async () => {
  const late = { dateRange: { date_from: "2020-01-15", date_to: "2020-01-19" } };
  const formula = (text: string, more: object = {}) => ({ trendsFilter: { formula: text, ...more } });
  const both = ["view", "leave"];
  expect(await counts(usual, both, { ...formula("A+2*B"), ...byBrowser })).toEqual(
    [12, 4, 3, 3].map((count) => ["Formula (A+2*B)", count]),
  );
  const compared = await lines(usual, both, {
    ...late,
    ...formula("A+2*B"),
    ...byBrowser,
    compareFilter: { compare: true, compare_to: "-3d" },
  });
  expect(compared).toHaveLength(6);
  expect(compared[2]).toMatchObject({
    compare_label: "previous",
    breakdown_value: "Chrome",
    data: [3, 3, 0, 1, 0],
  });
  const number = formula("A+2*B", { display: "BoldNumber" });
  const numbers = await lines(usual, both, { ...late, ...number, compareFilter: { compare: true } });
  expect(numbers.map((line) => [line.aggregated_value, line.count])).toEqual([
    [6, 0],
    [15, 0],
  ]);
  const edge = {
    event: "view",
    properties: [{ key: "$browser", type: "event", operator: "exact", value: "Edge" }],
  };
  const [share] = await lines(usual, ["view", edge], formula("B/A", { display: "BoldNumber" }));
  expect(share!.aggregated_value).toBe(0.1);
  const [zero] = await lines(usual, both, formula("(A/A * 100) - (B/B * 100)"));
  expect([zero!.data[2], zero!.data[3], zero!.data[5]]).toEqual([0, 0, 0]);
  const long = {
    event: "view",
    properties: [{ key: "$session_duration", type: "session", operator: "gt", value: 30 }],
  };
  expect((await counts(usual, [long, "view"], formula("A/B")))[0]![1]).toBe(0);
  const { status } = await ask(app, "POST", `/api/projects/${usual.id}/query/`, {
    query: trend(["view"], formula("A/B")),
  });
  expect(status).toBe(400);
});

// PostHog/posthog#6306, #31987, #17270: who is behind a number, also by its moment.
test("the persons of a number are named by the day of its line, or by the moment at which it begins", async () => {
  const events = people.flatMap(([who, , , , views]) =>
    views.map((day) => made("view", who, noon(day), { $set: { name: who } })),
  );
  const project = await openProject(app, "pacific", events, { timezone: "US/Pacific" });
  const names = async (figure: object, source: object, kind = "InsightActorsQuery") => {
    const query = { kind: "ActorsQuery", select: ["properties.name"], source: { kind, ...figure, source } };
    return (await project.query(query)).flat();
  };
  const views = trend(["view"]);
  expect(await names({ day: "2020-01-09" }, views)).toEqual(["p2"]);
  expect(await names({ day: "2020-01-12T00:00:00-08:00" }, views)).toEqual(["p1", "p2", "p3"]);
  const hours = trend(["view"], {
    interval: "hour",
    dateRange: { date_from: "2020-01-12", date_to: "2020-01-12T12:00" },
  });
  expect(await names({ day: "2020-01-12T04:00:00-08:00" }, hours)).toEqual(["p1", "p2", "p3"]);
  const lifecycle = { ...views, kind: "LifecycleQuery" };
  expect(await names({ day: "2020-01-12", status: "returning" }, lifecycle)).toEqual(["p1"]);
  const week = { ...lifecycle, interval: "week" };
  expect(await names({ day: "2020-01-12", status: "returning" }, week)).toEqual(["p1", "p2"]);
  const funnel = { ...trend(["view", "view"]), kind: "FunnelsQuery" };
  expect(await names({ funnelStep: 2 }, funnel, "FunnelsActorsQuery")).toEqual(["p1", "p2"]);
  expect(await names({ funnelStep: -2 }, funnel, "FunnelsActorsQuery")).toEqual(["p3", "p4"]);
});

// PostHog's test_utils.py and test_query_date_range.py at their moments; PostHog/posthog#15813, #27193, #8469, #8059.
test.each([
  ["-24h", undefined, "2020-01-30T12:22:23", undefined],
  ["-90M", undefined, "2020-01-31T10:52:23", undefined],
  ["-120s", undefined, "2020-01-31T12:20:23", undefined],
  ["dStart", undefined, "2020-01-31T00:00:00", "2020-02-01T00:00:00"],
  ["-1d", undefined, "2020-01-30T00:00:00", undefined],
  ["-1dStart", "-1dEnd", "2020-01-30T00:00:00", "2020-01-31T00:00:00"],
  ["-1m", undefined, "2019-12-31T00:00:00", undefined],
  ["-2m", undefined, "2019-11-30T00:00:00", undefined],
  ["mStart", undefined, "2020-01-01T00:00:00", undefined],
  ["-1mStart", "-1mEnd", "2019-12-01T00:00:00", "2020-01-01T00:00:00"],
  ["-2mStart", "-2mEnd", "2019-11-01T00:00:00", "2019-12-01T00:00:00"],
  ["-1q", undefined, "2019-10-31T00:00:00", undefined],
  ["-2q", undefined, "2019-07-31T00:00:00", undefined],
  ["qStart", "qEnd", "2020-01-01T00:00:00", "2020-04-01T00:00:00"],
  ["-1qStart", "-1qEnd", "2019-10-01T00:00:00", "2020-01-01T00:00:00"],
  ["-2qStart", "-2qEnd", "2019-07-01T00:00:00", "2019-10-01T00:00:00"],
  ["-1y", undefined, "2019-01-31T00:00:00", undefined],
  ["yStart", undefined, "2020-01-01T00:00:00", undefined],
  ["-1yStart", "-1yEnd", "2019-01-01T00:00:00", "2020-01-01T00:00:00"],
  ["wStart", undefined, "2020-01-26T00:00:00", undefined],
  ["2019-12-31", "2019-12-31", "2019-12-31T00:00:00", "2020-01-01T00:00:00"],
])("from %s to %s", (date_from, date_to, from, to) => {
  const today = { now: Date.UTC(2020, 0, 31, 12, 22, 23), timezone: "UTC" };
  const span = readDateSpan({ date_from, ...(date_to && { date_to }) }, today, { attr: "query__dateRange" });
  const text = (at: Temporal.ZonedDateTime) => at.toPlainDateTime().toString();
  expect([text(span.from), text(span.to)]).toEqual([from, to ?? "2020-02-01T00:00:00"]);
  if (date_from === "wStart") {
    const monday = readDateSpan({ date_from }, { ...today, weekStart: 1 }, { attr: "query__dateRange" });
    expect(text(monday.from)).toBe("2020-01-27T00:00:00");
  }
});
