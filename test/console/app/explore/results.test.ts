// What the shapes of results are told by, and what their series are called.

import { expect, test } from "bun:test";
import {
  funnelsIn,
  isCohorts,
  isConversionTimes,
  isPaths,
  isTrends,
  nameOfSeries,
  ratesIn,
} from "../../../../src/console/app/explore/results.ts";

test("results are distinguished by their form", () => {
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

test("shares by interval, times and paths are distinguished by their form", () => {
  const rates = [
    { count: 2, data: [50, 0], days: ["2024-03-30", "2024-03-31"], labels: [], breakdown_value: ["pro"] },
  ];
  expect(ratesIn(rates)?.map(nameOfSeries)).toEqual(["Conversion, % · pro"]);
  expect(ratesIn([{ ...rates[0], label: "seen" }])).toBeUndefined();
  const times = [{ bins: [[0, 1]], average_conversion_time: 3 }];
  const paths = [{ source: "1_a", target: "2_b", value: 1, average_conversion_time: 9 }];
  const shapes = [rates, times, paths, []];
  expect(shapes.map(isConversionTimes)).toEqual([false, true, false, false]);
  expect(shapes.map(isPaths)).toEqual([false, false, true, false]);
});
