// Paths as a flow: steps in columns as high as they were taken, bands that fill their ends and do not overlap there.

import { expect, test } from "bun:test";
import { layFlow } from "../../../../../src/console/app/explore/views/flow.ts";

const link = (source: string, target: string, value: number) => ({
  source,
  target,
  value,
  average_conversion_time: 0,
});

test("steps stand in columns by their number, the most taken first, and bands fill their ends", () => {
  const links = [link("1_/", "2_/tea", 60), link("1_/", "2_/cup", 30), link("2_/tea", "3_/pay", 10)];
  const { steps, bands, columns, height } = layFlow(links, 180);
  expect(columns).toBe(3);
  expect(steps.map(({ key, column, value, height: high }) => [key, column, value, high])).toEqual([
    ["1_/", 0, 90, 180],
    ["2_/tea", 1, 60, 120],
    ["2_/cup", 1, 30, 60],
    ["3_/pay", 2, 10, 20],
  ]);
  expect(steps[2]!.top).toBeGreaterThanOrEqual(steps[1]!.top + steps[1]!.height);
  expect(bands.map(({ from, height: high }) => [from.top, high])).toEqual([
    [0, 120],
    [120, 60],
    [0, 20],
  ]);
  expect(height).toBeGreaterThanOrEqual(180);
});

test("steps that hardly anybody took have room for their names", () => {
  const rare = Array.from({ length: 10 }, (_, i) => link("1_/", `2_/${i}`, i === 0 ? 1000 : 1));
  const tops = layFlow(rare, 100).steps.filter(({ column }) => column === 1);
  const gaps = tops.slice(1).map(({ top }, i) => top - tops[i]!.top);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(20);
});
