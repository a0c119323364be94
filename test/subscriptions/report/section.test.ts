import { expect, test } from "bun:test";
import { subscriptionLimits } from "../../../src/subscriptions/limits.ts";
import {
  computeChange,
  dayText,
  durationText,
  numberText,
  shortText,
} from "../../../src/subscriptions/report/numbers.ts";
import { makeReport, NothingToSend, type ReportRequest } from "../../../src/subscriptions/report/report.ts";
import { buildSection } from "../../../src/subscriptions/report/section.ts";
import { readerOf, signUps } from "../../support/subscriptions.ts";

const days = ["13-Jan-2024", "14-Jan-2024", "15-Jan-2024"];
const series = (label: string, data: number[]) => ({
  label,
  labels: days,
  days,
  data,
  count: data.reduce((a, b) => a + b, 0),
});

test("trends are a line for each series, totals, and days with the newest first", () => {
  const results = [series("free", [1, 2, 3]), series("pro", [10, 20, 30])];
  expect(buildSection({ ...signUps, results }, undefined)).toEqual({
    insight: 1,
    name: "Sign-ups",
    span: "2024-01-13 to 2024-01-15, by day",
    error: null,
    figures: [
      { label: "pro", value: 60, unit: "", before: null },
      { label: "free", value: 6, unit: "", before: null },
    ],
    chart: {
      kind: "line",
      labels: days,
      series: [
        { label: "pro", values: [10, 20, 30] },
        { label: "free", values: [1, 2, 3] },
      ],
      unit: "",
    },
    table: {
      columns: ["Date", "free", "pro"],
      rows: [
        ["15-Jan-2024", 3, 30],
        ["14-Jan-2024", 2, 20],
        ["13-Jan-2024", 1, 10],
      ],
      more: 0,
    },
  });
});

test("a query that compares has its change from the same part of the time before, not from the last delivery", () => {
  const until = { date_to: "2024-01-12T18:43:00+00:00", data: [1, 2, 2], count: 5 };
  const before = { ...series("free", [5, 5, 5]), compare_label: "previous" };
  const current = { ...series("free", [1, 2, 3]), compare_label: "current" };
  const last = buildSection({ ...signUps, results: [series("free", [9, 9, 9])] }, undefined);
  const [part] = buildSection({ ...signUps, results: [current, { ...before, until }] }, last).figures;
  expect(computeChange(part!)!.text).toBe("+20% since the time before, until 18:43 (5)");
  const section = buildSection({ ...signUps, results: [current, before] }, last);
  expect(section.figures.map((figure) => computeChange(figure)!.text)).toEqual([
    "−60% since the time before (15)",
  ]);
  const shown = section.chart!.series.map(({ label }) => label);
  expect([shown, section.table!.columns]).toEqual([
    ["free", "free (before)"],
    ["Date", "free", "free (before)"],
  ]);
});

test("a site's figures stand beside the same part of the time before", () => {
  const figure = { key: "visitors", kind: "unit", value: 645, previous: 803 };
  const until = { date_to: "2026-11-26T18:43:00+00:00", value: 614 };
  const tables = [{ ...figure, until }, figure].map(
    (one) => buildSection({ ...signUps, type: "figures", results: [one] }, undefined).table!,
  );
  expect(tables.map(({ columns, rows }) => [columns[2], rows[0]])).toEqual([
    ["Before, until 18:43", ["visitors", 645, 614]],
    ["Before", ["visitors", 645, 803]],
  ]);
});

test("a funnel's conversion is a line for each value, and no figure: shares do not add up", () => {
  const line = (value: string, data: number[]) => ({
    count: 3,
    data,
    labels: days,
    days,
    breakdown_value: [value],
  });
  const results = [line("pro", [50, 0, 25]), line("free", [0, 0, 100])];
  expect(buildSection({ ...signUps, type: "conversions", results }, undefined)).toMatchObject({
    figures: [],
    chart: { kind: "line", unit: "%", series: [{ values: [50, 0, 25] }, { values: [0, 0, 100] }] },
    table: { columns: ["Date", "pro", "free"], rows: [["15-Jan-2024", "25%", "100%"], {}, {}] },
  });
  const whole = [{ count: 1, data: [7], labels: ["1-Jan-2024"], days: ["2024-01-01"] }];
  expect(buildSection({ ...signUps, type: "conversions", results: whole }, undefined).chart).toMatchObject({
    kind: "bar",
    labels: ["conversion"],
    series: [{ values: [7] }],
  });
});

