import { expect, test } from "bun:test";
import {
  addressOf,
  type InsightQuery,
  kindNames,
  queryOf,
  questionOf,
} from "../../../src/console/app/explore/query.ts";
import {
  funnelsIn,
  isCohorts,
  isPaths,
  isTimes,
  isTrends,
  nameOfSeries,
  ratesIn,
} from "../../../src/console/app/explore/results.ts";

const question: InsightQuery = {
  kind: "trend",
  series: [
    { event: "$pageview", math: "dau", property: "", conditions: [] },
    {
      event: 'a "b" & c=d',
      math: "sum",
      property: "price & more",
      conditions: [{ type: "group:1", key: "size", operator: "gt", values: ["9"] }],
    },
  ],
  interval: "week",
  range: "-30d",
  to: "2026-03-01",
  breakdown: "$browser",
  breakdownType: "group:0",
  conditions: [
    { type: "event", key: 'a "b"', operator: "is_not", values: ["c & d"] },
    { type: "person", key: "plan", operator: "is_set", values: [] },
  ],
  withoutTests: true,
  formula: "A / B",
  display: "ActionsBar",
  values: 10,
  compare: true,
  view: "trends",
  window: "1 hour",
  order: "strict",
  columns: 12,
  first: true,
  pathType: "custom_event",
  start: "/a?b=c",
  end: "/b",
  steps: 10,
};

test("a question's address holds all of it", () => {
  for (const kind of kindNames) {
    const asked = { ...question, kind };
    expect(questionOf(new URLSearchParams(addressOf(asked)))).toEqual(asked);
  }
});

test("an address that says nothing asks for a trend of any event", () => {
  const asked = questionOf(new URLSearchParams("kind=nonsense"));
  expect(asked).toMatchObject({ kind: "trend", series: [{ event: "", math: "total" }], compare: false });
  expect(queryOf(asked)).toMatchObject({ series: [{ event: null, math: "total" }], breakdownFilter: null });
});

test("each kind of question becomes its query", () => {
  expect(queryOf(question)).toMatchObject({
    kind: "TrendsQuery",
    interval: "week",
    compareFilter: { compare: true },
    breakdownFilter: {
      breakdown: "$browser",
      breakdown_type: "group",
      breakdown_group_type_index: 0,
      breakdown_limit: 10,
    },
    dateRange: { date_from: "-30d", date_to: "2026-03-01" },
    properties: [
      { type: "event", key: 'a "b"', operator: "is_not", value: ["c & d"] },
      { type: "person", key: "plan", operator: "is_set" },
    ],
    trendsFilter: { display: "ActionsBar" },
  });
  expect(queryOf({ ...question, kind: "funnel" })).toMatchObject({
    kind: "FunnelsQuery",
    series: [{ event: "$pageview" }, { event: 'a "b" & c=d' }],
    funnelsFilter: {
      funnelWindowInterval: 1,
      funnelWindowIntervalUnit: "hour",
      funnelOrderType: "strict",
    },
  });
  const [paid] = question.series.map((series) => ({ ...series, event: "paid" }));
  expect(queryOf({ ...question, kind: "retention", series: [paid!] })).toMatchObject({
    kind: "RetentionQuery",
    retentionFilter: { period: "Week", targetEntity: { id: "paid" }, returningEntity: { id: "paid" } },
  });
});

test("lifecycles, stickiness and paths become their queries", () => {
  const plain = { ...question, conditions: [], withoutTests: false };
  const dateRange = { date_from: "-30d", date_to: "2026-03-01" };
  const paid = { kind: "EventsNode", event: "$pageview" };
  expect(queryOf({ ...plain, kind: "lifecycle" })).toEqual({
    kind: "LifecycleQuery",
    series: [paid],
    interval: "week",
    dateRange,
  });
  expect(queryOf({ ...plain, kind: "stickiness", series: question.series.slice(0, 1) })).toEqual({
    kind: "StickinessQuery",
    series: [paid],
    interval: "week",
    dateRange,
  });
  expect(queryOf({ ...plain, kind: "paths" })).toEqual({
    kind: "PathsQuery",
    dateRange,
    pathsFilter: { includeEventTypes: ["custom_event"], startPoint: "/a?b=c", endPoint: "/b", stepLimit: 10 },
  });
});

test("each series is counted in its own way", () => {
  const series = [
    { event: "a", math: "total", property: "", conditions: [] },
    { event: "", math: "p90", property: "price", conditions: [] },
    { event: "b", math: "unique_group:2", property: "left over", conditions: [] },
  ];
  expect(queryOf({ ...question, series })["series"]).toEqual([
    { kind: "EventsNode", event: "a", math: "total" },
    { kind: "EventsNode", event: null, math: "p90", math_property: "price" },
    { kind: "EventsNode", event: "b", math: "unique_group", math_group_type_index: 2 },
  ]);
  // An address of somebody's making.
  const odd = questionOf(new URLSearchParams("event=a&event=b&math=dau&values=-3"));
  expect(odd).toMatchObject({ series: [{ math: "dau" }, { math: "total" }], values: 6 });
});

test("results are told apart by what they hold", () => {
  const step = { name: "paid", custom_name: null, count: 1, order: 0, median_conversion_time: null };
  expect(funnelsIn([step, step])).toEqual([[step, step]]);
  expect(funnelsIn([[step], [step]])).toEqual([[step], [step]]);
  expect(funnelsIn([["an event", "a person"]])).toBeUndefined();
  expect(isCohorts([{ label: "Day 0", date: "2026-01-01", values: [] }])).toBe(true);
  const series = { label: "paid", data: [1], days: ["2026-01-01"], count: 1 };
  expect([isTrends([series]), isCohorts([series]), funnelsIn([series])]).toEqual([true, false, undefined]);
  expect([isTrends([]), isCohorts([]), funnelsIn([])]).toEqual([false, false, undefined]);
  expect(nameOfSeries({ ...series, breakdown_value: "Chrome", compare_label: "previous" })).toBe(
    "paid · Chrome (before)",
  );
  const counted = (math: string, math_property?: string) =>
    nameOfSeries({ ...series, action: { name: "paid", math, math_property: math_property ?? null } });
  expect([counted("total"), counted("dau"), counted("p95", "price"), counted("unique_group")]).toEqual([
    "paid",
    "paid · Persons",
    "paid · 95th percentile of price",
    "paid · Groups",
  ]);
});

test("shares by interval, times and paths are told by their shape", () => {
  const rates = [
    { count: 2, data: [50, 0], days: ["2024-03-30", "2024-03-31"], labels: [], breakdown_value: ["pro"] },
  ];
  expect(ratesIn(rates)?.map(nameOfSeries)).toEqual(["Conversion, % · pro"]);
  expect(ratesIn([{ ...rates[0], label: "seen" }])).toBeUndefined();
  const times = [{ bins: [[0, 1]], average_conversion_time: 3 }];
  const paths = [{ source: "1_a", target: "2_b", value: 1, average_conversion_time: 9 }];
  const shapes = [rates, times, paths, []];
  expect(shapes.map(isTimes)).toEqual([false, true, false, false]);
  expect(shapes.map(isPaths)).toEqual([false, false, true, false]);
});
