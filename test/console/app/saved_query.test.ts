// Saved queries as questions: all that the form makes comes back as it was, and what it does not know is left alone.

import { expect, test } from "bun:test";
import { type Question, queryOf } from "../../../src/console/app/explore/query.ts";
import { questionOfQuery } from "../../../src/console/app/explore/saved_query.ts";

const question: Question = {
  kind: "trend",
  series: [
    { event: "$pageview", math: "dau", property: "" },
    { event: "", math: "p90", property: "price" },
    { event: "paid", math: "unique_group:1", property: "" },
  ],
  interval: "week",
  range: "-30d",
  to: "",
  breakdown: "$browser",
  breakdownType: "event",
  conditions: [{ type: "person", key: "plan", operator: "exact", value: "gold" }],
  display: "ActionsBar",
  values: 6,
  compare: true,
  window: "14 day",
  order: "ordered",
  columns: 8,
  first: false,
};

test("a question that was saved is the same when it is opened", () => {
  expect(questionOfQuery(queryOf(question))).toEqual(question);
  expect(questionOfQuery({ kind: "InsightVizNode", source: queryOf(question) })).toEqual(question);
  const plain = { ...question, breakdown: "", compare: false, interval: "day", range: "-7d", values: 6 };
  expect(questionOfQuery(queryOf(plain))).toEqual(plain);
  for (const kind of ["funnel", "retention"] as const) {
    const saved = queryOf({ ...question, kind });
    expect(queryOf(questionOfQuery(saved)!)).toEqual(saved);
  }
});

test("what a query leaves out is what the API takes for granted", () => {
  const least = { kind: "TrendsQuery", series: [{ event: "paid" }] };
  expect(questionOfQuery(least)).toMatchObject({
    series: [{ event: "paid", math: "total" }],
    interval: "day",
    range: "-7d",
  });
  const brokenDown = { ...least, breakdownFilter: { breakdown: "plan" } };
  expect(questionOfQuery(brokenDown)).toMatchObject({ breakdown: "plan", values: 25 });
});

test("what says nothing new does not stand in the way", () => {
  const query = {
    kind: "TrendsQuery",
    series: [{ kind: "EventsNode", event: "paid", name: "paid", math: "total", properties: [] }],
    trendsFilter: { display: "ActionsLineGraph" },
    filterTestAccounts: false,
    breakdownFilter: {},
    compareFilter: null,
    properties: null,
    samplingFactor: 1,
  };
  expect(questionOfQuery(query)).toMatchObject({ kind: "trend", series: [{ event: "paid" }] });
});

test("filters mean the same in each of PostHog's forms", () => {
  const trend = { kind: "TrendsQuery", series: [{ event: "paid" }], dateRange: { date_to: "-1d" } };
  const one = { key: "plan", value: "free" };
  const condition = { type: "event", key: "plan", operator: "exact", value: "free" };
  const forms = [
    [one],
    [{ ...one, value: ["free"], operator: "exact", type: "event" }],
    { type: "AND", values: [{ type: "AND", values: [one] }] },
  ];
  for (const properties of forms)
    expect(questionOfQuery({ ...trend, properties })).toMatchObject({ conditions: [condition], to: "-1d" });
  const isSet = { key: "plan", operator: "is_set", value: "is_set", type: "person" };
  expect(questionOfQuery({ ...trend, properties: [isSet] })?.conditions).toEqual([
    { type: "person", key: "plan", operator: "is_set", value: "" },
  ]);
});

test("windows of funnels, their order, and the length and end of retention come back", () => {
  const funnel = {
    kind: "FunnelsQuery",
    series: [{ event: "a" }, { event: "b" }],
    funnelsFilter: { funnelWindowInterval: 7, funnelOrderType: "strict" },
  };
  expect(questionOfQuery(funnel)).toMatchObject({ window: "7 day", order: "strict" });
  const entity = { id: "a", type: "events" };
  const retention = {
    kind: "RetentionQuery",
    dateRange: { date_to: "2026-03-01" },
    retentionFilter: { totalIntervals: 4, targetEntity: entity, returningEntity: entity },
  };
  expect(questionOfQuery(retention)).toMatchObject({ columns: 4, to: "2026-03-01" });
});

test("a query that says more than the form shows is no question", () => {
  const trend = { kind: "TrendsQuery", series: [{ event: "paid" }] };
  const more = [
    { properties: [{ key: "plan", value: ["free", "gold"], type: "event" }] },
    { properties: [{ key: "plan", value: "free", operator: "regex" }] },
    { properties: [{ key: "id", value: 1, type: "cohort" }] },
    { properties: [{ key: "plan", value: "free", label: "Plan" }] },
    { properties: { type: "OR", values: [{ key: "plan", value: "free" }] } },
    { series: [{ event: "paid", properties: [{ key: "plan", value: "free" }] }] },
    { series: [{ event: "paid", custom_name: "Sales" }] },
    { series: Array.from({ length: 7 }, () => ({ event: "paid" })) },
    { dateRange: { date_from: "-7d", explicitDate: true } },
    { trendsFilter: { smoothingIntervals: 7 } },
    { filterTestAccounts: true },
    { breakdownFilter: { breakdowns: [{ property: "plan" }] } },
  ];
  for (const change of more)
    expect([change, questionOfQuery({ ...trend, ...change })]).toEqual([change, undefined]);
  expect(questionOfQuery({ kind: "EventsQuery", select: ["event"] })).toBeUndefined();
  // Without events it is of page views, which is not the same as of any event.
  expect(questionOfQuery({ kind: "RetentionQuery", retentionFilter: {} })).toBeUndefined();
  for (const none of [null, "TrendsQuery", [], {}, { source: null }])
    expect(questionOfQuery(none)).toBeUndefined();
});
