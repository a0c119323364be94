// Stickiness as strangers expect it: the numbers of PostHog's test_stickiness_query_runner.py, and the public threads
// that each test names.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { TrendLine } from "../../src/query/result.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { made, openProject, type Project } from "../support/projects.ts";

let app: RunningApp;
let usual: Project;
let three: Project;
const noon = (day: number) => `2020-01-${day}T12:00:00Z`;
const seen = (who: string, days: readonly number[], properties: object = {}) =>
  days.map((day) => made("$pageview", who, noon(day), properties));

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const properties = ($browser: string) => ({ $browser, prop: 10, $groups: { organization: "org:1" } });
  usual = await openProject(app, "usual", [
    ...seen("p1", [11, 12, 13, 14, 15, 16, 17, 18, 19], properties("Chrome")),
    ...seen("p2", [11, 13, 15, 17, 19], properties("Firefox")),
  ]);
  three = await openProject(app, "three", [
    ...seen("p1", [11, 12, 13], { $set: { name: "p1" } }),
    ...seen("p2", [11, 12], { $set: { name: "p2" } }),
    ...seen("p3", [11], { $set: { name: "p3" } }),
  ]);
}, startMsMax);
afterAll(cleanUp, startMsMax);

const sticky = (more: object = {}) => ({
  kind: "StickinessQuery",
  series: [{ kind: "EventsNode", event: "$pageview" }],
  dateRange: { date_from: "2020-01-11", date_to: "2020-01-20" },
  ...more,
});
const lines = (project: Project, more: object = {}) => project.query<TrendLine>(sticky(more));
const chrome = { key: "$browser", type: "event", operator: "exact", value: "Chrome" };
const both = [0, 0, 0, 0, 1, 0, 0, 0, 1, 0];
const one = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0];

// PostHog/posthog#1314: an event of its own has more than its first day.
test("stickiness counts persons by the days, weeks and months in which they came", async () => {
  const [line] = await lines(usual);
  expect([line!.label, line!.count, line!.data]).toEqual(["$pageview", 2, both]);
  expect([line!.days.slice(-1), line!.labels.slice(0, 2)]).toEqual([[10], ["1 day", "2 days"]] as never);
  const by = async (more: object) => (await lines(usual, more)).map(({ labels, data }) => [labels, data]);
  expect(await by({ interval: "week" })).toEqual([
    [
      ["1 week", "2 weeks", "3 weeks"],
      [0, 0, 2],
    ],
  ]);
  expect(await by({ interval: "month" })).toEqual([[["1 month"], [2]]]);
  expect(await by({ intervalCount: 2 })).toEqual([
    [
      ["1 day", "2 days", "3 days", "4 days", "5 days"],
      [0, 0, 0, 0, 2],
    ],
  ]);
});

// stickiness_query_runner.py groups by age(…, date_to): intervals that count as one are counted back from the last one.
test("intervals of several days are counted from the end of the range", async () => {
  const dateRange = { date_from: "2020-01-11", date_to: "2020-01-19" };
  const [line] = await lines(three, { dateRange, intervalCount: 2 });
  expect(line!.data).toEqual([1, 2, 0, 0, 0]);
});

// PostHog/posthog#19947: of groups, and compared.
test.each([
  [{ properties: [chrome] }, one],
  [{ properties: [{ type: "hogql", key: "properties.$browser == 'Chrome'" }] }, one],
  [{ series: [{ event: "$pageview", properties: [chrome] }] }, one],
  [{ series: [{ event: null }] }, both],
  [{ series: [{ event: "$pageview", math: "dau" }] }, both],
  [{ series: [{ event: "$pageview", math: "unique_group", math_group_type_index: 0 }] }, one],
  [{ series: [{ event: "$pageview", math: "hogql", math_hogql: "properties.prop" }] }, one],
])("stickiness with %j", async (more, data) => {
  expect((await lines(usual, more)).map((line) => line.data)).toEqual([data]);
});

