// What the shapes of results are told by, and what their series are called.

import { expect, test } from "bun:test";
import { nameOfSeries, recognize, type Results } from "../../../../src/console/app/explore/results.ts";

const kindsOf = (...some: Results[]) => some.map((results) => recognize(results).of);

test("results are distinguished by their form", () => {
  const step = { name: "paid", custom_name: null, count: 1, order: 0, median_conversion_time: null };
  expect(recognize([step, step])).toEqual({ of: "funnels", funnels: [[step, step]] });
  expect(recognize([[step], [step]])).toEqual({ of: "funnels", funnels: [[step], [step]] });
  const series = { label: "paid", data: [1], days: ["2026-01-01"], count: 1 };
  const total = { ...series, data: [], aggregated_value: 3 };
  const cohort = { label: "Day 0", date: "2026-01-01", values: [] };
  expect(kindsOf([cohort], [series], [total])).toEqual(["cohorts", "trends", "totals"]);
  expect(kindsOf([["an event", "a person"]], [["an event"]], [null], [])).toEqual(Array(4).fill("rows"));
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

test("shares by interval, times and paths are distinguished by their form", () => {
  const rates = [
    { count: 2, data: [50, 0], days: ["2024-03-30", "2024-03-31"], labels: [], breakdown_value: ["pro"] },
  ];
  const found = recognize(rates);
  expect(found.of === "rates" && found.series.map(nameOfSeries)).toEqual(["Conversion, % · pro"]);
  const times = [{ bins: [[0, 1]], average_conversion_time: 3 }];
  const paths = [{ source: "1_a", target: "2_b", value: 1, average_conversion_time: 9 }];
  const figures = [{ key: "visitors", kind: "unit", value: 1, previous: null }];
  const named = [{ ...rates[0], label: "seen" }];
  expect(kindsOf(times, paths, figures, named)).toEqual(["times", "paths", "figures", "trends"]);
});