test("times to convert are a bar for each bin, and their average a row", () => {
  const results = [
    {
      bins: [
        [0, 2],
        [90, 1],
      ],
      average_conversion_time: 60,
    },
  ];
  expect(buildSection({ ...signUps, type: "times", results }, undefined)).toMatchObject({
    figures: [],
    chart: { kind: "bar", series: [{ values: [2, 1] }] },
    table: {
      columns: ["Time", "Persons"],
      rows: [
        [`from ${durationText(0)}`, 2],
        [`from ${durationText(90)}`, 1],
        ["on average", durationText(60)],
      ],
    },
  });
});

test("links of paths are rows", () => {
  const results = [{ source: "1_/", target: "2_/tea", value: 3, average_conversion_time: 90_000 }];
  const { chart, table } = buildSection({ ...signUps, type: "flow", results }, undefined);
  expect([chart, table?.rows]).toEqual([null, [["1_/", "2_/tea", 3, durationText(90)]]]);
});

test("many series are a row each, and only the largest are drawn", () => {
  const results = Array.from({ length: 30 }, (_, i) => series(`s${i}`, [i, i, i]));
  const { chart, table, figures } = buildSection({ ...signUps, results }, undefined);
  expect(chart?.series.map(({ label }) => label)).toEqual([
    "s29",
    "s28",
    "s27",
    "s26",
    "s25",
    "s24",
    "s23",
    "s22",
  ]);
  expect([table?.columns, table?.rows.length]).toEqual([["Series", "Total", "15-Jan-2024"], 30]);
  expect(figures).toHaveLength(subscriptionLimits.reportFiguresMax);
});

test("one total for each series is a bar each", () => {
  const results = [
    { label: "a", labels: [], days: [], data: [], aggregated_value: 3 },
    { label: "b", labels: [], days: [], data: [], aggregated_value: 12_345_678_901 },
  ];
  const { chart, table } = buildSection({ ...signUps, results }, undefined);
  expect(chart).toMatchObject({ kind: "bar", labels: ["b", "a"], series: [{ values: [12_345_678_901, 3] }] });
  expect(table?.rows).toEqual([
    ["a", 3],
    ["b", 12_345_678_901],
  ]);
});

test("a funnel shows how many converted, and how fast", () => {
  const results = [
    { name: "$pageview", order: 0, count: 200, median_conversion_time: null },
    { name: "paid", custom_name: "bought", order: 1, count: 50, median_conversion_time: 7200 },
  ];
  const { figures, chart, table } = buildSection({ id: 1, name: "F", type: "steps", results }, undefined);
  expect(figures).toEqual([{ label: "conversion", value: 25, unit: "%", before: null }]);
  expect(chart).toMatchObject({ kind: "bar", labels: ["1. $pageview", "2. bought"] });
  expect(table?.rows).toEqual([
    ["1. $pageview", 200, "100%", "100%", ""],
    ["2. bought", 50, "25%", "25%", "2 h"],
  ]);
  const groups = [results, results].map((steps, i) =>
    steps.map((step) => ({ ...step, breakdown_value: [`g${i}`] })),
  );
  const broken = buildSection({ id: 1, name: "F", type: "steps", results: groups }, undefined);
  expect(broken.figures.map(({ label }) => label)).toEqual(["g0: conversion", "g1: conversion"]);
  expect([broken.chart?.labels, broken.table?.rows.length]).toEqual([["g0", "g1"], 4]);
});

test("retention counts in each period only those cohorts that have reached it", () => {
  const results = [[100, 50, 10], [300, 50], [7]].map((counts, i) => ({
    date: `2024-01-${13 + i}T00:00:00Z`,
    label: `Day ${i}`,
    values: counts.map((count, column) => ({ count, label: `Day ${column}` })),
  }));
  const { figures, chart, table } = buildSection({ id: 1, name: "R", type: "grid", results }, undefined);
  expect(figures).toMatchObject([{ label: "came back: Day 1", value: 25, unit: "%" }]);
  expect(chart?.series[0]?.values).toEqual([100, 25, 10]);
  expect(table?.rows).toEqual([
    ["2024-01-13", 100, "50%", "10%"],
    ["2024-01-14", 300, "16.7%", ""],
    ["2024-01-15", 7, "", ""],
  ]);
});

