// Saved queries as questions: all that the form makes comes back as it was, and what it does not know is left alone.

import { expect, test } from "bun:test";
import { kindNames } from "../../../../src/console/app/explore/choices.ts";
import { type InsightQuery, toQueryBody } from "../../../../src/console/app/explore/query.ts";
import { savedWith, toFormQuery } from "../../../../src/console/app/explore/saved_query.ts";
import {
  needsValue,
  operators,
  takesSeveral,
  withOperator,
} from "../../../../src/console/app/filters/conditions.ts";
import { filterSentences } from "../../../../src/console/app/filters/filter_text.ts";

const insightQuery: InsightQuery = {
  kind: "trend",
  series: [
    { event: "$pageview", math: "dau", property: "", conditions: [] },
    { event: "", math: "p90", property: "price", conditions: [] },
    { event: "paid", math: "unique_group:1", property: "", conditions: [] },
  ],
  interval: "week",
  range: "-30d",
  to: "",
  breakdown: "$browser",
  breakdownType: "event",
  conditions: [{ type: "person", key: "plan", operator: "exact", values: ["gold"] }],
  withoutTests: true,
  formula: "A / B",
  display: "ActionsBar",
  values: 6,
  compare: true,
  compareTo: "-1w",
  view: "steps",
  window: "14 day",
  order: "ordered",
  columns: 8,
  first: false,
  pathType: "$pageview",
  start: "",
  end: "",
  steps: 5,
};

test("a question that was saved is the same when it is opened", () => {
  expect(toFormQuery(toQueryBody(insightQuery))).toEqual(insightQuery);
  expect(toFormQuery({ kind: "InsightVizNode", source: toQueryBody(insightQuery) })).toEqual(insightQuery);
  const plain = {
    ...insightQuery,
    breakdown: "",
    compare: false,
    compareTo: "",
    interval: "day",
    range: "-7d",
    values: 6,
  };
  expect(toFormQuery(toQueryBody(plain))).toEqual(plain);
  for (const kind of kindNames) {
    const saved = toQueryBody({ ...insightQuery, kind, pathType: "$screen", start: "/", steps: 3 });
    expect(toQueryBody(toFormQuery(saved)!)).toEqual(saved);
  }
});

test("joined filters come back, of every kind of question; more than the form holds do not", () => {
  const filter = { type: "event", key: "plan", operator: "exact", values: ["gold"] } as const;
  const rest = { series: insightQuery.series.slice(0, 1), formula: "", breakdown: "" };
  for (const kind of kindNames) {
    for (const [second, third] of [
      ["or", undefined],
      ["else", "or"],
      [undefined, "else"],
    ] as const) {
      const conditions = [
        { ...filter, values: ["a"] },
        { ...filter, values: ["b"], ...(second && { join: second }) },
        { ...filter, values: ["c"], ...(third && { join: third }) },
      ];
      const saved = toQueryBody({ ...insightQuery, ...rest, kind, conditions });
      expect([kind, toFormQuery(saved)?.conditions.length]).toEqual([kind, 3]);
    }
  }
  const many = Array.from({ length: 11 }, (_, i) => ({
    ...filter,
    values: [String(i)],
    join: "or" as const,
  }));
  expect(toFormQuery(toQueryBody({ ...insightQuery, conditions: many }))).toBeUndefined();
});

test("what a query leaves out is what the API takes for granted", () => {
  const least = { kind: "TrendsQuery", series: [{ event: "paid" }] };
  expect(toFormQuery(least)).toMatchObject({
    series: [{ event: "paid", math: "total" }],
    interval: "day",
    range: "-7d",
  });
  const brokenDown = { ...least, breakdownFilter: { breakdown: "plan" } };
  expect(toFormQuery(brokenDown)).toMatchObject({ breakdown: "plan", values: 25 });
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
  expect(toFormQuery(query)).toMatchObject({ kind: "trend", series: [{ event: "paid" }] });
});

