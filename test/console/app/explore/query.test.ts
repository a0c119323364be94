import { expect, test } from "bun:test";
import { kindNames } from "../../../../src/console/app/explore/choices.ts";
import {
  type InsightQuery,
  readAddress,
  toAddress,
  toQueryBody,
} from "../../../../src/console/app/explore/query.ts";

const insightQuery: InsightQuery = {
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
  compareTo: "-1w",
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
    const next = { ...insightQuery, kind };
    expect(readAddress(new URLSearchParams(toAddress(next)))).toEqual(next);
  }
});

test("an empty address requests a trend of any event", () => {
  const next = readAddress(new URLSearchParams("kind=nonsense"));
  expect(next).toMatchObject({ kind: "trend", series: [{ event: "", math: "total" }], compare: false });
  expect(toQueryBody(next)).toMatchObject({
    series: [{ event: null, math: "total" }],
    breakdownFilter: null,
  });
});

test("each kind of question becomes its query", () => {
  expect(toQueryBody(insightQuery)).toMatchObject({
    kind: "TrendsQuery",
    interval: "week",
    compareFilter: { compare: true, compare_to: "-1w" },
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
  expect(toQueryBody({ ...insightQuery, kind: "funnel" })).toMatchObject({
    kind: "FunnelsQuery",
    series: [{ event: "$pageview" }, { event: 'a "b" & c=d' }],
    funnelsFilter: {
      funnelWindowInterval: 1,
      funnelWindowIntervalUnit: "hour",
      funnelOrderType: "strict",
    },
  });
  const [paid] = insightQuery.series.map((series) => ({ ...series, event: "paid" }));
  expect(toQueryBody({ ...insightQuery, kind: "retention", series: [paid!] })).toMatchObject({
    kind: "RetentionQuery",
    retentionFilter: { period: "Week", targetEntity: { id: "paid" }, returningEntity: { id: "paid" } },
  });
});

test("lifecycles, stickiness and paths become their queries", () => {
  const plain = { ...insightQuery, conditions: [], withoutTests: false };
  const dateRange = { date_from: "-30d", date_to: "2026-03-01" };
  const paid = { kind: "EventsNode", event: "$pageview" };
  expect(toQueryBody({ ...plain, kind: "lifecycle" })).toEqual({
    kind: "LifecycleQuery",
    series: [paid],
    interval: "week",
    dateRange,
  });
  expect(toQueryBody({ ...plain, kind: "stickiness", series: insightQuery.series.slice(0, 1) })).toEqual({
    kind: "StickinessQuery",
    series: [paid],
    interval: "week",
    dateRange,
  });
  expect(toQueryBody({ ...plain, kind: "paths" })).toEqual({
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
  expect(toQueryBody({ ...insightQuery, series })["series"]).toEqual([
    { kind: "EventsNode", event: "a", math: "total" },
    { kind: "EventsNode", event: null, math: "p90", math_property: "price" },
    { kind: "EventsNode", event: "b", math: "unique_group", math_group_type_index: 2 },
  ]);
  // An address of somebody's making.
  const odd = readAddress(new URLSearchParams("event=a&event=b&math=dau&values=-3"));
  expect(odd).toMatchObject({ series: [{ math: "dau" }, { math: "total" }], values: 6 });
});
