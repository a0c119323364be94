import { expect, test } from "bun:test";
import { toChartRows } from "../../../src/query/results/chart_rows.ts";

test("a chart is made of a time or a text and numbers, and of nothing else", () => {
  const types = ["Date", "UInt64", "Nullable(Float64)"];
  const rows = [
    ["2026-02-02", 2, null],
    ["2026-02-01", 1, 0.5],
  ];
  expect(toChartRows(["day", "n", "mean"], types, rows)).toEqual({
    isTime: true,
    names: ["2026-02-01", "2026-02-02"],
    series: [
      { label: "n", values: [1, 2] },
      { label: "mean", values: [0.5, null] },
    ],
  });
  const parted = [
    ["2026-02-01", "a", 1],
    ["2026-02-01", "", 2],
    ["2026-02-02", "a", 3],
  ];
  expect(toChartRows(["day", "plan", "n"], ["DateTime64(6, 'UTC')", "String", "UInt64"], parted)).toEqual({
    isTime: true,
    names: ["2026-02-01", "2026-02-02"],
    series: [
      { label: "a", values: [1, 3] },
      { label: "(empty)", values: [2, null] },
    ],
  });
  const twice = [rows[0]!, rows[0]!];
  expect(toChartRows(["day", "n", "mean"], types, twice)).toBeUndefined();
  expect(toChartRows(["n"], ["UInt64"], [[1]])).toBeUndefined();
  expect(toChartRows(["a", "b"], ["String", "Array(String)"], [["a", []]])).toBeUndefined();
  expect(toChartRows(["day", "n"], ["Date", "UInt64"], [])).toBeUndefined();
});