test("filters mean the same in each of PostHog's forms", () => {
  const trend = { kind: "TrendsQuery", series: [{ event: "paid" }], dateRange: { date_to: "-1d" } };
  const one = { key: "plan", value: "free" };
  const condition = { type: "event", key: "plan", operator: "exact", values: ["free"] };
  const forms = [
    [one],
    [{ ...one, value: ["free"], operator: "exact", type: "event" }],
    { type: "AND", values: [{ type: "AND", values: [one] }] },
    { type: "OR", values: [one] },
  ];
  for (const properties of forms)
    expect(toFormQuery({ ...trend, properties })).toMatchObject({ conditions: [condition], to: "-1d" });
  const isSet = { key: "plan", operator: "is_set", value: "is_set", type: "person" };
  expect(toFormQuery({ ...trend, properties: [isSet] })?.conditions).toEqual([
    { type: "person", key: "plan", operator: "is_set", values: [] },
  ]);
});

test("several values and every operator of the form come back", () => {
  const trend = { kind: "TrendsQuery", series: [{ event: "paid" }] };
  const values = ["free", "gold"];
  const several = toFormQuery({ ...trend, properties: [{ key: "plan", value: values }] })!;
  expect(several.conditions).toEqual([{ type: "event", key: "plan", operator: "exact", values }]);
  for (const [operator] of operators) {
    const condition = withOperator(several.conditions[0]!, operator);
    const next = { ...several, conditions: [condition] };
    expect([operator, toFormQuery(toQueryBody(next))]).toEqual([operator, next]);
    expect(condition.values.length).toBe(takesSeveral(operator) ? 2 : needsValue(operator) ? 1 : 0);
  }
});

test("one breakdown means the same in both of PostHog's forms", () => {
  const trend = { kind: "TrendsQuery", series: [{ event: "paid" }] };
  const breakdowns = [{ property: "size", type: "group", group_type_index: 1 }];
  expect(toFormQuery({ ...trend, breakdownFilter: { breakdowns } })).toMatchObject({
    breakdown: "size",
    breakdownType: "group:1",
    values: 25,
  });
});

test("what says only how a query is drawn does not stand in the way, and stays when it is saved", () => {
  const source = {
    kind: "TrendsQuery",
    version: 2,
    series: [{ event: "paid" }],
    trendsFilter: { showLegend: true, display: "ActionsBar", goalLines: [{ value: 3 }] },
  };
  const saved = { kind: "InsightVizNode", full: true, source };
  const next = toFormQuery(saved)!;
  expect(next).toMatchObject({ display: "ActionsBar" });
  expect(savedWith(saved, { ...next, display: "ActionsPie" })).toMatchObject({
    full: true,
    source: {
      version: 2,
      trendsFilter: { showLegend: true, display: "ActionsPie", goalLines: [{ value: 3 }] },
    },
  });
  // Another kind of question is drawn in another way.
  expect(JSON.stringify(savedWith(saved, { ...next, kind: "funnel" }))).not.toContain("showLegend");
  expect(savedWith(undefined, next)).toEqual({ kind: "InsightVizNode", source: toQueryBody(next) });
});

test("filters of one event, of groups and of sessions come back, and a formula in each of PostHog's forms", () => {
  const conditions = [
    { type: "group:1", key: "industry", operator: "exact", values: ["tea"] },
    { type: "session", key: "$session_duration", operator: "gt", values: ["60"] },
  ];
  const series = [{ ...insightQuery.series[0]!, conditions }, insightQuery.series[1]!];
  const next = { ...insightQuery, series, breakdownType: "group:0", withoutTests: true, formula: "A / B" };
  expect(toFormQuery(toQueryBody(next))).toEqual(next);
  for (const kind of ["funnel", "retention"] as const) {
    const saved = toQueryBody({ ...next, kind });
    expect(toQueryBody(toFormQuery(saved)!)).toEqual(saved);
    expect(JSON.stringify(saved)).toContain('"group_type_index":1');
  }
  for (const trendsFilter of [
    { formula: "A / 2" },
    { formulas: ["A / 2"] },
    { formulaNodes: [{ formula: "A / 2", custom_name: "" }] },
  ])
    expect(toFormQuery({ kind: "TrendsQuery", series: [{ event: "a" }], trendsFilter })).toMatchObject({
      formula: "A / 2",
    });
});

