// Results as the table of a file: every shape of the API's has one, with numbers as they are.

import { expect, test } from "bun:test";
import { tableOf } from "../../../src/console/app/explore/data.ts";
import { namesOfSeries, type TrendSeries } from "../../../src/console/app/explore/results.ts";
import { rangeBefore, unfinishedAt } from "../../../src/console/app/ui/chart/intervals.ts";
import { seriesOf } from "../../../src/console/app/ui/chart/series.ts";
import { csvOf } from "../../../src/console/app/ui/csv.ts";

const line = (more: Partial<TrendSeries>): TrendSeries => ({
  label: "paid",
  data: [1, 2.5],
  days: ["2026-03-01", "2026-03-02"],
  count: 3.5,
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
  expect(tableOf([line({}), line({ label: "seen" })])).toEqual({
    name: "trend",
    columns: ["Time", "paid", "seen"],
    rows: [
      ["2026-03-01", 1, 1],
      ["2026-03-02", 2.5, 2.5],
    ],
  });
  expect(tableOf([line({ data: [], days: [], aggregated_value: 7 })]).rows).toEqual([["paid", 7]]);
  const stickiness = line({ data: [3, 1], days: [1, 2], labels: ["1 day", "2 days"] });
  expect(tableOf([stickiness])).toMatchObject({
    columns: ["Active in", "paid"],
    rows: [
      ["1 day", 3],
      ["2 days", 1],
    ],
  });
  expect(tableOf([step(0, 9), step(1, 4)])).toEqual({
    name: "funnel",
    columns: ["Step", "Name", "Persons", "Median seconds since the step before"],
    rows: [
      [1, "paid", 9, null],
      [2, "paid", 4, 90.5],
    ],
  });
  const broken = [[step(0, 9, { breakdown_value: ["DE"] })], [step(0, 1, { breakdown_value: [""] })]];
  expect(tableOf(broken)).toMatchObject({
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
  expect(tableOf(cohorts)).toEqual({
    name: "retention",
    columns: ["Interval", "Day 0", "Day 1"],
    rows: [
      ["2026-03-01", 5, 2],
      ["2026-03-02", 4, undefined],
    ],
  });
  expect(csvOf(["a"], tableOf(cohorts).rows)).toContain("2026-03-02,4,\r\n");
  expect(tableOf([{ bins: [[0, 3]], average_conversion_time: 1 }]).rows).toEqual([[0, 3]]);
  const link = { source: "1_a", target: "2_b", value: 4, average_conversion_time: 1500 };
  expect(tableOf([link]).rows).toEqual([["1_a", "2_b", 4, 1.5]]);
  expect(tableOf([[1, "x"]], ["n"])).toEqual({ name: "query", columns: ["n", "Column 2"], rows: [[1, "x"]] });
});

test("series of one name have their letters, and those of one event do not", () => {
  const of = (order: number, more: Partial<TrendSeries> = {}) =>
    line({ action: { name: "paid", order }, ...more });
  expect(namesOfSeries([of(0), of(1), line({ label: "seen", action: { name: "seen", order: 2 } })])).toEqual([
    "A. paid",
    "B. paid",
    "seen",
  ]);
  const broken = ["x", "y"].map((breakdown_value) => of(0, { breakdown_value }));
  expect(namesOfSeries(broken)).toEqual(["paid · x", "paid · y"]);
});

test("the interval that has begun and is not over is found among those to come, in months of any length", () => {
  const at = (text: string) => Date.parse(`${text}Z`) / 1000;
  const days = ["2026-03-01", "2026-03-02", "2026-03-03"].map((day) => at(`${day}T00:00:00`));
  expect(unfinishedAt(days, at("2026-03-03T09:00:00"))).toBe(2);
  expect(unfinishedAt(days, at("2026-03-02T09:00:00"))).toBe(1);
  expect(unfinishedAt(days, at("2026-03-04T00:00:00"))).toBeUndefined();
  expect(unfinishedAt(days, at("2026-02-04T00:00:00"))).toBeUndefined();
  const months = ["2026-01-01", "2026-02-01"].map((day) => at(`${day}T00:00:00`));
  expect(unfinishedAt(months, at("2026-02-28T23:00:00"))).toBe(1);
  expect(unfinishedAt(months, at("2026-03-01T00:00:00"))).toBeUndefined();
  expect(unfinishedAt(days.slice(0, 1), at("2026-03-01T09:00:00"))).toBe(0);
  expect(unfinishedAt([], 0)).toBeUndefined();
});

test("the time before a range is as many days, whatever clocks do between, or as many seconds", () => {
  const days = { date_from: "2026-03-29T00:00:00+01:00", date_to: "2026-03-31T23:59:59.999999+02:00" };
  expect(rangeBefore(days)).toEqual({ date_from: "2026-03-26", date_to: "2026-03-28" });
  expect(
    rangeBefore({ date_from: "2026-03-01T05:00:00+00:00", date_to: "2026-03-01T07:59:59+00:00" }),
  ).toEqual({ date_from: "2026-03-01T02:00:00Z", date_to: "2026-03-01T05:00:00Z", explicitDate: true });
  expect(rangeBefore({ date_from: null, date_to: null })).toBeUndefined();
});

test("values stand on each other by their sign, and what is not over is a series of its own", () => {
  const lines = [
    { label: "a", values: [1, 2, 3] },
    { label: "b", values: [4, -1, 1] },
    { label: "c", values: [-2, -3, null] },
  ];
  const drawn = (...asked: Parameters<typeof seriesOf>) =>
    seriesOf(...asked).map(({ index, values, isTail }) => [index, isTail === true, values]);
  expect(drawn(lines, "bar")).toEqual([
    [2, false, [-2, -4, null]],
    [1, false, [5, -1, 4]],
    [0, false, [1, 2, 3]],
  ]);
  expect(drawn(lines.slice(0, 1), "line", 2)).toEqual([
    [0, false, [1, 2, null]],
    [0, true, [null, 2, 3]],
  ]);
  expect(drawn(lines.slice(0, 2), "beside", 2)).toEqual([
    [0, false, [1, 2, null]],
    [0, true, [null, null, 3]],
    [1, false, [4, -1, null]],
    [1, true, [null, null, 1]],
  ]);
  // One value is no line, and one bar is one.
  expect(drawn([{ label: "a", values: [5] }], "line", 0)).toEqual([[0, false, [5]]]);
  expect(drawn([{ label: "a", values: [5] }], "bar", 0)).toEqual([
    [0, false, [null]],
    [0, true, [5]],
  ]);
});
