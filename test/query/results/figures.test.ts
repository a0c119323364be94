import { expect, test } from "bun:test";
import {
  countReturned,
  type DrawnLine,
  markUnfinished,
  needsTotals,
  readFigures,
  toTimes,
  toTotalsQuery,
  trimCohorts,
  unfinishedAt,
  wallClockAt,
} from "../../../src/query/results/figures.ts";

const days = ["2026-03-01", "2026-03-02"];
const line = (math: string, more: Partial<DrawnLine> = {}): DrawnLine => ({
  label: "paid",
  action: { order: 0, name: "paid", math },
  days,
  data: [3, 4],
  count: 7,
  ...more,
});
const trend = { kind: "TrendsQuery" };
const valuesOf = (...given: Parameters<typeof readFigures>) =>
  readFigures(...given).map(({ value, before }) => [value, before]);

test("events, sums and first times add up; persons, averages, formulas and cumulative lines do not", () => {
  for (const math of ["total", "sum", "first_time_for_user", "first_matching_event_for_user"]) {
    expect(valuesOf([line(math)], {})).toEqual([[7, undefined]]);
    expect(needsTotals(trend, [line(math)], "")).toBe(false);
  }
  const others = [line("dau"), line("avg"), line("total", { action: null })];
  for (const other of others) {
    expect(valuesOf([other], {})).toEqual([[undefined, undefined]]);
    expect(needsTotals(trend, [other], "")).toBe(true);
  }
  expect(valuesOf([line("total")], { display: "ActionsLineGraphCumulative" })).toEqual([
    [undefined, undefined],
  ]);
  expect(valuesOf([line("total", { status: "new" })], {})).toEqual([[undefined, undefined]]);
  expect(needsTotals({ kind: "LifecycleQuery" }, [line("total", { status: "new" })], "")).toBe(false);
});

test("a line that does not add up has its number of the whole time, with that of the time before", () => {
  const totals = [
    line("dau", { data: [], days: [], aggregated_value: 5, compare_label: "current" }),
    line("dau", { data: [], days: [], aggregated_value: 4, compare_label: "previous" }),
  ];
  expect(valuesOf([line("dau")], { totals })).toEqual([[5, 4]]);
});

test("a breakdown has one number for each event, of all its values", () => {
  const values = ["a", "b"].map((breakdown_value) => line("dau", { breakdown_value }));
  expect(needsTotals(trend, values, "")).toBe(true);
  const totals = [line("dau", { data: [], days: [], aggregated_value: 5 })];
  expect(valuesOf(values, { totals })).toEqual([[5, undefined]]);
});

test("a time that is not over is compared with the same part of the time before", () => {
  const until = { date_to: "2026-02-28T18:43:00+00:00", data: [1, 2], count: 3 };
  const before = line("total", { compare_label: "previous", data: [5, 5], until });
  expect(valuesOf([line("total", { compare_label: "current" }), before], {})).toEqual([[7, 3]]);
});

test("one number for each line is its figure", () => {
  const value = line("dau", { data: [], days: [], aggregated_value: 9 });
  expect([valuesOf([value], {}), needsTotals(trend, [value], "BoldNumber")]).toEqual([
    [[9, undefined]],
    false,
  ]);
});

test("who came back is counted in intervals that are over", () => {
  const cohorts = ["2026-03-01", "2026-03-02", "2026-03-03"].map((date, row) => ({
    date: `${date}T00:00:00+01:00`,
    label: `Day ${row}`,
    values: [100, 50, 10].slice(0, 3 - row).map((count, i) => ({ count, label: `Day ${i}` })),
  }));
  const now = wallClockAt(Date.parse("2026-03-03T12:00:00Z"), "Europe/Berlin");
  expect(countReturned(cohorts, 1, now)).toEqual({ began: 100, back: 50, rows: 1 });
  expect(countReturned(cohorts, 1, now + 86_400)).toEqual({ began: 200, back: 100, rows: 2 });
  expect(markUnfinished(cohorts, now).isUnfinished(1, 1)).toBe(true);
  // Of each value of a breakdown, too; what lies behind the last interval is in no row.
  const beyond = cohorts.map((cohort) => {
    const values = ["Day 0", "Day 1", "Day 2-3"].map((label) => ({ count: 1, label }));
    return { ...cohort, breakdown_value: "US", values };
  });
  const trimmed = trimCohorts([...cohorts, ...beyond]);
  expect(trimmed.map(({ values }) => values.length)).toEqual([3, 2, 1, 2, 2, 1]);
  expect(markUnfinished(trimmed, now).isUnfinished(4, 1)).toBe(true);
});

test("an hour that clocks show twice is half an interval later", () => {
  const hours = ["2026-10-25 02:00:00", "2026-10-25 02:00:00", "2026-10-25 03:00:00"];
  expect(toTimes(hours).map((time) => time - toTimes(hours)[0]!)).toEqual([0, 1800, 3600]);
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

test("an interval is as long as the query says, or as its rows' smallest gap is in a calendar", () => {
  const at = (text: string) => Date.parse(`${text}T00:00:00Z`) / 1000;
  const read = (days: string[], now: string, interval?: string) =>
    unfinishedAt(days.map(at), at(now) + 3600, interval);
  expect(read(["2026-11-01"], "2026-11-15", "month")).toBe(0);
  expect(read(["2026-11-01"], "2026-12-01", "month")).toBeUndefined();
  expect(read(["2026-11-09"], "2026-11-15", "week")).toBe(0);
  expect(read(["2026-07-01", "2026-10-01"], "2026-11-15")).toBe(1);
  expect(read(["2026-07-01", "2026-10-01"], "2026-11-15", "quarter")).toBe(1);
  expect(read(["2025-01-01", "2026-01-01"], "2026-11-15")).toBe(1);
  // Two days and no week: days, some of which have no row.
  expect(read(["2026-11-10", "2026-11-12", "2026-11-14"], "2026-11-14")).toBe(2);
  expect(read(["2026-11-10", "2026-11-12", "2026-11-14"], "2026-11-15")).toBeUndefined();
});

test("the numbers of the whole time keep a range of whole days, which decides the time before", () => {
  const totals = (dateRange: object, interval: string) =>
    (toTotalsQuery({ kind: "TrendsQuery", dateRange, interval }, "2026-03-01") as { dateRange: object })
      .dateRange;
  for (const date_from of ["-7d", "mStart", "-1mStart", "dStart"])
    expect(totals({ date_from }, "day")).toEqual({ date_from });
  expect(totals({ date_from: "-7d" }, "week")).toEqual({ date_from: "2026-03-01" });
  expect(totals({ date_from: "-24h" }, "day")).toEqual({ date_from: "2026-03-01" });
});
