// Results as the table of a file: every shape of the API's has one, with numbers as they are.

import { expect, test } from "bun:test";
import {
  nameAllSeries,
  readResults,
  toTable as tableOfTyped,
} from "../../../../src/console/app/explore/results.ts";
import { toCsv } from "../../../../src/console/app/ui/csv.ts";
import type { ResultType } from "../../../../src/query/result.ts";
import type { DrawnLine } from "../../../../src/query/results/figures.ts";

const tableOf = (result_type: ResultType, results: unknown[], columns?: string[]) =>
  tableOfTyped(readResults({ result_type, results }), columns);

const line = (more: Partial<DrawnLine>): DrawnLine => ({
  label: "paid",
  data: [1, 2.5],
  days: ["2026-03-01", "2026-03-02"],
  ...more,
});

const step = (order: number, count: number, more: object = {}) => ({
  name: "paid",
  custom_name: null,
  count,
  order,
  median_conversion_time: order > 0 ? 90.5 : null,
  ...more,
});

test("each shape of results is a table", () => {
  expect(tableOf("series", [line({}), line({ label: "seen" })])).toEqual({
    name: "trend",
    columns: ["Time", "paid", "seen"],
    rows: [
      ["2026-03-01", 1, 1],
      ["2026-03-02", 2.5, 2.5],
    ],
  });
  expect(tableOf("series", [line({ data: [], days: [], aggregated_value: 7 })]).rows).toEqual([["paid", 7]]);
  const stickiness = line({ data: [3, 1], days: [1, 2], labels: ["1 day", "2 days"] });
  expect(tableOf("series", [stickiness])).toMatchObject({
    columns: ["Active in", "paid"],
    rows: [
      ["1 day", 3],
      ["2 days", 1],
    ],
  });
  expect(tableOf("steps", [step(0, 9), step(1, 4)])).toEqual({
    name: "funnel",
    columns: ["Step", "Name", "Persons", "Median seconds since the step before"],
    rows: [
      [1, "paid", 9, null],
      [2, "paid", 4, 90.5],
    ],
  });
  const broken = [[step(0, 9, { breakdown_value: ["DE"] })], [step(0, 1, { breakdown_value: [""] })]];
  expect(tableOf("steps", broken)).toMatchObject({
    columns: ["Value", "Step", "Name", "Persons", "Median seconds since the step before"],
    rows: [
      ["DE", 1, "paid", 9, null],
      ["(none)", 1, "paid", 1, null],
    ],
  });
  const cells = (...counts: number[]) => counts.map((count, i) => ({ count, label: `Day ${i}` }));
  const cohorts = [
    { label: "Day 0", date: "2026-03-01", values: cells(5, 2) },
    { label: "Day 1", date: "2026-03-02", values: cells(4) },
  ];
  expect(tableOf("grid", cohorts)).toEqual({
    name: "retention",
    columns: ["Interval", "Day 0", "Day 1"],
    rows: [
      ["2026-03-01", 5, 2],
      ["2026-03-02", 4, undefined],
    ],
  });
  expect(toCsv(["a"], tableOf("grid", cohorts).rows)).toContain("2026-03-02,4,\r\n");
  expect(tableOf("times", [{ bins: [[0, 3]], average_conversion_time: 1 }]).rows).toEqual([[0, 3]]);
  const link = { source: "1_a", target: "2_b", value: 4, average_conversion_time: 1500 };
  expect(tableOf("flow", [link]).rows).toEqual([["1_a", "2_b", 4, 1.5]]);
  expect(tableOf("table", [[1, "x"]], ["n"])).toEqual({
    name: "query",
    columns: ["n", "Column 2"],
    rows: [[1, "x"]],
  });
});

test("series of one name have their letters, and those of one event do not", () => {
  const of = (order: number, more: Partial<DrawnLine> = {}) =>
    line({ action: { name: "paid", order }, ...more });
  expect(nameAllSeries([of(0), of(1), line({ label: "seen", action: { name: "seen", order: 2 } })])).toEqual([
    "A. paid",
    "B. paid",
    "seen",
  ]);
  const broken = ["x", "y"].map((breakdown_value) => of(0, { breakdown_value }));
  expect(nameAllSeries(broken)).toEqual(["paid · x", "paid · y"]);
});
