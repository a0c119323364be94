import { expect, test } from "bun:test";
import { NoneOver, readAlertFigures } from "../../../src/subscriptions/alerts/figure.ts";
import type { Alert } from "../../../src/subscriptions/alerts/model.ts";
import type { InsightView } from "../../../src/subscriptions/report/section.ts";

const now = Date.parse("2024-01-03T10:00:00Z");
const days = ["2024-01-01", "2024-01-02", "2024-01-03"];

function read(view: Partial<InsightView>, config: Partial<NonNullable<Alert["config"]>> = {}, at = now) {
  try {
    const figures = readAlertFigures(
      { id: 1, name: "n", type: "series", ...view },
      { type: "TrendsAlertConfig", ...config },
      at,
    );
    return figures.map(({ label, value, before, unit }) => [label, value, before, unit]);
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

const line = (label: string, data: number[], more: object = {}) => ({
  label,
  data,
  days,
  labels: days,
  count: 0,
  action: { order: 0 },
  ...more,
});

test("of lines it is the last interval that is over, and the one before", () => {
  const results = [line("a", [1, 2, 3]), line("b", [4, 5, 6], { action: { order: 1 } })];
  expect(read({ results })).toEqual([["a", 2, 1, ""]]);
  expect(read({ results }, { series_index: 1, check_ongoing_interval: true })).toEqual([["b", 6, 5, ""]]);
  expect(read({ results }, {}, Date.parse("2024-01-09T00:00:00Z"))).toEqual([["a", 3, 2, ""]]);
  expect(read({ results, timezone: "America/New_York" }, {}, Date.parse("2024-01-03T03:00:00Z"))).toEqual([
    ["a", 1, null, ""],
  ]);
  expect(read({ results }, { series_index: 2 })).toBe("It has no series 2, or that has no values.");
});

test("where the first interval is still running there is none yet", () => {
  const early = Date.parse("2024-01-01T10:00:00Z");
  const first = { days: days.slice(0, 1), labels: days.slice(0, 1) };
  const cohort = { label: "Day 0", date: "2024-01-01T00:00:00", values: [{ count: 10, label: "Day 0" }] };
  const views: Partial<InsightView>[] = [
    { results: [line("a", [1], first)] },
    { results: [line("a", [1, 0, 0])] },
    { type: "conversions", results: [{ data: [50], ...first, count: 3 }] },
    { type: "grid", results: [cohort] },
  ];
  for (const view of views)
    expect(() => readAlertFigures({ id: 1, name: "n", type: "series", ...view }, null, early)).toThrow(
      NoneOver,
    );
  expect(read({ results: [line("a", [1], first)] }, { check_ongoing_interval: true }, early)).toEqual([
    ["a", 1, null, ""],
  ]);
  expect(
    read({ results: [line("a", [], { days: [] })], drawing: { display: "ActionsLineGraphCumulative" } }),
  ).toBe("Its last interval has no value.");
});

test("a result that was kept is judged as of when it was computed", () => {
  const results = [line("a", [1, 2, 3])];
  expect(read({ results, computed_at: "2024-01-02T23:59:59Z" })).toEqual([["a", 1, null, ""]]);
});

test("of a breakdown it is each value, and the time before is left out", () => {
  const results = [
    line("x", [1, 2, 3], { breakdown_value: "x", compare_label: "current" }),
    line("x", [7, 7, 7], { breakdown_value: "x", compare_label: "previous" }),
    line("y", [4, 5, 6], { breakdown_value: "y", compare_label: "current" }),
  ];
  expect(read({ results })).toEqual([
    ["x", 2, 1, ""],
    ["y", 5, 4, ""],
  ]);
});

test("a single number has none before", () => {
  const results = [line("a", [], { days: [], aggregated_value: 42 })];
  expect(read({ results })).toEqual([["a", 42, null, ""]]);
});

test("of a funnel it is the conversion to a step, in percent", () => {
  const steps = [200, 50, 10].map((count, order) => ({ count, order, name: `s${order}` }));
  const view = { type: "steps" as const, results: steps };
  expect(read(view)).toEqual([["conversion", 5, null, "%"]]);
  expect(read(view, { type: "FunnelsAlertConfig", funnel_step: 1 })).toEqual([["conversion", 25, null, "%"]]);
  const before = { metric: "conversion_from_previous" as const, funnel_step: 2 };
  expect(read(view, before)).toEqual([["conversion", 20, null, "%"]]);
  expect(read(view, { funnel_step: 3 })).toBe("The funnel has no step 3.");
  const over = [{ data: [50, 40, 10], days, labels: days, count: 3 }];
  expect(read({ type: "conversions", results: over })).toEqual([["conversion", 40, 50, "%"]]);
});

test("of retention it is the share that came back after one interval that is over", () => {
  const cell = (count: number, i: number) => ({ count, label: `Day ${i}` });
  const results = [
    { label: "Day 0", date: "2024-01-01T00:00:00", values: [10, 4, 1].map(cell) },
    { label: "Day 1", date: "2024-01-02T00:00:00", values: [10, 0, 0].map(cell) },
    { label: "Day 2", date: "2024-01-03T00:00:00", values: [10, 0, 0].map(cell) },
  ];
  expect(read({ type: "grid", results })).toEqual([["came back", 40, null, "%"]]);
});

test("of SQL it is a column over time, else a number of the first row", () => {
  const rows = days.map((day, i) => [day, i + 1, i + 10]).toReversed();
  const view = { type: "table" as const, columns: ["day", "n", "m"], types: ["Date", "UInt64", "UInt64"] };
  expect(read({ ...view, results: rows }, { series_index: 1 })).toEqual([["m", 11, 10, ""]]);
  expect(
    read({ type: "table", columns: ["name", "n"], types: ["String", "UInt64"], results: [["a", "17"]] }),
  ).toEqual([["n", 17, null, ""]]);
  expect(read({ type: "table", results: [] })).toBe("Its first row has no number 0.");
});

test("a running month is not over because it is the only one", () => {
  const results = [line("a", [120], { days: ["2024-01-01"] })];
  const later = Date.parse("2024-01-15T10:00:00Z");
  expect(() =>
    readAlertFigures({ id: 1, name: "n", type: "series", interval: "month", results }, null, later),
  ).toThrow(NoneOver);
});

test("rows that SQL has not for days without events are none of its last interval", () => {
  const rows = ["2024-01-10", "2024-01-12", "2024-01-14"].map((day, i) => [day, [900, 300, 4][i]]);
  const view = { type: "table" as const, columns: ["day", "n"], types: ["Date", "UInt64"], results: rows };
  expect(read(view, {}, Date.parse("2024-01-15T01:00:00Z"))).toEqual([["n", 4, null, ""]]);
  expect(read(view, {}, Date.parse("2024-01-16T01:00:00Z"))).toStartWith(
    "It has no row for its last interval",
  );
});

test("a row alone may be of the week or month between two checks", () => {
  const at = (day: string, now: string, every: "weekly" | "monthly") => {
    const view = { columns: ["at", "n"], types: ["Date", "UInt64"], results: [[day, 7]] };
    const figures = readAlertFigures(
      { id: 1, name: "n", type: "table", ...view },
      null,
      Date.parse(now),
      every,
    );
    return figures.map(({ value }) => value);
  };
  expect(at("2024-01-08", "2024-01-15T03:00:00Z", "weekly")).toEqual([7]);
  expect(at("2024-01-14", "2024-01-15T03:00:00Z", "weekly")).toEqual([7]);
  expect(at("2024-01-01", "2024-02-01T04:00:00Z", "monthly")).toEqual([7]);
  expect(() => at("2023-12-31", "2024-01-15T03:00:00Z", "weekly")).toThrow("no row for its last interval");
});

test("of a trend by second it is the last one that is over", () => {
  const seconds = ["2024-01-03 09:59:58", "2024-01-03 09:59:59", "2024-01-03 10:00:00"];
  expect(read({ results: [line("a", [5, 6, 7], { days: seconds })], interval: "second" })).toEqual([
    ["a", 6, 5, ""],
  ]);
});

test("a funnel that nobody entered has no conversion, and of a breakdown that value has none", () => {
  const steps = (...counts: number[]) => counts.map((count, order) => ({ count, order, name: `s${order}` }));
  expect(read({ type: "steps", results: steps(0, 0) })).toBe("Nobody came so far in the funnel.");
  const group = (name: string, ...counts: number[]) =>
    steps(...counts).map((step) => ({ ...step, breakdown_value: [name] }));
  const results = [group("Chrome", 10, 5, 2), group("Safari", 3, 0, 0)];
  const last = { metric: "conversion_from_previous" as const, funnel_step: 2 };
  expect(read({ type: "steps", results }, last)).toEqual([["Chrome: conversion", 40, null, "%"]]);
});

test("without a figure it says why", () => {
  expect(read({ type: null, error: "Too much." })).toBe("Too much.");
  expect(read({ type: "flow", results: [] })).toBe("It has no figure that an alert can judge.");
});
