import { expect, test } from "bun:test";
import { toDrawnSeries } from "../../../../../src/console/app/ui/chart/series.ts";

test("values stand on each other by their sign, and what is not over is a series of its own", () => {
  const lines = [
    { label: "a", values: [1, 2, 3] },
    { label: "b", values: [4, -1, 1] },
    { label: "c", values: [-2, -3, null] },
  ];
  const drawn = (...asked: Parameters<typeof toDrawnSeries>) =>
    toDrawnSeries(...asked).map(({ index, values, isTail }) => [index, isTail === true, values]);
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