test("events are a table, cut to what a letter holds", () => {
  const results = Array.from({ length: 40 }, (_, i) => [
    "signed up",
    { plan: "free", i },
    null,
    "x".repeat(500),
  ]);
  const view = {
    id: 1,
    name: "E",
    type: "table" as const,
    columns: ["event", "properties", "nothing", "long"],
    results,
  };
  const { table } = buildSection(view, undefined);
  expect([table?.rows.length, table?.more]).toEqual([31, 9]);
  expect(table?.rows[0]?.slice(0, 3)).toEqual(["signed up", '{"plan":"free","i":0}', null]);
  expect(String(table?.rows[0]?.[3])).toHaveLength(subscriptionLimits.reportCellCharsMax);
});

test("no results are nothing, whatever their type", () => {
  const types = [
    "series",
    "steps",
    "conversions",
    "times",
    "grid",
    "flow",
    "figures",
    "table",
    null,
  ] as const;
  const nothing = { error: null, figures: [], chart: null, table: null };
  for (const type of types) {
    for (const results of [{ results: [] }, {}])
      expect(buildSection({ id: 1, name: "", type, ...results }, undefined)).toMatchObject(nothing);
  }
});

const input: ReportRequest = {
  project_id: 1,
  dashboard_id: null,
  insight_id: 1,
  dashboard_export_insights: [],
  title: null,
  invite_message: "hey",
  due_at: new Date("2024-01-15T23:30:00Z"),
  before: null,
  frequency: "weekly",
  interval: 1,
  byweekday: null,
  bysetpos: null,
  timezone: "Asia/Tokyo",
};

test("a report is of its day on the subscriber's calendar, and invites once", async () => {
  const first = await makeReport(readerOf([signUps]), input);
  expect(first).toMatchObject({
    title: "Sign-ups",
    day: "16 January 2024",
    invite: "hey",
    summary: "sent every week",
  });
  const next = await makeReport(readerOf([signUps]), { ...input, title: "Mine", before: first });
  expect(next).toMatchObject({ title: "Mine", subject: "Sign-ups", invite: null });
  expect(next.sections[0]?.figures).toMatchObject([{ value: 23, before: 23 }]);
});

test("a dashboard shows ten insights, with short tables, and says how many are left out", async () => {
  const data = Array.from({ length: 20 }, (_, i) => i);
  const many = Array.from({ length: 13 }, (_, id) => ({
    ...signUps,
    id,
    results: [{ label: "x", labels: data.map(String), days: [], data, count: 0 }],
  }));
  const report = await makeReport(readerOf(many), { ...input, insight_id: null, dashboard_id: 1 });
  expect([report.sections.length, report.more, report.subject]).toEqual([10, 3, "Board"]);
  expect(report.sections[0]?.table).toMatchObject({ more: 12 });
});

test("what names nothing that is there has nothing to send", async () => {
  const nothing = { insight: () => Promise.resolve(undefined), dashboard: () => Promise.resolve(undefined) };
  for (const ids of [{}, { insight_id: null }, { dashboard_id: 4 }]) {
    const failure: unknown = await makeReport(nothing, { ...input, ...ids }).catch(
      (thrown: unknown) => thrown,
    );
    expect(failure).toBeInstanceOf(NothingToSend);
  }
});

test("numbers, changes and times read as people write them", () => {
  expect([numberText(1234567.891), numberText(12.5, "%"), numberText(0)]).toEqual([
    "1,234,567.89",
    "12.5%",
    "0",
  ]);
  expect([shortText(999), shortText(12_345), shortText(3_000_000)]).toEqual(["999", "12.35K", "3M"]);
  expect([250, 1250, 12_500, 2_250_000].map((tick) => shortText(tick))).toEqual([
    "250",
    "1.25K",
    "12.5K",
    "2.25M",
  ]);
  const change = (value: number, before: number | null, unit: "" | "%" = "") =>
    computeChange({ label: "", value, before, unit })?.text;
  expect(change(5, null)).toBeUndefined();
  expect(change(12, 10)).toBe("+20% since last time (10)");
  expect(change(9, 10)).toBe("−10% since last time (10)");
  expect(change(3, 0)).toBe("+3 since last time (0)");
  expect(change(3, 3)).toBe("no change since last time");
  expect(change(12.5, 10, "%")).toBe("+2.5 points since last time (10%)");
  expect([30, 600, 7200, 200_000].map(durationText)).toEqual(["30 s", "10 min", "2 h", "2.3 d"]);
  expect(dayText(Date.parse("2024-01-15T23:30:00Z"), null)).toBe("15 January 2024");
  expect(dayText(Date.parse("2024-01-15T23:30:00Z"), "Asia/Calcutta")).toBe("16 January 2024");
  expect(dayText(Date.parse("2024-01-15T23:30:00Z"), "Mars/Olympus")).toBe("15 January 2024");
});