test("stickiness is compared with a time before", async () => {
  const range = { date_from: "2020-01-12", date_to: "2020-01-20" };
  const compared = async (compareFilter: object, dateRange: object) =>
    (await lines(usual, { dateRange, compareFilter })).map((line) => [line.compare_label, line.count]);
  expect(await compared({ compare: true }, { date_from: "2020-01-11", date_to: "2020-01-20" })).toEqual([
    ["current", 2],
    ["previous", 0],
  ]);
  expect(await compared({ compare: true, compare_to: "-1d" }, range)).toEqual([
    ["current", 2],
    ["previous", 2],
  ]);
});

test.each([
  ["gte", 2, 12, [0, 1, 1, 0, 0, 0, 0, 0, 0]],
  ["lte", 1, 12, [2, 0, 0, 0, 0, 0, 0, 0, 0]],
  ["exact", 2, 11, [0, 1, 1, 0, 0, 0, 0, 0, 0, 0]],
])("a day counts with %s %d events", async (operator, value, from, data) => {
  const events = [
    ...seen("p1", [11, 11, 13, 13, 15, 15, 17, 17, 17, 19]),
    ...seen("p2", [12, 12, 13, 13, 19]),
  ];
  const project = await openProject(app, `criteria ${operator}`, events);
  const dateRange = { date_from: `2020-01-${from}`, date_to: "2020-01-20" };
  const stickinessFilter = { stickinessCriteria: { operator, value } };
  expect((await lines(project, { dateRange, stickinessFilter })).map((line) => line.data)).toEqual([data]);
});

const short = { dateRange: { date_from: "2020-01-11", date_to: "2020-01-13" } };
const cumulative = { ...short, stickinessFilter: { computedAs: "cumulative" } };

test("stickiness that adds up says so, and counts each person once", async () => {
  const labels = ["1 day or more", "2 days or more", "3 days or more"];
  const [line] = await lines(three, cumulative);
  expect([line!.data, line!.count, line!.labels]).toEqual([[3, 2, 1], 3, labels]);
  const [none] = await lines(three, { ...cumulative, series: [{ event: "none" }] });
  expect([none!.data, none!.labels]).toEqual([[0, 0, 0], labels]);
});

// PostHog/posthog#7293, #22210: the list of persons was empty, or an error.
test("the persons of a stickiness are those of its bars, or beyond and below one", async () => {
  const names = async (kind: string, figure: object, source: object = short) => {
    const query = { kind: "ActorsQuery", select: ["properties.name"] };
    const rows = await three.query({ ...query, source: { kind, ...figure, source: sticky(source) } });
    return rows.flat();
  };
  for (const day of [1, 2, 3]) {
    expect(await names("InsightActorsQuery", { day })).toEqual([`p${4 - day}`]);
    const all = ["p1", "p2", "p3"].slice(0, 4 - day);
    expect(await names("InsightActorsQuery", { day }, cumulative)).toEqual(all);
    expect(await names("StickinessActorsQuery", { day, operator: "gte" })).toEqual(all);
  }
  expect(await names("InsightActorsQuery", { day: "2" })).toEqual(["p2"]);
  expect(await names("StickinessActorsQuery", { day: 2, operator: "lte" })).toEqual(["p2", "p3"]);
  expect(await names("StickinessActorsQuery", { day: 1, operator: "exact" })).toEqual(["p3"]);
});

// PostHog/posthog#8243: math that means nothing here.
test("math that counts no persons, groups or values is refused by name", async () => {
  const refused = async (node: object) => {
    const query = sticky({ series: [{ event: "$pageview", ...node }] });
    const { status, body } = await ask(app, "POST", `/api/projects/${usual.id}/query/`, { query });
    return [status, body["attr"]];
  };
  expect(await refused({ math: "sum", math_property: "prop" })).toEqual([400, "query__series__0__math"]);
  expect(await refused({ math: "unique_group" })).toEqual([400, "query__series__0__math_group_type_index"]);
  expect(await refused({ math: "hogql" })).toEqual([400, "query__series__0__math_hogql"]);
});
