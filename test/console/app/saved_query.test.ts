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
  breakdown: "$browser",
  values: 6,
  compare: true,
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

test("a query that says more than the form shows is no question", () => {
  const trend = { kind: "TrendsQuery", series: [{ event: "paid" }] };
  const more = [
    { properties: [{ key: "plan", value: "free", type: "event" }] },
    { series: [{ event: "paid", properties: [{ key: "plan", value: "free" }] }] },
    { series: [{ event: "paid", custom_name: "Sales" }] },
    { series: Array.from({ length: 7 }, () => ({ event: "paid" })) },
    { dateRange: { date_from: "-7d", date_to: "-1d" } },
    { trendsFilter: { display: "BoldNumber" } },
    { filterTestAccounts: true },
    { breakdownFilter: { breakdowns: [{ property: "plan" }] } },
  ];
  for (const change of more)
    expect([change, questionOfQuery({ ...trend, ...change })]).toEqual([change, undefined]);
  expect(questionOfQuery({ kind: "EventsQuery", select: ["event"] })).toBeUndefined();
  // Without events it is of page views, which is not the same as of any event.
  expect(questionOfQuery({ kind: "RetentionQuery", retentionFilter: {} })).toBeUndefined();
  expect(questionOfQuery({ kind: "RetentionQuery", retentionFilter: { totalIntervals: 4 } })).toBeUndefined();
  for (const none of [null, "TrendsQuery", [], {}, { source: null }])
    expect(questionOfQuery(none)).toBeUndefined();
});
