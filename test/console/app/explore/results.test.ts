// The API's results as the pages draw them, and what series are called.

import { expect, test } from "bun:test";
import { nameSeries, readResults, toLines } from "../../../../src/console/app/explore/results.ts";
import { type FunnelStep, toFunnels } from "../../../../src/query/result.ts";
import { isTotals } from "../../../../src/query/results/figures.ts";

const series = { label: "paid", data: [1], days: ["2026-01-01"], count: 1 };

test("results are a list of the type that the reply names, those of times as well", () => {
  const times = { bins: [[0, 1]], average_conversion_time: 3 };
  expect(readResults({ result_type: "times", results: times })).toEqual({
    type: "times",
    results: [{ bins: [[0, 1]], average_conversion_time: 3 }],
  });
  expect(readResults({ result_type: "table", results: [["a", 1]] })).toEqual({
    type: "table",
    results: [["a", 1]],
  });
  expect(readResults({ result_type: "steps", results: null }).results).toEqual([]);
});

test("a funnel is one, or one for each value of its breakdown", () => {
  const step = { name: "paid", custom_name: null, count: 1, order: 0 } as FunnelStep;
  expect(toFunnels([step, step])).toEqual([[step, step]]);
  expect(toFunnels([[step], [step]])).toEqual([[step], [step]]);
});

test("series without intervals are totals, conversions by interval are lines", () => {
  expect([isTotals([series]), isTotals([{ ...series, data: [], aggregated_value: 3 }])]).toEqual([
    false,
    true,
  ]);
  const rates = [
    { count: 2, data: [50, 0], days: ["2024-03-30", "2024-03-31"], labels: [], breakdown_value: ["pro"] },
  ];
  expect(toLines(rates).map(nameSeries)).toEqual(["Conversion, % · pro"]);
});

test("a series is called by its event, its math, its value and its time", () => {
  expect(nameSeries({ ...series, breakdown_value: "Chrome", compare_label: "previous" })).toBe(
    "paid · Chrome (before)",
  );
  const counted = (math: string, math_property?: string) =>
    nameSeries({ ...series, action: { name: "paid", math, math_property: math_property ?? null } });
  expect([counted("total"), counted("dau"), counted("p95", "price"), counted("unique_group")]).toEqual([
    "paid",
    "paid · Persons",
    "paid · 95th percentile of price",
    "paid · Groups",
  ]);
});