test("filters of every form are words", () => {
  const plan = { key: "plan", value: ["free", "gold"], operator: "exact" };
  const or = {
    type: "OR",
    values: [plan, { type: "AND", values: [{ type: "person", key: "vip", operator: "is_set" }] }],
  };
  expect(
    filterSentences({
      properties: { type: "AND", values: [or, { type: "hogql", key: "1 = 1" }] },
      series: [
        {
          event: "paid",
          properties: [{ type: "group", group_type_index: 0, key: "size", operator: "regex", value: "^9" }],
        },
        { event: null, properties: [{ type: "cohort", key: "id", value: 4 }] },
      ],
      filterTestAccounts: true,
      trendsFilter: { formula: "A / B" },
    }),
  ).toEqual([
    "Only where (plan is free or gold, or the person’s vip is set), and 1 = 1.",
    "A, paid: only where the group’s size matches ^9.",
    "B, any event: only where the cohort’s id is 4.",
    "Without own visits.",
    "Formula: A / B.",
  ]);
  expect(
    filterSentences({ kind: "FunnelsQuery", series: [{ event: "a", properties: [] }], properties: null }),
  ).toEqual([]);
});

test("a retention from a date on is shown where its rows are those of the form", () => {
  const entity = { id: "seen" };
  const from = (retentionFilter: object, dateRange: object = {}) =>
    toFormQuery({
      kind: "RetentionQuery",
      dateRange: { date_from: "-7d", ...dateRange },
      retentionFilter: { targetEntity: entity, returningEntity: entity, ...retentionFilter },
    });
  for (const filter of [{}, { totalIntervals: 8, period: "Day" }, { totalIntervals: null, period: null }])
    expect(from(filter, { date_to: null })).toMatchObject({ kind: "retention", columns: 8 });
  expect(from({ totalIntervals: 11 })).toBeUndefined();
  expect(from({ period: "Week" })).toBeUndefined();
  expect(from({}, { date_to: "2026-03-01" })).toBeUndefined();
  expect(from({}, { date_from: "-14d" })).toBeUndefined();
  expect(from({ totalIntervals: 11 }, { date_from: null })).toMatchObject({ columns: 11 });
});

test("windows of funnels, their order, and the length and end of retention come back", () => {
  const funnel = {
    kind: "FunnelsQuery",
    series: [{ event: "a" }, { event: "b" }],
    funnelsFilter: { funnelWindowInterval: 7, funnelOrderType: "strict" },
  };
  expect(toFormQuery(funnel)).toMatchObject({ window: "7 day", order: "strict" });
  const entity = { id: "a", type: "events" };
  const retention = {
    kind: "RetentionQuery",
    dateRange: { date_to: "2026-03-01" },
    retentionFilter: { totalIntervals: 4, targetEntity: entity, returningEntity: entity },
  };
  expect(toFormQuery(retention)).toMatchObject({ columns: 4, to: "2026-03-01" });
});

test("a query that says more than the form shows is no question", () => {
  const trend = { kind: "TrendsQuery", series: [{ event: "paid" }] };
  const more = [
    { properties: [{ key: "plan", value: ["", "gold"], type: "event" }] },
    { properties: [{ key: "plan", value: [1, 2], operator: "between" }] },
    { properties: [{ key: "id", value: 1, type: "cohort" }] },
    { properties: [{ key: "plan", value: "free", label: "Plan" }] },
    { properties: { type: "OR", values: [] } },
    { series: [{ event: "paid", properties: [{ key: "plan", value: [1, 2], operator: "between" }] }] },
    { properties: [{ key: "size", value: "9", type: "group" }] },
    { trendsFilter: { formulas: ["A", "A * 2"] } },
    { trendsFilter: { formulaNodes: [{ formula: "A", custom_name: "Sales" }] } },
    { series: [{ event: "paid", custom_name: "Sales" }] },
    { series: Array.from({ length: 7 }, () => ({ event: "paid" })) },
    { dateRange: { date_from: "-7d", explicitDate: true } },
    { trendsFilter: { smoothingIntervals: 7 } },
    { breakdownFilter: { breakdowns: [{ property: "plan" }, { property: "size" }] } },
  ];
  for (const change of more)
    expect([change, toFormQuery({ ...trend, ...change })]).toEqual([change, undefined]);
  expect(toFormQuery({ kind: "EventsQuery", select: ["event"] })).toBeUndefined();
  // Without events it is of page views, which is not the same as of any event.
  expect(toFormQuery({ kind: "RetentionQuery", retentionFilter: {} })).toBeUndefined();
  for (const none of [null, "TrendsQuery", [], {}, { source: null }])
    expect(toFormQuery(none)).toBeUndefined();
});
