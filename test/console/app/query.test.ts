import { expect, test } from "bun:test";
import { addressOf, type Question, queryOf, questionOf } from "../../../src/console/app/explore/query.ts";
import { funnelsIn, isCohorts, isTrends, nameOfSeries } from "../../../src/console/app/explore/results.ts";

const question: Question = {
  kind: "trend",
  events: ["$pageview", 'a "b" & c=d'],
  math: "dau",
  interval: "week",
  range: "-30d",
  breakdown: "$browser",
  compare: true,
};

test("a question's address holds all of it", () => {
  for (const kind of ["trend", "funnel", "retention"] as const) {
    const asked = { ...question, kind };
    expect(questionOf(new URLSearchParams(addressOf(asked)))).toEqual(asked);
  }
});

test("an address that says nothing asks for a trend of any event", () => {
  const asked = questionOf(new URLSearchParams("kind=nonsense"));
  expect(asked).toMatchObject({ kind: "trend", events: [""], compare: false });
  expect(queryOf(asked)).toMatchObject({ series: [{ event: null, math: "total" }], breakdownFilter: null });
});

test("each kind of question becomes its query", () => {
  expect(queryOf(question)).toMatchObject({
    kind: "TrendsQuery",
    interval: "week",
    compareFilter: { compare: true },
    breakdownFilter: { breakdown: "$browser" },
  });
  expect(queryOf({ ...question, kind: "funnel" })).toMatchObject({
    kind: "FunnelsQuery",
    series: [{ event: "$pageview" }, { event: 'a "b" & c=d' }],
  });
  expect(queryOf({ ...question, kind: "retention", events: ["paid"] })).toMatchObject({
    kind: "RetentionQuery",
    retentionFilter: { period: "Week", targetEntity: { id: "paid" }, returningEntity: { id: "paid" } },
  });
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
});
